// Prices can't be changed: not by the service's role, not by its owner; and no body stands under a hash that is not its own.
import { createHash } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import { SERVICE_ROLE } from '../../src/store/sql-client.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';

const TABLES = ['price_rows', 'price_aliases', 'unit_rows', 'price_retirements', 'price_imports'] as const;

let database: TestDatabase;
let store: PostgresStore;
let owner: postgres.Sql;
let service: postgres.Sql;

const bodyOf = (table: string) => `["${table}","€"]`;
const hashOf = (body: string) => createHash('sha256').update(body).digest('base64url');

beforeAll(async () => {
  database = await createDatabase();
  store = await createPostgresStore({ url: database.url });
  owner = postgres(database.url, { max: 1, onnotice: () => undefined });
  service = postgres(database.url, {
    max: 1,
    onnotice: () => undefined,
    connection: { role: SERVICE_ROLE } as object,
  });
  for (const table of TABLES) {
    const body = bodyOf(table);
    await service.unsafe(`INSERT INTO budgetd.${table} VALUES ($1, $2, 'operator', 'ops', 1)`, [hashOf(body), body]);
  }
});
afterAll(async () => {
  await Promise.all([store?.close(), owner?.end(), service?.end()]);
  await database?.drop();
});

describe.each(TABLES)('%s', (table) => {
  const statements = [
    `UPDATE budgetd.${table} SET added_by = 'x'`,
    `DELETE FROM budgetd.${table}`,
    `TRUNCATE budgetd.${table}`,
  ];

  it('can not be changed by the service, and its owner meets a trigger', async () => {
    for (const statement of statements) {
      await expect(service.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
      await expect(owner.unsafe(statement)).rejects.toMatchObject({ code: 'BD010' });
    }
    const rows = await owner.unsafe(`SELECT body, added_by FROM budgetd.${table}`);
    expect(rows.map((row) => [row['body'], row['added_by']])).toEqual([[bodyOf(table), 'ops']]);
  });

  it('takes no body under the hash of another', async () => {
    const insert = `INSERT INTO budgetd.${table} VALUES ($1, $2, 'operator', 'ops', 1)`;
    await expect(owner.unsafe(insert, [hashOf('[1]'), '[2]'])).rejects.toMatchObject({ code: '23514' });
  });
});
