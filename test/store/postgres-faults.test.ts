// What the store says when PostgreSQL fails it: always StoreUnavailableError, never a wrong conclusion about an append, and
// well again as soon as the database is.
import postgres from 'postgres';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkChain } from '../../src/store/journal-reader.ts';
import { StoreUnavailableError } from '../../src/store/port.ts';
import { createPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { appendTo, granted, held, NO_HEAD, rid, START_MS, threeLevels, tree } from './sample-entries.ts';

// Long enough for a statement on a busy machine, short enough to wait for.
const DEADLINE_MS = 1_500;
const treeId = tree('acme');
const first = { treeId, expected: NO_HEAD, entries: threeLevels('acme') };

let database: TestDatabase;
let proxy: TcpProxy;
let admin: postgres.Sql;
let store: PostgresStore;
let epoch: number;

beforeEach(async () => {
  database = await createDatabase();
  admin = postgres(database.url, { max: 2, onnotice: () => undefined });
  const url = new URL(database.url);
  proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
  url.host = `127.0.0.1:${proxy.port}`;
  store = await createPostgresStore({ url: url.href, deadlineMs: DEADLINE_MS });
  epoch = (await store.holdWriterLease('test', '', undefined, 3_600_000)).epoch;
});
afterEach(async () => {
  await store.close();
  await proxy.close();
  await admin.end();
  await database.drop();
});

/** Waits for a condition in the database. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let count = 0; !(await condition()); count++) {
    if (count === 1_000) throw new Error('the condition never came');
  }
}

const isWaiting = async () => {
  const rows = await admin`
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'budgetd append' AND wait_event_type = 'Lock'`;
  return rows.length > 0;
};

/** Holds the head of the tree locked, so that appends to it wait. Returns how to let it go. */
async function lockHead(): Promise<() => Promise<unknown>> {
  const tx = await admin.reserve();
  await tx`BEGIN`;
  await tx`SELECT FROM budgetd.tree_heads WHERE tree = ${treeId} FOR UPDATE`;
  return async () => {
    await tx`COMMIT`;
    tx.release();
  };
}

const next = [granted({ seq: 4, key: 'k' }, rid('r'), { path: 'acme', nos: [1] }, held(1n, START_MS))];

it('a session that is cut off: unavailable, then the same append is committed once', async () => {
  const head = await appendTo(store, epoch, first);
  const unlock = await lockHead();
  const append = store.append(epoch, [{ treeId, expected: head, entries: next }]);
  const failed = expect(append).rejects.toThrow(StoreUnavailableError);
  await until(isWaiting);
  await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'budgetd append'`;
  await failed;
  await unlock();
  const again = await store.append(epoch, [{ treeId, expected: head, entries: next }]);
  expect(again.outcome).toBe('committed');
  expect(await checkChain(store, treeId)).toMatchObject({ end: { seq: 4 }, problem: undefined });
});

it('an append that outlasts the deadline and commits later: the same append finds it', async () => {
  const head = await appendTo(store, epoch, first);
  const unlock = await lockHead();
  const part = { treeId, expected: head, entries: next };
  await expect(store.append(epoch, [part])).rejects.toThrow(StoreUnavailableError);
  // The server still works on the first one; the second waits behind it.
  const again = store.append(epoch, [part]);
  await until(async () => {
    const rows =
      await admin`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return rows.length === 2;
  });
  await unlock();
  expect((await again).outcome).toBe('committed');
  expect(await checkChain(store, treeId)).toMatchObject({ end: { seq: 4 }, problem: undefined });
  expect(await store.readEntries(treeId, 3, 10)).toStrictEqual(next);
});

it('an answer that never comes: unavailable, and the same append finds that it was committed', async () => {
  const head = await appendTo(store, epoch, first);
  proxy.stall('to-client');
  const part = { treeId, expected: head, entries: next };
  await expect(store.append(epoch, [part])).rejects.toThrow(StoreUnavailableError);
  proxy.pass();
  expect((await store.append(epoch, [part])).outcome).toBe('committed');
  expect(await store.readEntries(treeId, 3, 10)).toStrictEqual(next);
});

