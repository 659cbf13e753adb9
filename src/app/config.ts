// Configuration: environment variables in, checked values out, every problem named at once. Only telemetry's exporters read
// some of their own.
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { CONNECTIONS_MAX } from '../api/transport-limits.ts';
import { IMPLAUSIBLE_FACTOR_DEFAULT, QUEUE_COUNT_MAX, QUEUE_DEFAULT } from '../lane/create-coordinator.ts';
import { STALE_AFTER_MS } from '../lane/price-keeper.ts';
import { OUTPUT_TOKENS_DEFAULT } from '../pricing/estimate.ts';
import type { TelemetrySettings } from '../telemetry/telemetry-settings.ts';
import type { Setting } from './setting.ts';
import { readTelemetry } from './telemetry-config.ts';
import { loadTokens, type TokenConfig } from './token-file.ts';
import { unknownSettings } from './unknown-settings.ts';

/** What a service is started with. */
export interface ServiceConfig {
  /** Connects as the service's role. Undefined: the embedded PostgreSQL. */
  readonly databaseUrl: string | undefined;
  /** Connects as the role that owns the schema, for migrations. Undefined: databaseUrl. */
  readonly migrationDatabaseUrl: string | undefined;
  /** Folder of the embedded PostgreSQL. */
  readonly dataDir: string;
  readonly postgresPort: number | undefined;
  /** Address to listen on. */
  readonly host: string;
  readonly grpcPort: PortConfig;
  readonly httpPort: PortConfig;
  /** Connections that each of the two ports keeps open at once. */
  readonly connectionsMax: number;
  /** Where standbys send callers when this one is the leader; undefined: host and gRPC port. */
  readonly advertisedAddress: string | undefined;
  /** Time between the end of a lease and the lapse of its hold, in milliseconds. */
  readonly graceMs: number;
  /** A settlement of more than this many times what was granted has to be confirmed; 0: none has to. */
  readonly implausibleFactor: number;
  /** After waiting so long for room, and again after as long, a request counts as one of the next higher class, in milliseconds. */
  readonly queueAgeMs: number;
  /** How many may wait for room on one budget and below it; 0: none, at all. */
  readonly queueCountMax: number;
  readonly reaper: boolean;
  readonly tokens: readonly TokenConfig[];
  readonly logLevel: LogLevelName;
  /** How long a stop waits for calls that are under way, in milliseconds. */
  readonly shutdownGraceMs: number;
  /** Entries a second that are verified in the background; 0: none. */
  readonly verifyRate: number;
  /** Starts even where the database may lose acknowledged commits in a crash. */
  readonly allowUnsafeDatabase: boolean;
  /** Whether the catalogue of prices that comes with the service is imported. */
  readonly priceCatalogue: boolean;
  /** Age from which the catalogue counts as stale, in milliseconds. */
  readonly priceStaleAfterMs: number;
  /** Output tokens of a choice where a model call names no maximum. */
  readonly outputTokensDefault: number;
  readonly telemetry: TelemetrySettings;
}

/** A port to listen on. Where it was not asked for by name and is busy, another is taken. */
export interface PortConfig {
  readonly port: number;
  readonly explicit: boolean;
}

/** Levels of pino. */
const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevelName = (typeof LOG_LEVELS)[number];

