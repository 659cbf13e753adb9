// The database that an operator's command works on: the one it names, the environment's, or the embedded one, which may be
// run by a service, be at rest, or not exist at all.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../lane/log.ts';
import { codeOf } from '../store/sql-errors.ts';
import { loadConfig } from './config.ts';
import { atEmbeddedDatabase } from './database.ts';
import { DataFolderInUseError } from './embedded/data-folder-lock.ts';
import { runningEmbeddedUrl } from './embedded/running-url.ts';
import { startEmbeddedPostgres } from './embedded/start-embedded-postgres.ts';
import { OperatorError } from './operator-error.ts';

/**
 * Runs `work` with a URL of the database; `named` goes before the environment's DATABASE_URL. Throws OperatorError where there
 * is no database to work on, ConfigError where the environment can't be used.
 */
export async function withOperatorDatabase<T>(
  named: string | undefined,
  log: Log,
  work: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const url = named ?? process.env['DATABASE_URL'];
  if (url !== undefined && url !== '') {
    // The value may hold a password, so it is not repeated.
    if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
      throw new OperatorError('the URL of the database must be such as postgres://user:password@host:5432/database');
    }
    return onSchema(url, work);
  }
  const { dataDir } = loadConfig(process.env);
  // Starting a server would make an empty database there, and an empty database always agrees with itself.
  if (!existsSync(join(dataDir, 'postgres'))) {
    throw new OperatorError(`there is no database: no DATABASE_URL, and no embedded PostgreSQL in ${dataDir}`);
  }
  try {
    const embedded = await startEmbeddedPostgres({ dataDir, log });
    try {
      return await onSchema(atEmbeddedDatabase(embedded.superuserUrl), work);
    } finally {
      await embedded.stop();
    }
  } catch (error) {
    if (!(error instanceof DataFolderInUseError)) throw error;
    return onSchema(atEmbeddedDatabase(await runningEmbeddedUrl(dataDir)), work);
  }
}

/** PostgreSQL knows no such table, no such schema, or no such role to work as. */
const NO_SCHEMA_STATES: ReadonlySet<string> = new Set(['42P01', '3F000', '22023']);

async function onSchema<T>(databaseUrl: string, work: (databaseUrl: string) => Promise<T>): Promise<T> {
  try {
    return await work(databaseUrl);
  } catch (error) {
    if (!NO_SCHEMA_STATES.has(codeOf(error) ?? '')) throw error;
    throw new OperatorError('this database has no schema of budgetd: is it the right one?', { cause: error });
  }
}
