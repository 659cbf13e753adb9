// Brings a database to this program's schema: numbered SQL files, forward only, under the owner's own URL. Safe from many
// processes at once without advisory locks: each migration's transaction begins by inserting its version, so the second
// runner waits there, collides, and counts the migration as done.
import { readdir, readFile } from 'node:fs/promises';
import type { Sql } from './sql-client.ts';
import { SERVICE_ROLE } from './sql-client.ts';
import { codeOf, isUniqueViolation } from './sql-errors.ts';

/** Thrown where the database is of a later schema than this program knows. */
export class SchemaTooNewError extends Error {
  override readonly name = 'SchemaTooNewError';
}

/** Thrown where the login may not do what a migration needs. */
export class MigrationRightsError extends Error {
  override readonly name = 'MigrationRightsError';
}

/** One file of sql/. */
export interface Migration {
  readonly version: number;
  readonly fileName: string;
  readonly sqlText: string;
}

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const SQL_FOLDER = new URL('../../sql/', import.meta.url);

// Roles and the first two objects are made outside of a migration; processes that start together collide there with one
// of these: unique_violation, duplicate_object, duplicate_schema, duplicate_table, and internal_error for "tuple
// concurrently updated". Each has made way for the other's work, so the next look finds it done.
const RACE_CODES: ReadonlySet<string> = new Set(['23505', '42710', '42P06', '42P07', 'XX000', '40001', '40P01']);
// One collision per object and process at the most; twenty processes never came near it.
const RACE_COUNT_MAX = 50;

/** Reads the migrations, in order. Throws where numbers are missing or doubled. */
export async function readMigrations(folder: URL = SQL_FOLDER): Promise<readonly Migration[]> {
  const fileNames = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    fileNames.map(async (fileName, i) => {
      const version = Number(FILE_NAME.exec(fileName)?.[1]);
      if (version !== i + 1) throw new Error(`migration ${fileName} is not number ${i + 1}`);
      return { version, fileName, sqlText: await readFile(new URL(fileName, folder), 'utf8') };
    }),
  );
}

/** How to migrate. */
export interface MigrateOptions {
  /** Logins of the service that shall be able to work as its role. The one that migrates always can. */
  readonly serviceLogins?: readonly string[];
  /** Default: those in sql/. */
  readonly migrations?: readonly Migration[];
}

/**
 * Applies what is missing and returns how many migrations this call applied. Throws SchemaTooNewError before anything is
 * changed, and MigrationRightsError.
 */
export async function migrate(sql: Sql, options: MigrateOptions = {}): Promise<number> {
  const migrations = options.migrations ?? (await readMigrations());
  try {
    await retryRaces(() => ensureRole(sql, options.serviceLogins ?? []));
    await retryRaces(() => ensureVersionTable(sql));
    let count = 0;
    for (;;) {
      const version = await schemaVersion(sql);
      if (version > migrations.length) {
        throw new SchemaTooNewError(
          `the database has schema ${version}; this program knows up to ${migrations.length}`,
        );
      }
      const next = migrations[version];
      if (next === undefined) return count;
      if (await applyMigration(sql, next)) count++;
    }
  } catch (error) {
    if (codeOf(error) !== '42501') throw error;
    throw new MigrationRightsError(
      `the login may not migrate: it needs CREATE on the database, and CREATEROLE or an existing role ${SERVICE_ROLE} ` +
        'with ADMIN OPTION',
      { cause: error },
    );
  }
}

async function schemaVersion(sql: Sql): Promise<number> {
  const [row] = await sql<[{ version: number }]>`
    SELECT coalesce(max(version), 0) AS version FROM budgetd.schema_migrations`;
  return row.version;
}

/** Returns whether this process applied it; false where another one was faster. */
async function applyMigration(sql: Sql, migration: Migration): Promise<boolean> {
  try {
    await sql.begin(async (tx) => {
      await tx`INSERT INTO budgetd.schema_migrations (version, file_name)
        VALUES (${migration.version}, ${migration.fileName})`;
      await tx.unsafe(migration.sqlText).simple();
    });
    return true;
  } catch (error) {
    if (isUniqueViolation(error, 'schema_migrations_pkey')) return false;
    throw error;
  }
}

async function ensureVersionTable(sql: Sql): Promise<void> {
  const [row] = await sql<[{ exists: boolean }]>`
    SELECT to_regclass('budgetd.schema_migrations') IS NOT NULL AS exists`;
  if (row.exists) return;
  await sql`CREATE SCHEMA IF NOT EXISTS budgetd`;
  await sql`CREATE TABLE IF NOT EXISTS budgetd.schema_migrations (
    version integer PRIMARY KEY, file_name text NOT NULL, at timestamptz NOT NULL DEFAULT now())`;
}

async function ensureRole(sql: Sql, logins: readonly string[]): Promise<void> {
  const [role] = await sql`SELECT FROM pg_catalog.pg_roles WHERE rolname = ${SERVICE_ROLE}`;
  if (role === undefined) await sql.unsafe(`CREATE ROLE ${SERVICE_ROLE} NOLOGIN`);
  // From PostgreSQL 16 on MEMBER alone does not say that a login may SET ROLE.
  const [server] = await sql<[{ no: number }]>`SELECT current_setting('server_version_num')::integer AS no`;
  const right = server.no >= 160_000 ? 'SET' : 'MEMBER';
  const [self] = await sql<[{ name: string }]>`SELECT current_user AS name`;
  for (const login of new Set([self.name, ...logins])) {
    const [member] = await sql<[{ can: boolean }]>`SELECT pg_has_role(${login}, ${SERVICE_ROLE}, ${right}) AS can`;
    if (!member.can) await sql`GRANT ${sql(SERVICE_ROLE)} TO ${sql(login)}`;
  }
}

async function retryRaces(work: () => Promise<void>): Promise<void> {
  for (let count = 1; ; count++) {
    try {
      await work();
      return;
    } catch (error) {
      if (count === RACE_COUNT_MAX || !RACE_CODES.has(codeOf(error) ?? '')) throw error;
    }
  }
}
