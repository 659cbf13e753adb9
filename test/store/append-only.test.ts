// The journal can't be changed: not by the service's role, which lacks the right, and not by its owner, whom a trigger
// stops. An edit past both is found by the chain.
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkChain } from '../../src/store/journal-reader.ts';
import type { Head } from '../../src/store/port.ts';
import { createPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import { SERVICE_ROLE } from '../../src/store/sql-client.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { appendTo, created, definition, NO_HEAD, path, threeLevels, tree } from './sample-entries.ts';

let database: TestDatabase;
let store: PostgresStore;
let owner: postgres.Sql;
let service: postgres.Sql;
let epoch: number;

beforeAll(async () => {
  database = await createDatabase();
  store = await createPostgresStore({ url: database.url });
  owner = postgres(database.url, { max: 1, onnotice: () => undefined });
  service = postgres(database.url, {
    max: 1,
    onnotice: () => undefined,
    connection: { role: SERVICE_ROLE } as object,
  });
  epoch = (await store.holdWriterLease('test', '', undefined, 3_600_000)).epoch;
  await appendTo(store, epoch, { treeId: tree('acme'), expected: NO_HEAD, entries: threeLevels('acme') });
});
afterAll(async () => {
  await Promise.all([store?.close(), owner?.end(), service?.end()]);
  await database?.drop();
});

const PARTITION = `(SELECT tableoid::regclass FROM budgetd.journal LIMIT 1)`;
async function partitionOfRow(): Promise<string> {
  const [row] = await owner.unsafe(`SELECT ${PARTITION}::text AS name`);
  return row?.['name'] as string;
}

const CHANGES: readonly (readonly [string, string])[] = [
  ['UPDATE', `UPDATE $ SET entries = '[]'`],
  ['DELETE', `DELETE FROM $`],
  ['TRUNCATE', `TRUNCATE $`],
];

describe.each(CHANGES)('%s of the journal', (_, statement) => {
  it('is not among the rights of the service', async () => {
    for (const table of ['budgetd.journal', await partitionOfRow()]) {
      await expect(service.unsafe(statement.replace('$', table))).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('by its owner meets a trigger', async () => {
    for (const table of ['budgetd.journal', await partitionOfRow(), 'budgetd.journal_default']) {
      const isEmpty = table.endsWith('default') && !statement.startsWith('TRUNCATE');
      if (!isEmpty) await expect(owner.unsafe(statement.replace('$', table))).rejects.toMatchObject({ code: 'BD010' });
    }
    expect(await store.readEntries(tree('acme'), 0, 10)).toStrictEqual(threeLevels('acme'));
  });
});

it.each([
  'ALTER TABLE budgetd.journal DISABLE TRIGGER ALL',
  'DROP TABLE budgetd.journal',
  'DROP TRIGGER journal_append_only ON budgetd.journal',
  'CREATE TABLE budgetd.own (a int)',
  'UPDATE budgetd.idempotency_keys SET seq = 1',
  'DELETE FROM budgetd.idempotency_keys',
  'UPDATE budgetd.personal SET acting_for = seq::text',
  'DELETE FROM budgetd.tree_heads',
  'DELETE FROM budgetd.writer_lease',
  'INSERT INTO budgetd.schema_migrations VALUES (99, $$x$$)',
])('the service may not: %s', async (statement) => {
  await expect(service.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
});

it('the role of the service owns nothing', async () => {
  const owned = await owner`
    SELECT c.relname FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = ${SERVICE_ROLE}`;
  expect(owned).toHaveLength(0);
});

it('partitions of this and the coming months are there, with their triggers, however often they are asked for', async () => {
  await Promise.all([store.ensurePartitions(), store.ensurePartitions()]);
  const partitions = await owner`
    SELECT c.relname, array_agg(t.tgname::text ORDER BY t.tgname) AS triggers
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_trigger t ON t.tgrelid = c.oid
    WHERE i.inhparent = 'budgetd.journal'::regclass GROUP BY c.relname`;
  expect(partitions).toHaveLength(4);
  for (const { triggers } of partitions) {
    expect(triggers).toStrictEqual(['journal_append_only', 'journal_no_truncate']);
  }
});

it('people read one row an entry', async () => {
  const rows =
    await service`SELECT seq, type, actor, entry ->> 'type' AS raw FROM budgetd.journal_entries WHERE tree = 'acme' ORDER BY seq`;
  expect(rows.map((row) => [row['seq'], row['type'], row['actor'], row['raw']])).toStrictEqual(
    ['1', '2', '3'].map((seq) => [seq, 'BudgetCreated', 'tester', 'BudgetCreated']),
  );
});

it('personal fields can be erased, and the chain still holds', async () => {
  const treeId = tree('erased');
  const personal = { actingFor: 'somebody', labels: [['a', 'b']] as const };
  const entries = [created({ seq: 1, personal }, definition(1, treeId, undefined))];
  await appendTo(store, epoch, { treeId, expected: NO_HEAD, entries });
  await store.project([{ treeId, entries }]);
  expect(await store.readEntries(treeId, 0, 1)).toStrictEqual(entries);
  await owner`DELETE FROM budgetd.personal WHERE tree = ${treeId}`;
  const [entry] = await store.readEntries(treeId, 0, 1);
  const { commitment } = entries[0]?.personal ?? {};
  expect(entry?.personal).toStrictEqual({ commitment, salt: undefined, actingFor: '', labels: [] });
  const request = { treeId, paths: [path(treeId)], reservationIds: [], leases: undefined, withTail: false };
  expect((await store.load(request)).budgets[0]?.labels).toStrictEqual([]);
  expect((await checkChain(store, treeId)).problem).toBeUndefined();
});

it('anyone can recompute the hash with SQL alone', async () => {
  const rows = await service`
    SELECT hash = sha256(prev_hash || int4send(octet_length(tree)) || convert_to(tree, 'UTF8') || int8send(first_seq)
      || int8send(last_seq) || int8send(budgetd.ms_of_at(at)) || convert_to(entries, 'UTF8')) AS fits
    FROM budgetd.journal`;
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.map((row) => row['fits'])).not.toContain(false);
});

const EDITS: readonly (readonly [string, string, RegExp])[] = [
  [
    'a changed figure',
    `UPDATE budgetd.journal SET entries = replace(entries, '1000000', '2000000') WHERE tree = $1 AND first_seq = 2`,
    /not what was hashed/,
  ],
  [
    'a moved time',
    `UPDATE budgetd.journal SET at = at + interval '1 ms' WHERE tree = $1 AND first_seq = 2`,
    /not what was hashed/,
  ],
  ['a row taken out', `DELETE FROM budgetd.journal WHERE tree = $1 AND first_seq = 2`, /does not follow/],
  [
    'the last row taken out',
    `DELETE FROM budgetd.journal WHERE tree = $1 AND first_seq = 3`,
    /does not lead to its head/,
  ],
  ['all rows taken out', `DELETE FROM budgetd.journal WHERE tree = $1`, /does not lead to its head/],
  [
    'a row put in beside',
    `INSERT INTO budgetd.journal SELECT tree, first_seq, last_seq, at + interval '1 ms', epoch, prev_hash, sha256(hash), entries FROM budgetd.journal WHERE tree = $1 AND first_seq = 2`,
    /does not follow|not what was hashed/,
  ],
  ['the head taken away', `DELETE FROM budgetd.tree_heads WHERE tree = $1`, /no head/],
];
it.each(EDITS)('the chain shows %s', async (name, statement, problem) => {
  const treeId = tree(`edit-${EDITS.findIndex((edit) => edit[0] === name)}`);
  let head: Head = NO_HEAD;
  for (const seq of [1, 2, 3]) {
    const def = definition(seq, seq === 1 ? treeId : `${treeId}/b${seq}`, seq === 1 ? undefined : 1);
    head = await appendTo(store, epoch, { treeId, expected: head, entries: [created({ seq }, def)] });
  }
  expect((await checkChain(store, treeId)).problem).toBeUndefined();
  await owner.begin(async (tx) => {
    await tx.unsafe('ALTER TABLE budgetd.journal DISABLE TRIGGER journal_append_only');
    expect((await tx.unsafe(statement, [treeId])).count).toBeGreaterThan(0);
    await tx.unsafe('ALTER TABLE budgetd.journal ENABLE TRIGGER journal_append_only');
  });
  expect((await checkChain(store, treeId)).problem).toMatch(problem);
});
