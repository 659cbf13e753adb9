// A question that takes too long is its own fault alone: it says so, and loads, appends and the writer's lease go on. What
// is not answered in time on the way of an append or of the lease is the store's fault, as ever.
import postgres from 'postgres';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { StoreTimeoutError, StoreUnavailableError } from '../../src/store/port.ts';
import { createPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { appendTo, granted, held, NO_HEAD, path, rid, START_MS, threeLevels, tree } from './sample-entries.ts';

const treeId = tree('acme');
const first = { treeId, expected: NO_HEAD, entries: threeLevels('acme') };
const query = {
  treeId,
  budget: path('acme'),
  state: undefined,
  holder: undefined,
  after: undefined,
  countMax: 10,
};
// Reads no reservations.
const request = { treeId, paths: [path('acme')], reservationIds: [], leases: undefined, withTail: false };

let database: TestDatabase;
let admin: postgres.Sql;
let store: PostgresStore;
let epoch: number;

beforeEach(async () => {
  database = await createDatabase();
  admin = postgres(database.url, { max: 2, onnotice: () => undefined });
  store = await createPostgresStore({ url: database.url });
  epoch = (await store.holdWriterLease('test', '', undefined, 3_600_000)).epoch;
});
afterEach(async () => {
  await store.close();
  await admin.end();
  await database.drop();
});

/** Sessions of the service that wait for a lock, by name. */
async function waiting(name: string): Promise<readonly number[]> {
  const rows = await admin<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = ${name} AND wait_event_type = 'Lock'`;
  return rows.map(({ pid }) => pid);
}

async function untilWaiting(name: string, count: number): Promise<readonly number[]> {
  for (let look = 0; look < 1_000; look++) {
    const pids = await waiting(name);
    if (pids.length === count) return pids;
  }
  throw new Error(`${count} sessions ${name} never waited`);
}

/** Runs a statement in a transaction that stays open. Returns how to end it. */
async function lock(statement: string): Promise<() => Promise<void>> {
  const tx = await admin.reserve();
  await tx`BEGIN`;
  await tx.unsafe(statement);
  return async () => {
    await tx`COMMIT`;
    tx.release();
  };
}

it('a list that the server gives up is a time-out, and takes nothing with it', async () => {
  await appendTo(store, epoch, first);
  await store.project([first]);
  const unlock = await lock('LOCK TABLE budgetd.reservations IN ACCESS EXCLUSIVE MODE');
  const lists = [store.listReservations(query), store.listReservations(query)].map((list) =>
    expect(list).rejects.toThrow(StoreTimeoutError),
  );
  const pids = await untilWaiting('budgetd list', 2);
  // All connections of lists are taken. A load, an append and the lease have their own.
  expect((await store.load(request)).budgets).toHaveLength(1);
  expect((await store.append(epoch, [])).outcome).toBe('committed');
  expect((await store.holdWriterLease('test', '', epoch, 3_600_000)).held).toBe(true);
  const third = store.listReservations(query);
  for (const pid of pids) await admin`SELECT pg_cancel_backend(${pid})`;
  await Promise.all(lists);
  await unlock();
  // The sessions are as good as before.
  expect(await third).toStrictEqual([]);
  const left =
    await admin`SELECT pid FROM pg_stat_activity WHERE application_name = 'budgetd list' AND pid = ANY (${pids})`;
  expect(left).toHaveLength(2);
});

it('a load that the server gives up is a time-out, and other loads go on', async () => {
  await appendTo(store, epoch, first);
  await store.project([first]);
  const unlock = await lock('LOCK TABLE budgetd.reservations IN ACCESS EXCLUSIVE MODE');
  const load = expect(store.load({ ...request, reservationIds: [rid('r')] })).rejects.toThrow(StoreTimeoutError);
  const pids = await untilWaiting('budgetd read', 1);
  expect((await store.load(request)).budgets).toHaveLength(1);
  for (const pid of pids) await admin`SELECT pg_cancel_backend(${pid})`;
  await load;
  await unlock();
});

it('an append that the server gives up is no time-out of its own: the store is unavailable', async () => {
  const head = await appendTo(store, epoch, first);
  const unlock = await lock(`SELECT FROM budgetd.tree_heads WHERE tree = 'acme' FOR UPDATE`);
  const entries = [granted({ seq: 4 }, rid('r'), { path: 'acme', nos: [1] }, held(1n, START_MS))];
  const append = store.append(epoch, [{ treeId, expected: head, entries }]).catch((error: unknown) => error);
  for (const pid of await untilWaiting('budgetd append', 1)) await admin`SELECT pg_cancel_backend(${pid})`;
  const error = await append;
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(error).not.toBeInstanceOf(StoreTimeoutError);
  await unlock();
  expect((await store.append(epoch, [{ treeId, expected: head, entries }])).outcome).toBe('committed');
});

it('a renewal of the lease that hangs is given up before the next one is due', async () => {
  const unlock = await lock('SELECT FROM budgetd.writer_lease FOR UPDATE');
  const startMs = performance.now();
  await expect(store.holdWriterLease('test', '', epoch, 60_000)).rejects.toThrow(StoreUnavailableError);
  // 1.2 s; without a deadline of its own the statement's time-out of 5 s.
  expect(performance.now() - startMs).toBeLessThan(3_000);
  await unlock();
  expect((await store.holdWriterLease('test', '', epoch, 60_000)).held).toBe(true);
});
