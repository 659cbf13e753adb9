// Static bearer tokens of the configuration: one in the environment, any number in a YAML file. Identities of another kind
// will come from another file like this one.
import { parse } from 'yaml';
import { type BudgetPath, parsePath } from '../kernel/names.ts';
import { readText } from './read-text.ts';

/** A token as the api takes it. */
export interface TokenConfig {
  /** Goes into the journal as the actor. */
  readonly name: string;
  readonly role: 'admin' | 'agent' | 'auditor';
  /** The only budgets it may see and use: this one and those below. Undefined: all. */
  readonly subtree: BudgetPath | undefined;
  readonly secret: { readonly plaintext: string } | { readonly sha256: string };
}

/** Shorter secrets can be guessed; 16 random characters of base64 are 96 bits. */
const SECRET_LENGTH_MIN = 16;

const ROLES = ['admin', 'agent', 'auditor'] as const;
const KEYS = new Set(['name', 'role', 'subtree', 'token', 'sha256']);

/** Reads both sources. Problems name the entry, never its secret. */
export function loadTokens(
  adminToken: string | undefined,
  file: string | undefined,
): { readonly tokens: readonly TokenConfig[]; readonly problems: readonly string[] } {
  const tokens: TokenConfig[] = [];
  const problems: string[] = [];
  if (adminToken !== undefined) {
    if (adminToken.length < SECRET_LENGTH_MIN) {
      problems.push(`BUDGETD_ADMIN_TOKEN must have at least ${SECRET_LENGTH_MIN} characters`);
    }
    tokens.push({ name: 'admin', role: 'admin', subtree: undefined, secret: { plaintext: adminToken } });
  }
  if (file !== undefined) {
    for (const [index, item] of readList(file, problems).entries()) {
      const token = tokenOf(item, `${file}: token ${index + 1}`, problems);
      if (token !== undefined) tokens.push(token);
    }
  }
  return { tokens, problems };
}

function readList(file: string, problems: string[]): readonly unknown[] {
  try {
    const content: unknown = parse(readText(file));
    if (Array.isArray(content)) return content;
    problems.push(`${file} must hold a YAML list of tokens`);
  } catch (error) {
    problems.push(
      `BUDGETD_TOKENS_FILE=${file} can't be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return [];
}

function tokenOf(item: unknown, where: string, problems: string[]): TokenConfig | undefined {
  const before = problems.length;
  const fields = new Map(Object.entries(typeof item === 'object' && item !== null ? item : {}));
  for (const key of fields.keys()) if (!KEYS.has(key)) problems.push(`${where}: unknown key ${key}`);
  const name = fields.get('name');
  if (typeof name !== 'string' || !/^[\w.@-]{1,63}$/.test(name)) problems.push(`${where}: needs a name`);
  const role = ROLES.find((each) => each === fields.get('role'));
  if (role === undefined) problems.push(`${where}: role must be one of ${ROLES.join(', ')}`);
  const subtree = fields.get('subtree');
  const path = typeof subtree === 'string' ? parsePath(subtree) : undefined;
  if (subtree !== undefined && typeof path !== 'string')
    problems.push(`${where}: subtree must be the path of a budget`);
  const secret = secretOf(fields.get('token'), fields.get('sha256'));
  if (secret === undefined) {
    problems.push(
      `${where}: needs token (${SECRET_LENGTH_MIN} characters or more) or sha256 (64 hex digits), not both`,
    );
  }
  if (problems.length > before || secret === undefined || role === undefined) return undefined;
  return { name: String(name), role, subtree: typeof path === 'string' ? path : undefined, secret };
}

function secretOf(token: unknown, sha256: unknown): TokenConfig['secret'] | undefined {
  if (typeof token === 'string' && sha256 === undefined && token.length >= SECRET_LENGTH_MIN)
    return { plaintext: token };
  if (typeof sha256 === 'string' && token === undefined && /^[0-9a-f]{64}$/i.test(sha256)) return { sha256 };
  return undefined;
}