it('a takeover waits for an append that has seen the old epoch', async () => {
  const head = await appendTo(store, epoch, first);
  const unlock = await lockHead();
  const append = store.append(epoch, [{ treeId, expected: head, entries: next }]);
  await until(isWaiting);
  // The lease has run out as far as a standby can see.
  const expire = admin`UPDATE budgetd.writer_lease SET expire_at = '-infinity'`;
  await expire;
  const takeover = store.holdWriterLease('standby', '', undefined, 60_000);
  await until(async () => {
    const rows =
      await admin`SELECT FROM pg_stat_activity WHERE application_name = 'budgetd lease' AND wait_event_type = 'Lock'`;
    return rows.length === 1;
  });
  await unlock();
  expect((await append).outcome).toBe('committed');
  expect(await takeover).toMatchObject({ held: true, epoch: epoch + 1 });
  expect(
    (await store.load({ treeId, paths: [], reservationIds: [], leases: undefined, withTail: false })).head.seq,
  ).toBe(4);
});

it('a renewal of the lease does not stand in the way of an append', async () => {
  const tx = await admin.reserve();
  await tx`BEGIN`;
  await tx`UPDATE budgetd.writer_lease SET expire_at = now() + interval '1 hour'`;
  expect((await store.append(epoch, [first])).outcome).toBe('committed');
  await tx`COMMIT`;
  tx.release();
});

it('a cut and restored network: unavailable, then well', async () => {
  const head = await appendTo(store, epoch, first);
  proxy.refuse();
  const asks: readonly (() => Promise<unknown>)[] = [
    () => store.append(epoch, [{ treeId, expected: head, entries: next }]),
    () => store.load({ treeId, paths: [], reservationIds: [], leases: undefined, withTail: true }),
    () => store.project([first]),
    () => store.holdWriterLease('test', '', epoch, 60_000),
    () => store.unprojectedTrees(1),
    () => store.databaseInfo(),
  ];
  for (const ask of asks) {
    await expect(ask()).rejects.toThrow(StoreUnavailableError);
  }
  proxy.pass();
  expect((await store.append(epoch, [{ treeId, expected: head, entries: next }])).outcome).toBe('committed');
  for (const ask of asks) await ask();
});

it('the message names nothing of the database; the cause keeps it all', async () => {
  const url = new URL(database.url);
  const gone = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
  await gone.close();
  url.host = `127.0.0.1:${gone.port}`;
  const error = await createPostgresStore({ url: url.href }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StoreUnavailableError);
  const { message, cause } = error as Error;
  expect(message).toBe('the store is unavailable (ECONNREFUSED)');
  expect(String(cause)).toContain(String(gone.port));
});

it('a read-only server is unavailable for appends', async () => {
  await admin.unsafe(
    `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET default_transaction_read_only = on`,
  );
  const standby = await createPostgresStore({ url: database.url }).catch((error: unknown) => error);
  if (standby instanceof Error) {
    expect(standby).toBeInstanceOf(StoreUnavailableError);
    return;
  }
  await expect((standby as PostgresStore).append(epoch, [first])).rejects.toThrow(StoreUnavailableError);
  await (standby as PostgresStore).close();
});

it('appends wait for the disk whatever the database is set to, unless unsafe data was asked for', async () => {
  await admin.unsafe(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET synchronous_commit = off`);
  // Reads the settings of the session that appends: refused at the start if it went by those of the database.
  const careful = await createPostgresStore({ url: database.url });
  await careful.checkDurability();
  await careful.close();
  const unsafe = await createPostgresStore({ url: database.url, allowUnsafeDurability: true });
  await unsafe.checkDurability();
  await unsafe.close();
});
