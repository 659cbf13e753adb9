// Where the journal lives: the database of DATABASE_URL, or an embedded PostgreSQL. Either way it is migrated, and the
// service gets a URL of a role that owns nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { migrate } from '../store/migrate.ts';
import type { ServiceConfig } from './config.ts';
import { startEmbeddedPostgres } from './embedded/start-embedded-postgres.ts';
import type { Logger } from './logger.ts';

/** A database that is ready for the service. */
export interface Database {
  readonly kind: 'embedded' | 'external';
  readonly serviceUrl: string;
  /** Calls back if the embedded PostgreSQL ends by itself; never for an external one. */
  onExit(callback: (error: Error) => void): void;
  close(): Promise<void>;
}

/** A start in the same data centre connects in milliseconds; past this nobody is there. */
const CONNECT_TIMEOUT_S = 5;

/** A database that is just starting gets a while, and an operator who mistyped a host an answer within the minute. */
const ANSWER_TIMEOUT_MS = 20_000;

/** Name of the database in the embedded PostgreSQL. */
const EMBEDDED_DATABASE = 'budgetd';

/** Opens and migrates. Throws where an external database does not answer within `answerTimeoutMs`; default 20 s. */
export async function openDatabase(
  config: Pick<ServiceConfig, 'databaseUrl' | 'migrationDatabaseUrl' | 'dataDir' | 'postgresPort'>,
  logger: Logger,
  answerTimeoutMs?: number,
): Promise<Database> {
  return config.databaseUrl === undefined
    ? openEmbedded(config, logger)
    : openExternal(config, config.databaseUrl, logger, answerTimeoutMs);
}

async function openExternal(
  config: Pick<ServiceConfig, 'migrationDatabaseUrl'>,
  databaseUrl: string,
  logger: Logger,
  answerTimeoutMs?: number,
): Promise<Database> {
  const migrationUrl = config.migrationDatabaseUrl ?? databaseUrl;
  logger.lane('info', 'connecting to the database', { host: new URL(migrationUrl).host });
  await migrateAt(migrationUrl, [loginOf(databaseUrl)], answerTimeoutMs);
  return {
    kind: 'external',
    serviceUrl: databaseUrl,
    onExit: () => undefined,
    close: () => Promise.resolve(),
  };
}

async function openEmbedded(
  config: Pick<ServiceConfig, 'dataDir' | 'postgresPort'>,
  logger: Logger,
): Promise<Database> {
  const embedded = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    log: logger.lane,
    ...(config.postgresPort !== undefined && { port: config.postgresPort }),
  });
  try {
    const url = await ensureDatabase(embedded.superuserUrl);
    await migrateAt(url, []);
    return {
      kind: 'embedded',
      serviceUrl: url,
      onExit: (callback) => embedded.onExit(() => callback(new Error('the embedded PostgreSQL has ended'))),
      close: () => embedded.stop(),
    };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}

async function ensureDatabase(superuserUrl: string): Promise<string> {
  const sql = postgres(superuserUrl, { max: 1 });
  try {
    const [found] = await sql`select 1 from pg_database where datname = ${EMBEDDED_DATABASE}`;
    if (found === undefined) await sql`create database ${sql(EMBEDDED_DATABASE)}`;
  } finally {
    await sql.end();
  }
  return atEmbeddedDatabase(superuserUrl);
}

/** The URL of budgetd's own database in the embedded PostgreSQL. */
export function atEmbeddedDatabase(superuserUrl: string): string {
  const url = new URL(superuserUrl);
  url.pathname = `/${EMBEDDED_DATABASE}`;
  return url.href;
}

async function migrateAt(
  url: string,
  serviceLogins: readonly string[],
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: CONNECT_TIMEOUT_S, onnotice: () => undefined });
  try {
    await answers(sql, new URL(url), answerTimeoutMs);
    await migrate(sql, { serviceLogins });
  } finally {
    await sql.end({ timeout: CONNECT_TIMEOUT_S });
  }
}

// The driver tries again for ever; a start has to say what is wrong instead.
async function answers(sql: postgres.Sql, { host }: URL, timeoutMs: number): Promise<void> {
  const silence = new AbortController();
  const silent = sleep(timeoutMs, undefined, { signal: silence.signal }).then(() => {
    throw new Error(`the database at ${host} did not answer within ${timeoutMs / 1_000} s`);
  });
  const answer = sql`SELECT 1`.then(
    () => undefined,
    (cause: unknown) => {
      throw new Error(`the database at ${host} can't be used`, { cause });
    },
  );
  try {
    await Promise.race([answer, silent]);
  } finally {
    silence.abort();
    // The race has told the one that counted; the other ends unheard.
    silent.catch(() => undefined);
    answer.catch(() => undefined);
  }
}

function loginOf(databaseUrl: string): string {
  return decodeURIComponent(new URL(databaseUrl).username);
}