/** Every environment variable of its own that is read; those of OpenTelemetry are in telemetry-config.ts. */
export const SETTINGS: readonly Setting[] = [
  {
    name: 'DATABASE_URL',
    default: '(embedded)',
    meaning: 'PostgreSQL 18, or from 15 on; unset: one of its own is started',
  },
  {
    name: 'BUDGETD_MIGRATION_DATABASE_URL',
    default: 'DATABASE_URL',
    meaning: 'connects as the role that owns the schema, for migrations only',
  },
  { name: 'BUDGETD_DATA_DIR', default: '.budgetd', meaning: 'folder of the embedded PostgreSQL' },
  {
    name: 'BUDGETD_POSTGRES_PORT',
    default: '54329',
    meaning: 'port of the embedded PostgreSQL; another is taken if busy',
  },
  { name: 'BUDGETD_HOST', default: '127.0.0.1', meaning: 'address to listen on; any but loopback needs tokens' },
  {
    name: 'BUDGETD_GRPC_PORT',
    default: '50051',
    meaning: 'gRPC; 0: any free port. Unset and busy: a free one, printed',
  },
  {
    name: 'BUDGETD_HTTP_PORT',
    default: '8080',
    meaning: 'Connect, gRPC-Web and JSON; 0: any free port. Unset and busy: a free one, printed',
  },
  {
    name: 'BUDGETD_CONNECTIONS_MAX',
    default: String(CONNECTIONS_MAX),
    meaning: 'open at once on each port; past it those that idle longest are closed',
  },
  {
    name: 'BUDGETD_ADVERTISED_ADDRESS',
    default: 'host:port',
    meaning: 'where standbys send callers while this one is the leader',
  },
  { name: 'BUDGETD_GRACE', default: '5s', meaning: 'between the end of a lease and the return of its hold; 0s to 1h' },
  {
    name: 'BUDGETD_IMPLAUSIBLE_FACTOR',
    default: '1000',
    meaning: 'a cost of more than this many times the grant has to be confirmed; 0: none has',
  },
  {
    name: 'BUDGETD_QUEUE_AGE',
    default: '60s',
    meaning: 'after each such time in the queue a request counts one class higher; 1s to 24h',
  },
  {
    name: 'BUDGETD_QUEUE_MAX',
    default: '10000',
    meaning:
      'requests that may wait for room on one budget and below it, up to 20000, large ones counted as several; 0: none may wait',
  },
  { name: 'BUDGETD_REAPER', default: 'on', meaning: 'off: lapses in quiet trees are only written down when looked at' },
  {
    name: 'BUDGETD_ADMIN_TOKEN',
    default: '',
    meaning: 'one bearer token that may do everything; 16 characters or more',
  },
  { name: 'BUDGETD_TOKENS_FILE', default: '', meaning: 'YAML list of tokens: name, role, subtree, token or sha256' },
  { name: 'BUDGETD_LOG_LEVEL', default: 'info', meaning: LOG_LEVELS.join(', ') },
  {
    name: 'BUDGETD_VERIFY_RATE',
    default: '2000',
    meaning: 'journal entries a second that are verified in the background; 0: none',
  },
  { name: 'BUDGETD_SHUTDOWN_GRACE', default: '10s', meaning: 'how long a stop waits for calls under way; 0s to 10m' },
  {
    name: 'BUDGETD_PRICE_CATALOGUE',
    default: 'on',
    meaning: 'off: no prices are imported; what is in the book stays',
  },
  {
    name: 'BUDGETD_PRICE_STALE_AFTER',
    default: '2160h',
    meaning: 'so long (90 days) after its first import a catalogue is stale; 1h to 87600h',
  },
  {
    name: 'BUDGETD_OUTPUT_TOKENS_DEFAULT',
    default: String(OUTPUT_TOKENS_DEFAULT),
    meaning: 'output tokens that a model call without a maximum is priced for; 1 to 10000000',
  },
  {
    name: 'BUDGETD_ALLOW_UNSAFE_DATABASE',
    default: 'off',
    meaning: 'on: start although the database runs without fsync or synchronous commit',
  },
];

const SETTING_NAMES: readonly string[] = SETTINGS.map(({ name }) => name);

/** The environment can't be used; `problems` names every variable that is wrong. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`configuration: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

/** Reads the environment. Throws ConfigError. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): ServiceConfig {
  const problems: string[] = [...unknownSettings(env, SETTING_NAMES)];
  const read = new EnvReader(env, problems);
  const config: ServiceConfig = {
    databaseUrl: read.databaseUrl('DATABASE_URL'),
    migrationDatabaseUrl: read.databaseUrl('BUDGETD_MIGRATION_DATABASE_URL'),
    dataDir: resolve(read.text('BUDGETD_DATA_DIR') ?? '.budgetd'),
    postgresPort: read.port('BUDGETD_POSTGRES_PORT'),
    host: read.text('BUDGETD_HOST') ?? '127.0.0.1',
    grpcPort: read.listenPort('BUDGETD_GRPC_PORT', 50_051),
    httpPort: read.listenPort('BUDGETD_HTTP_PORT', 8_080),
    connectionsMax: read.count('BUDGETD_CONNECTIONS_MAX', CONNECTIONS_MAX, 1_000_000, 16),
    advertisedAddress: read.text('BUDGETD_ADVERTISED_ADDRESS'),
    graceMs: read.durationMs('BUDGETD_GRACE', 5_000, 3_600_000),
    implausibleFactor: read.count('BUDGETD_IMPLAUSIBLE_FACTOR', IMPLAUSIBLE_FACTOR_DEFAULT, 1_000_000),
    queueAgeMs: read.durationMs('BUDGETD_QUEUE_AGE', QUEUE_DEFAULT.ageMs, 86_400_000, 1_000),
    queueCountMax: read.count('BUDGETD_QUEUE_MAX', QUEUE_DEFAULT.countMax, QUEUE_COUNT_MAX),
    reaper: read.onOff('BUDGETD_REAPER', true),
    tokens: read.tokens(),
    logLevel: read.oneOf('BUDGETD_LOG_LEVEL', LOG_LEVELS, 'info'),
    shutdownGraceMs: read.durationMs('BUDGETD_SHUTDOWN_GRACE', 10_000, 600_000),
    verifyRate: read.count('BUDGETD_VERIFY_RATE', 2_000, 1_000_000),
    allowUnsafeDatabase: read.onOff('BUDGETD_ALLOW_UNSAFE_DATABASE', false),
    priceCatalogue: read.onOff('BUDGETD_PRICE_CATALOGUE', true),
    priceStaleAfterMs: read.durationMs('BUDGETD_PRICE_STALE_AFTER', STALE_AFTER_MS, 87_600 * 3_600_000, 3_600_000),
    outputTokensDefault: read.count('BUDGETD_OUTPUT_TOKENS_DEFAULT', OUTPUT_TOKENS_DEFAULT, 10_000_000, 1),
    telemetry: readTelemetry(env, problems),
  };
  if (config.tokens.length === 0 && !isLoopback(config.host)) {
    problems.push(
      `BUDGETD_HOST=${config.host} can be reached from outside: set BUDGETD_ADMIN_TOKEN or BUDGETD_TOKENS_FILE`,
    );
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Whether only this machine can reach the address. */
function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** Version of budgetd, from its package. */
export function packageVersion(): string {
  const text = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
  return String((JSON.parse(text) as { version?: unknown }).version);
}

