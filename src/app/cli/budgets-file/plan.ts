// What has to be done so that the service has what a file says, tree by tree. Pure: it compares budgets in their normal forms and
// makes the one request that does it.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  ApplyBudgetsRequestSchema,
  Budget,
  BudgetChangeSchema,
  BudgetSchema,
} from '../../../gen/budgetd/v1/budget_pb.ts';
import { type BudgetPath, chainOf, parentOf, type TreeId, treeOf } from '../../../kernel/names.ts';
import { EDITABLE_FIELDS, normalBudget } from './budget-fields.ts';
import type { FileProblems } from './file-problems.ts';
import type { FileValue } from './file-value.ts';
import type { LiveBudgets } from './live-budgets.ts';
import type { FileBudget } from './read-budgets-file.ts';
import { TERMS_FIELDS, type Terms, type TermsField, writeField } from './terms-fields.ts';

/** One field that differs, as the file would write both sides; empty text: the default. */
export interface FieldChange {
  /** As in the file: `limits`, `shape.max_active`, `child_template.limits`. */
  readonly field: string;
  readonly mask: string;
  readonly before: string;
  readonly after: string;
}

/** An edit of one budget. */
export interface Edit {
  readonly budget: FileBudget;
  readonly etag: string;
  readonly fields: readonly FieldChange[];
}

/** What there is to do in one tree. */
export interface TreePlan {
  readonly tree: TreeId;
  readonly unit: string;
  readonly creates: readonly FileBudget[];
  readonly edits: readonly Edit[];
  /** Budgets to close, with all below them; the file names none of those. */
  readonly closes: readonly Budget[];
  readonly unchangedCount: number;
  /** Budgets that the file does not name and that stay. */
  readonly leftAlone: readonly string[];
  /** Open budgets right below templates that the file does not name and that stay. */
  readonly templated: readonly TemplatedCount[];
  /** Those that are closed with one of `closes`. */
  readonly closedTemplated: readonly TemplatedCount[];
}

/** How many open budgets stand right below a template and were not read. */
export interface TemplatedCount {
  /** The budget whose template it is. */
  readonly budget: string;
  readonly count: number;
}

/** Compares. `prune`: close what the file does not name. Notes budgets that are closed for good. */
export function planTree(
  tree: TreeId,
  all: readonly FileBudget[],
  live: LiveBudgets,
  options: { readonly unit: string; readonly prune: boolean; readonly problems: FileProblems },
): TreePlan {
  const { unit, prune, problems } = options;
  const budgets = all.filter(({ path }) => treeOf(path) === tree).toSorted((a, b) => depthOf(a.path) - depthOf(b.path));
  const creates: FileBudget[] = [];
  const edits: Edit[] = [];
  for (const budget of budgets) {
    const found = live.get(budget.path);
    if (found === undefined) {
      const parent = parentOf(budget.path);
      const isThere = parent === undefined || live.has(parent) || all.some(({ path }) => path === parent);
      if (isThere) creates.push(budget);
      else problems.add(budget.at, `${parent}, above ${budget.path}, is neither in the file nor there`);
    } else if (found.closedBy !== '') {
      const by = found.closedBy === budget.path ? '' : ` with ${found.closedBy}`;
      problems.add(
        budget.at,
        `${budget.path} was closed${by}, which is for good: take it out, or give it another name`,
      );
    } else {
      const fields = changesOf(EDITABLE_FIELDS, normalBudget([], found).message, budget.message, unit);
      if (fields.length > 0) edits.push({ budget, etag: found.etag, fields });
    }
  }
  const others = othersOf(tree, budgets, live);
  const closes = prune ? others.filter(({ budget }) => isLoose(budget, others, budgets)) : [];
  const closed = new Set(closes.map(({ budget }) => budget));
  const isStaying = ({ budget }: { readonly budget: string }): boolean =>
    !chainOf(budget as BudgetPath).some((path) => closed.has(path));
  const templated = templatedOf(tree, budgets, live);
  return {
    tree,
    unit,
    creates,
    edits,
    closes,
    unchangedCount: budgets.length - creates.length - edits.length,
    leftAlone: others.filter(isStaying).map(({ budget }) => budget),
    templated: templated.filter(isStaying),
    closedTemplated: templated.filter((each) => !isStaying(each)),
  };
}

const depthOf = (path: string): number => path.split('/').length;

/** Whether there is nothing to do. */
export function isEmptyPlan({ creates, edits, closes }: TreePlan): boolean {
  return creates.length + edits.length + closes.length === 0;
}

