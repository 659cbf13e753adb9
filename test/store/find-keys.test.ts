// Repeats are looked up in time that grows with the rows of the journal they lead to, not with repeats times rows: a whole
// batch that is sent again must be answered on a cold cache before a statement's time is over.
import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Entry } from '../../src/kernel/entry.ts';
import { CorruptJournalError, type Head } from '../../src/store/port.ts';
import { createPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { appendTo, digest, granted, held, NO_HEAD, rid, START_MS, threeLevels, tree } from './sample-entries.ts';

const BATCH_COUNT = 1_024;
// Rows of this many batches are more than one call brings.
const ROW_COUNT = 16;

let database: TestDatabase;
let store: PostgresStore;
let epoch: number;

beforeAll(async () => {
  database = await createDatabase();
  store = await createPostgresStore({ url: database.url });
  epoch = (await store.holdWriterLease('test', '', undefined, 3_600_000)).epoch;
});
afterAll(async () => {
  await store?.close();
  await database?.drop();
});

/** Grants with keys, as one batch after `head`. */
async function appendGrants(treeId: string, head: Head): Promise<{ readonly head: Head; readonly entries: Entry[] }> {
  const entries = Array.from({ length: BATCH_COUNT }, (_, i) => {
    const seq = head.seq + 1 + i;
    const on = { path: `${treeId}/team/run`, nos: [1, 2, 3] };
    const personal = i % 100 === 0 ? { actingFor: `person ${seq}` } : undefined;
    return granted({ seq, key: `key-${seq}`, ...(personal && { personal }) }, rid(`r${seq}-`), on, held(1n, START_MS));
  });
  return { head: await appendTo(store, epoch, { treeId: tree(treeId), expected: head, entries }), entries };
}

it(`${BATCH_COUNT} repeats of one batch are found in well under a second`, async () => {
  const treeId = tree('one-row');
  const head = await appendTo(store, epoch, { treeId, expected: NO_HEAD, entries: threeLevels(treeId) });
  const { entries } = await appendGrants(treeId, head);
  const digests = entries.map(({ key }) => key?.digest as string);
  const startMs = performance.now();
  const found = await store.findKeys(treeId, [...digests, digest('unknown'), ...digests.slice(0, 5)]);
  // Once a key: 2,500 ms and more. Once a row: 30 ms.
  expect(performance.now() - startMs).toBeLessThan(800);
  expect(found).toStrictEqual(entries);
});

it('keys that are spread over more rows than one call brings are all found', async () => {
  const treeId = tree('many-rows');
  let head = await appendTo(store, epoch, { treeId, expected: NO_HEAD, entries: threeLevels(treeId) });
  const wanted: Entry[] = [];
  for (let row = 0; row < ROW_COUNT; row++) {
    const appended = await appendGrants(treeId, head);
    head = appended.head;
    wanted.push(appended.entries[row] as Entry, appended.entries[BATCH_COUNT - 1] as Entry);
  }
  const digests = wanted.map(({ key }) => key?.digest as string).reverse();
  const found = await store.findKeys(treeId, [digest('unknown'), ...digests]);
  expect(found).toStrictEqual(wanted);
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  const page = await sql`SELECT seqs, is_last FROM budgetd.find_keys(${treeId},
    ${Buffer.concat(digests.map((text) => Buffer.from(text, 'base64url')))}, 1)`;
  await sql.end();
  expect(page.map((row) => [row['seqs'], row['is_last']])).toStrictEqual([[[wanted[0]?.seq, wanted[1]?.seq], false]]);
});

it('an answer is not taken from a row that is not as it was written', async () => {
  const treeId = tree('edited');
  const head = await appendTo(store, epoch, { treeId, expected: NO_HEAD, entries: threeLevels(treeId) });
  const { entries } = await appendGrants(treeId, head);
  const owner = postgres(database.url, { max: 1, onnotice: () => undefined });
  await owner.begin(async (tx) => {
    await tx.unsafe('ALTER TABLE budgetd.journal DISABLE TRIGGER journal_append_only');
    await tx`UPDATE budgetd.journal SET entries = replace(entries, '"worker"', '"nobody"') WHERE tree = ${treeId}`;
    await tx.unsafe('ALTER TABLE budgetd.journal ENABLE TRIGGER journal_append_only');
  });
  await owner.end();
  const last = entries.at(-1)?.key?.digest as string;
  await expect(store.findKeys(treeId, [last])).rejects.toThrow(CorruptJournalError);
});
