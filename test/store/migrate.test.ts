// Migrations: from many processes at once, again and again, never over a later schema, and only with the rights they need.
import postgres from 'postgres';
import { afterEach, expect, it } from 'vitest';
import {
  type Migration,
  MigrationRightsError,
  migrate,
  readMigrations,
  SchemaTooNewError,
} from '../../src/store/migrate.ts';
import { createPostgresStore } from '../../src/store/postgres-store.ts';
import { createDatabase } from '../support/postgres.ts';

const RUNNER_COUNT = 20;

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function emptyDatabase(): Promise<string> {
  const database = await createDatabase({ empty: true });
  undo.push(() => database.drop());
  return database.url;
}

function connect(url: string, role?: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => undefined, ...(role && { connection: { role } as object }) });
  undo.push(() => sql.end());
  return sql;
}

it(`from ${RUNNER_COUNT} processes at once applies each migration once`, async () => {
  const url = await emptyDatabase();
  const runners = Array.from({ length: RUNNER_COUNT }, () => connect(url));
  const counts = await Promise.all(runners.map((sql) => migrate(sql)));
  const migrations = await readMigrations();
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(migrations.length);
  const rows = await connect(url)`SELECT version, file_name FROM budgetd.schema_migrations ORDER BY version`;
  expect(rows.map((row) => [row['version'], row['file_name']])).toStrictEqual(
    migrations.map(({ version, fileName }) => [version, fileName]),
  );
});

it('changes nothing when run again', async () => {
  const sql = connect(await emptyDatabase());
  expect(await migrate(sql)).toBeGreaterThan(0);
  for (const _ of [1, 2, 3]) expect(await migrate(sql)).toBe(0);
});

it('goes on where an earlier version of the program stopped', async () => {
  const sql = connect(await emptyDatabase());
  const migrations = await readMigrations();
  expect(await migrate(sql, { migrations: migrations.slice(0, 2) })).toBe(2);
  expect(await migrate(sql)).toBe(migrations.length - 2);
});

it('leaves nothing of a migration that fails', async () => {
  const sql = connect(await emptyDatabase());
  const broken: Migration = {
    version: 1,
    fileName: '0001_broken.sql',
    sqlText: 'CREATE TABLE budgetd.half (a int); SELECT 1/0',
  };
  await expect(migrate(sql, { migrations: [broken] })).rejects.toThrow('division by zero');
  expect(await sql`SELECT FROM budgetd.schema_migrations`).toHaveLength(0);
  expect(await migrate(sql)).toBeGreaterThan(0);
});

it('refuses a later schema and leaves it as it is', async () => {
  const sql = connect(await emptyDatabase());
  const count = await migrate(sql);
  await sql`INSERT INTO budgetd.schema_migrations (version, file_name) VALUES (${count + 1}, 'later.sql')`;
  await expect(migrate(sql)).rejects.toThrow(SchemaTooNewError);
});

it('says which rights are missing', async () => {
  const url = await emptyDatabase();
  const admin = connect(url);
  const role = `budgetd_test_${Math.trunc(performance.now())}_${process.pid}`;
  await admin.unsafe(`CREATE ROLE ${role} NOLOGIN`);
  undo.push(() => admin.unsafe(`DROP ROLE ${role}`));
  await expect(migrate(connect(url, role))).rejects.toThrow(MigrationRightsError);
});

it('lets logins of the service work as its role, and an owner who is no superuser migrate', async () => {
  const url = await emptyDatabase();
  const admin = connect(url);
  const owner = `budgetd_test_owner_${process.pid}`;
  const login = `budgetd_test_login_${process.pid}`;
  await admin.unsafe(`CREATE ROLE ${owner} NOLOGIN CREATEROLE`);
  await admin.unsafe(`CREATE ROLE ${login} LOGIN PASSWORD 'test'`);
  const database = new URL(url).pathname.slice(1);
  await admin.unsafe(`ALTER DATABASE ${database} OWNER TO ${owner}`);
  // A role that is already there can be granted by whoever has it with ADMIN OPTION.
  await admin.unsafe(`GRANT budgetd_service TO ${owner} WITH ADMIN OPTION`);
  undo.push(async () => {
    await admin.unsafe(`ALTER DATABASE ${database} OWNER TO CURRENT_USER`);
    await admin.unsafe(`DROP OWNED BY ${owner}, ${login}`);
    await admin.unsafe(`DROP ROLE ${login}, ${owner}`);
  });
  expect(await migrate(connect(url, owner), { serviceLogins: [login] })).toBeGreaterThan(0);
  const serviceUrl = new URL(url);
  serviceUrl.username = login;
  serviceUrl.password = 'test';
  const store = await createPostgresStore({ url: serviceUrl.href });
  undo.push(() => store.close());
  const lease = await store.holdWriterLease('test', '', undefined, 60_000);
  expect(await store.append(lease.epoch, [])).toStrictEqual({ outcome: 'committed', heads: [] });
});