function changesOf(
  fields: readonly TermsField[],
  before: object,
  after: object,
  unit: string,
  prefix = '',
): FieldChange[] {
  return fields.flatMap((known): FieldChange[] => {
    const field = prefix + known.key;
    if (known.key === 'child_template') {
      const [old, now] = [before as Terms, after as Terms].map(({ childTemplate }) => childTemplate);
      if (old !== undefined && now !== undefined) {
        const inner = changesOf(TERMS_FIELDS, old, now, unit, `${field}.`);
        return inner.map((change) => ({ ...change, mask: known.mask }));
      }
    }
    const [old, now] = [writeField(known, before, unit), writeField(known, after, unit)];
    if (comparable(old) === comparable(now)) return [];
    return [{ field, mask: known.mask, before: inline(old), after: inline(now) }];
  });
}

// Lists of limits and of rates mean the same in any order.
function comparable(value: FileValue | undefined): string {
  return inline(Array.isArray(value) ? value.map((each: FileValue) => inline(each, true)).sort() : value, true);
}

/** A value on one line. Empty for the default. */
export function inline(value: FileValue | undefined, isQuoted = false): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return isQuoted ? JSON.stringify(value) : value;
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map((each: FileValue) => inline(each, isQuoted)).join(', ')}]`;
  const entries = Object.entries(value).map(([key, each]) => `${key}: ${inline(each, isQuoted)}`);
  return `{${entries.join(', ')}}`;
}

// Open budgets that were read since they stand beside or below those of the file. Those above the file's are not its business.
function othersOf(tree: TreeId, budgets: readonly FileBudget[], live: LiveBudgets): Budget[] {
  const named = new Set<string>(budgets.map(({ path }) => path));
  return [...live.values()].filter(({ budget, closedBy }) => {
    const path = budget as BudgetPath;
    if (treeOf(path) !== tree || closedBy !== '' || named.has(path)) return false;
    return chainOf(path).some((each) => named.has(each));
  });
}

// The uppermost of those that have nothing of the file below them: closing covers what is below.
function isLoose(path: string, others: readonly Budget[], budgets: readonly FileBudget[]): boolean {
  const isFree = (each: string): boolean => !budgets.some((budget) => budget.path.startsWith(`${each}/`));
  const parent = parentOf(path as BudgetPath);
  const isUnderLoose = others.some(({ budget }) => budget === parent) && isFree(parent ?? '');
  return isFree(path) && !isUnderLoose;
}

function templatedOf(tree: TreeId, budgets: readonly FileBudget[], live: LiveBudgets): TemplatedCount[] {
  return [...live.values()].flatMap(({ budget, childTemplate, openChildren, closedBy }) => {
    const isConcerned = budgets.some(({ path }) => chainOf(budget as BudgetPath).includes(path));
    if (treeOf(budget as BudgetPath) !== tree || childTemplate === undefined || closedBy !== '' || !isConcerned)
      return [];
    const known = [...live.values()].filter(
      (each) => parentOf(each.budget as BudgetPath) === budget && each.closedBy === '',
    );
    const count = Number(openChildren) - known.length;
    return count > 0 ? [{ budget, count }] : [];
  });
}

/** The request that does what a plan says. The service judges what all changes come to: their order says nothing. */
export function requestOf(plan: TreePlan, key: string): MessageInitShape<typeof ApplyBudgetsRequestSchema> {
  const { tree, unit, creates, edits, closes } = plan;
  const changes = [...closes.map(closing), ...creates.map((budget) => creating(budget, unit)), ...edits.map(editing)];
  return { tree, idempotencyKey: key, changes };
}

type ChangeInit = MessageInitShape<typeof BudgetChangeSchema>;

function creating({ message, path }: FileBudget, unit: string): ChangeInit {
  const budget = { ...message, unit: path.includes('/') ? '' : unit };
  return { change: { case: 'create', value: { budget } } };
}

// What the mask does not name is left out: it would not be looked at.
function editing({ budget: { message, path }, etag, fields }: Edit): ChangeInit {
  const paths = [...new Set(fields.map(({ mask }) => mask))];
  const names = new Set(
    paths.map((mask) => mask.split('.')[0]?.replace(/_([a-z])/g, (_, c: string) => c.toUpperCase())),
  );
  const masked = Object.fromEntries(Object.entries(message).filter(([name]) => names.has(name)));
  const budget = { ...masked, budget: path } as MessageInitShape<typeof BudgetSchema>;
  return { change: { case: 'update', value: { budget, updateMask: { paths }, etag } } };
}

function closing({ budget, etag }: Budget): ChangeInit {
  return { change: { case: 'close', value: { budget, etag, reason: 'not in the file' } } };
}
