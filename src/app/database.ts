// Where the journal lives: the database of DATABASE_URL, or an embedded PostgreSQL. Either way it is migrated, and the
// service gets a URL of a role that owns nothing.
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

/** Name of the database in the embedded PostgreSQL. */
const EMBEDDED_DATABASE = 'budgetd';

/** Opens and migrates. */
export async function openDatabase(config: ServiceConfig, logger: Logger): Promise<Database> {
  return config.databaseUrl === undefined ? openEmbedded(config, logger) : openExternal(config, config.databaseUrl);
}

async function openExternal(config: ServiceConfig, databaseUrl: string): Promise<Database> {
  await migrateAt(config.migrationDatabaseUrl ?? databaseUrl, [loginOf(databaseUrl)]);
  return {
    kind: 'external',
    serviceUrl: databaseUrl,
    onExit: () => undefined,
    close: () => Promise.resolve(),
  };
}

async function openEmbedded(config: ServiceConfig, logger: Logger): Promise<Database> {
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

async function migrateAt(url: string, serviceLogins: readonly string[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await migrate(sql, { serviceLogins });
  } finally {
    await sql.end();
  }
}

function loginOf(databaseUrl: string): string {
  return decodeURIComponent(new URL(databaseUrl).username);
}