const DURATION_UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** A duration as a variable would write it, in the largest unit that it is whole in. */
function durationText(ms: number): string {
  const fits = Object.entries(DURATION_UNITS_MS).filter(([, unitMs]) => ms % unitMs === 0);
  const [unit, unitMs] = fits.at(-1) ?? ['ms', 1];
  return `${ms / unitMs}${unit}`;
}

class EnvReader {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #problems: string[];

  constructor(env: Readonly<Record<string, string | undefined>>, problems: string[]) {
    this.#env = env;
    this.#problems = problems;
  }

  /** An empty variable counts as unset, as compose files write them. */
  text(name: string): string | undefined {
    const value = this.#env[name];
    return value === '' ? undefined : value;
  }

  databaseUrl(name: string): string | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const url = URL.parse(value);
    if (url !== null && (url.protocol === 'postgres:' || url.protocol === 'postgresql:')) return value;
    // The value may hold a password.
    this.#problems.push(`${name} must be a URL such as postgres://user:password@host:5432/database`);
    return undefined;
  }

  port(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const port = Number(value);
    if (/^\d{1,5}$/.test(value) && port <= 65_535) return port;
    this.#problems.push(`${name}=${value} must be a port, 0 to 65535`);
    return undefined;
  }

  listenPort(name: string, fallback: number): PortConfig {
    const port = this.port(name);
    return { port: port ?? fallback, explicit: port !== undefined };
  }

  durationMs(name: string, fallbackMs: number, maxMs: number, minMs = 0): number {
    const value = this.text(name);
    if (value === undefined) return fallbackMs;
    const match = /^(\d{1,9})(ms|s|m|h)$/.exec(value);
    const ms = match === null ? Number.NaN : Number(match[1]) * DURATION_UNITS_MS[match[2] as 'ms' | 's' | 'm' | 'h'];
    if (ms >= minMs && ms <= maxMs) return ms;
    const least = minMs === 0 ? '' : `at least ${durationText(minMs)} and `;
    this.#problems.push(`${name}=${value} must be a duration such as 5s, ${least}at most ${durationText(maxMs)}`);
    return fallbackMs;
  }

  count(name: string, fallback: number, max: number, min = 0): number {
    const value = this.text(name);
    if (value === undefined) return fallback;
    if (/^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value);
    this.#problems.push(`${name}=${value} must be a whole number, ${min} to ${max}`);
    return fallback;
  }

  onOff(name: string, fallback: boolean): boolean {
    return this.oneOf(name, ['on', 'off'] as const, fallback ? 'on' : 'off') === 'on';
  }

  oneOf<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const value = this.text(name);
    if (value === undefined) return fallback;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) this.#problems.push(`${name}=${value} must be one of ${choices.join(', ')}`);
    return found ?? fallback;
  }

  tokens(): readonly TokenConfig[] {
    const { tokens, problems } = loadTokens(this.text('BUDGETD_ADMIN_TOKEN'), this.text('BUDGETD_TOKENS_FILE'));
    this.#problems.push(...problems);
    return tokens;
  }
}
