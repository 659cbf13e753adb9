// What the database adds up of the journal, beside what the kernel wrote into it: spend per model and apart from models, in their
// months, and how estimates stood.
import fc from 'fast-check';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Entry } from '../../src/kernel/entry.ts';
import { createPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import { hasTree, readEstimates, readSpend, type Spend, withSpendReads } from '../../src/store/read-spend.ts';
import { type Runs, SERVICE_ROLE, type Sql } from '../../src/store/sql-client.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { KernelDriver } from '../support/kernel-driver.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { tellStory } from '../support/tell-story.ts';
import { callOf, usageOf } from '../support/test-prices.ts';
import { appendTo, NO_HEAD, tree } from './sample-entries.ts';

const NOVEMBER = { fromMs: Date.UTC(2026, 10), untilMs: Date.UTC(2026, 11) };
const DECEMBER = { fromMs: Date.UTC(2026, 11), untilMs: Date.UTC(2027, 0) };
const EVER = { fromMs: 0, untilMs: Date.UTC(2100, 0) };

let database: TestDatabase;
let store: PostgresStore;
let epoch: number;
let treeCount = 0;
let driver: KernelDriver;

beforeAll(async () => {
  database = await createDatabase();
  store = await createPostgresStore({ url: database.url });
  epoch = (await store.holdWriterLease('test', '', undefined, 3_600_000)).epoch;
});
afterAll(async () => {
  await store?.close();
  await database?.drop();
});
beforeEach(() => {
  treeCount += 1;
  driver = new KernelDriver(`tree-${treeCount}`);
  driver.nowMs = Date.UTC(2026, 10, 10);
});

/** Stores a journal as it is decided, some entries a row. */
async function keep({ state, journal }: KernelDriver, entriesPerRow = 3): Promise<void> {
  let expected = NO_HEAD;
  for (let from = 0; from < journal.length; from += entriesPerRow) {
    const entries: readonly Entry[] = journal.slice(from, from + entriesPerRow);
    expected = await appendTo(store, epoch, { treeId: state.treeId, expected, entries });
  }
}

const onReads = <T>(work: (client: Runs) => Promise<T>): Promise<T> => withSpendReads(database.url, work);
const spendOf = (range: { readonly fromMs: number; readonly untilMs: number }): Promise<Spend> =>
  onReads((client) => readSpend(client, { ...range, tree: driver.state.treeId }));
const estimatesOf = (range = EVER, permilleMax = 100_000n) =>
  onReads((client) => readEstimates(client, { ...range, tree: driver.state.treeId }, permilleMax));

const make = (options: Parameters<KernelDriver['make']['create']>[1] = {}) =>
  driver.run(driver.make.create(driver.state.treeId, { limits: 1_000_000_000n, ...options }));
const hold = (name: string) => driver.hold(driver.state.treeId, 0, { call: callOf(name) });
const settleBy = (id: string, prompt: number, completion: number, options = {}) =>
  driver.run(driver.make.settle(id, undefined, { usage: usageOf(prompt, completion), ...options }));

describe('spend', () => {
  it('is added up per model, and apart from it what was settled by amount or assumed', async () => {
    make();
    const root = driver.state.treeId;
    settleBy(hold('openai/gpt-4o'), 1_000, 100);
    settleBy(hold('openai/gpt-4o'), 10, 1);
    const parts = hold('openai/gpt-4o-mini');
    settleBy(parts, 100, 10, { keepOpen: true });
    settleBy(parts, 200, 20);
    settleBy(hold('local/free'), 5, 5);
    driver.run(driver.make.settle(driver.hold(root, 700), 500));
    driver.run(driver.make.settle(driver.hold(root, 70), undefined));
    driver.run(driver.make.release(driver.hold(root, 9_999)));
    await keep(driver);
    expect(await spendOf(NOVEMBER)).toEqual({
      models: [
        { unit: 'USD', provider: 'local', model: 'free', count: 1n, micros: 0n, inputTokens: 5n, outputTokens: 5n },
        {
          ...{ unit: 'USD', provider: 'openai', model: 'gpt-4o', count: 2n, micros: 3_535n },
          ...{ inputTokens: 1_010n, outputTokens: 101n },
        },
        {
          ...{ unit: 'USD', provider: 'openai', model: 'gpt-4o-mini', count: 2n, micros: 63n },
          ...{ inputTokens: 300n, outputTokens: 30n },
        },
      ],
      others: [
        { unit: 'USD', kind: 'amount', count: 1n, micros: 500n },
        { unit: 'USD', kind: 'estimate', count: 1n, micros: 70n },
      ],
    });
    expect(await spendOf(DECEMBER)).toEqual({ models: [], others: [] });
  });

  it('counts every kind of input and of output', async () => {
    make();
    const id = hold('openai/gpt-4o');
    settleBy(id, 1_000, 100);
    const [settled] = driver.journal.slice(-1);
    if (settled?.type !== 'Settled' || settled.priced === undefined) throw new Error('not priced');
    const counts = [1n, 2n, 4n, 8n, 16n, 32n, 64n, 128n, 256n, 512n] as const;
    const [uncachedInput, cacheRead, cacheWrite5m, cacheWrite1h, audioInput, audioCacheRead, output, audioOutput] =
      counts;
    const input = { uncachedInput, cacheRead, cacheWrite5m, cacheWrite1h, audioInput, audioCacheRead };
    const buckets = { ...input, output, audioOutput, webSearches: 256n, fileSearches: 512n };
    driver.journal.splice(-1, 1, { ...settled, priced: { ...settled.priced, buckets } });
    await keep(driver);
    expect((await spendOf(NOVEMBER)).models).toMatchObject([{ inputTokens: 63n, outputTokens: 192n }]);
  });

  it('is that of the entries of the month, whatever row they are in', async () => {
    make();
    const ids = Array.from({ length: 4 }, () => driver.hold(driver.state.treeId, 100, { ttlMs: 86_400_000 }));
    const times = [NOVEMBER.untilMs - 1, NOVEMBER.untilMs, NOVEMBER.untilMs + 1, NOVEMBER.untilMs + 2];
    driver.nowMs = NOVEMBER.untilMs - 10;
    for (const id of ids) driver.run(driver.make.renew(id, 86_400_000));
    for (const [index, id] of ids.entries()) {
      driver.nowMs = times[index] ?? 0;
      driver.run(driver.make.settle(id, 10 ** index));
    }
    // One row, of the time of its last entry.
    await keep(driver, 1_000);
    const amountIn = async (range: typeof NOVEMBER) => (await spendOf(range)).others.map(({ micros }) => micros);
    expect([await amountIn(NOVEMBER), await amountIn(DECEMBER)]).toEqual([[1n], [1_110n]]);
  });

  it('of a lapse that is charged is assumed, until a late settlement takes its place', async () => {
    make({ onExpiry: 'charge' });
    const root = driver.state.treeId;
    const known = driver.hold(root, 1_000, { ttlMs: 1_000 });
    const byUsage = driver.hold(root, 0, { call: callOf('openai/gpt-4o'), ttlMs: 1_000 });
    driver.hold(root, 10, { ttlMs: 1_000 });
    driver.advance(60_000);
    driver.recordLapses();
    driver.nowMs = DECEMBER.fromMs;
    driver.run(driver.make.settle(known, 300));
    settleBy(byUsage, 10, 1);
    await keep(driver);
    expect(await spendOf(NOVEMBER)).toEqual({
      models: [],
      others: [{ unit: 'USD', kind: 'estimate', count: 3n, micros: 1_000n + 3_500n + 10n }],
    });
    expect(await spendOf(DECEMBER)).toMatchObject({
      models: [{ model: 'gpt-4o', micros: 35n }],
      others: [
        { kind: 'amount', count: 1n, micros: 300n },
        { kind: 'estimate', count: 0n, micros: -4_500n },
      ],
    });
  });

  it('of holds that lapse and go back is nothing', async () => {
    make();
    driver.hold(driver.state.treeId, 1_000, { ttlMs: 1_000 });
    driver.advance(60_000);
    driver.recordLapses();
    await keep(driver);
    expect(await spendOf(EVER)).toEqual({ models: [], others: [] });
  });

  it('moves what the counters of the root moved by, in any story', async () => {
    for (const story of fc.sample(arbitraryStory(40), { numRuns: 12, seed: 20_261_130 })) {
      treeCount += 1;
      const told = tellStory(story).driver;
      const { settled, overrun } = told.balances('t');
      const treeId = tree(`story-${treeCount}`);
      await appendTo(store, epoch, { treeId, expected: NO_HEAD, entries: told.journal });
      const { others } = await onReads((client) => readSpend(client, { ...EVER, tree: treeId }));
      const reported = told.journal.flatMap((entry) => (entry.type === 'Settled' ? (entry.actualMicros ?? []) : []));
      const amount = others.find(({ kind }) => kind === 'amount');
      expect(amount?.micros ?? 0n).toBe(reported.reduce((sum, micros) => sum + micros, 0n));
      expect(amount?.count ?? 0n).toBe(BigInt(reported.length));
      expect(others.reduce((sum, { micros }) => sum + micros, 0n)).toBe(settled + overrun);
    }
  });

  it('past int64 and past what a double holds is exact', async () => {
    make({ limits: 9_000_000_000_000_000_000n });
    for (let count = 0; count < 2; count += 1) {
      const id = driver.hold(driver.state.treeId, 4_000_000_000_000_000_001n);
      driver.run(driver.make.settle(id, 4_000_000_000_000_000_001n));
    }
    const last = driver.journal.at(-1);
    if (last?.type !== 'Settled') throw new Error('not settled');
    for (const seq of [1, 2]) driver.journal.push({ ...last, seq: last.seq + seq, key: undefined });
    await keep(driver);
    expect((await spendOf(EVER)).others).toMatchObject([{ kind: 'amount', micros: 16_000_000_000_000_000_004n }]);
  });

  it('of all trees is one sum a unit, whether they are projected or not', async () => {
    const own = await createDatabase();
    const ownStore = await createPostgresStore({ url: own.url });
    try {
      const ownEpoch = (await ownStore.holdWriterLease('test', '', undefined, 3_600_000)).epoch;
      for (const [id, unit, isProjected] of [
        ['a', 'USD', true],
        ['b', 'USD', false],
        ['c', 'credits', false],
      ] as const) {
        const each = new KernelDriver(id);
        each.run(each.make.create(id, { limits: 1_000, unit }));
        each.run(each.make.settle(each.hold(id, 100), 100));
        await appendTo(ownStore, ownEpoch, { treeId: each.state.treeId, expected: NO_HEAD, entries: each.journal });
        if (isProjected) await ownStore.project([{ treeId: each.state.treeId, entries: each.journal }]);
      }
      const spend = await withSpendReads(own.url, (client) => readSpend(client, { ...EVER, tree: undefined }));
      expect(spend.others).toEqual([
        { unit: 'USD', kind: 'amount', count: 2n, micros: 200n },
        { unit: 'credits', kind: 'amount', count: 1n, micros: 100n },
      ]);
      expect(
        await withSpendReads(own.url, (client) =>
          Promise.all([hasTree(client, tree('b')), hasTree(client, tree('d'))]),
        ),
      ).toEqual([true, false]);
    } finally {
      await ownStore.close();
      await own.drop();
    }
  });
});

describe('estimates', () => {
  it('are beside what the reservation cost in all, per share of it', async () => {
    make();
    settleBy(hold('openai/gpt-4o'), 1_000, 100);
    settleBy(hold('openai/gpt-4o'), 1_000, 100);
    settleBy(hold('openai/gpt-4o'), 10, 1);
    settleBy(hold('openai/gpt-4o'), 1_000, 101);
    const parts = hold('openai/gpt-4o');
    settleBy(parts, 400, 100, { keepOpen: true });
    settleBy(parts, 600, 0);
    // Neither a part, nor what is settled by amount, is a call that can be judged.
    settleBy(hold('openai/gpt-4o'), 1, 1, { keepOpen: true });
    driver.run(driver.make.settle(hold('openai/gpt-4o'), 3));
    settleBy(hold('local/free'), 1_000, 100);
    await keep(driver);
    const model = { unit: 'USD', provider: 'openai', model: 'gpt-4o' };
    const none = { passedCount: 0n, wideCount: 0n, overrunCount: 0n };
    expect(await estimatesOf()).toEqual([
      {
        ...{ unit: 'USD', provider: 'local', model: 'free', permille: 1_000n, count: 1n },
        ...{ estimateMicros: 0n, actualMicros: 0n, ...none },
      },
      { ...model, permille: 10n, count: 1n, estimateMicros: 3_500n, actualMicros: 35n, ...none, wideCount: 1n },
      { ...model, permille: 1_000n, count: 3n, estimateMicros: 10_500n, actualMicros: 10_500n, ...none },
      { ...model, permille: 1_003n, count: 1n, estimateMicros: 3_500n, actualMicros: 3_510n, ...none, passedCount: 1n },
    ]);
    expect((await estimatesOf(EVER, 500n)).map(({ permille, count }) => [permille, count])).toEqual([
      [1_000n, 1n],
      [10n, 1n],
      [500n, 4n],
    ]);
    expect(await estimatesOf(DECEMBER)).toEqual([]);
  });

  it('tell a cost above an estimate, also of nothing, and what passed a ceiling', async () => {
    make({ limits: 3_500n });
    settleBy(hold('openai/gpt-4o'), 1_200, 200);
    const free = hold('local/free');
    settleBy(free, 1, 1);
    const settled = driver.journal.at(-1);
    if (settled?.type !== 'Settled') throw new Error('not settled');
    const figures = { ...settled.figures, settledMicros: 5n };
    driver.journal.splice(-1, 1, { ...settled, figures });
    await keep(driver);
    expect(await estimatesOf()).toMatchObject([
      { model: 'free', permille: 100_000n, passedCount: 1n, overrunCount: 0n },
      {
        model: 'gpt-4o',
        permille: 1_429n,
        estimateMicros: 3_500n,
        actualMicros: 5_000n,
        passedCount: 1n,
        overrunCount: 1n,
      },
    ]);
  });
});

describe('the reads', () => {
  it('can change nothing', async () => {
    const write = (sql: Sql) => sql`INSERT INTO budgetd.personal VALUES ('x', 1, '', '', '{}')`;
    await expect(onReads((client) => client.run(write))).rejects.toMatchObject({ cause: { code: '25006' } });
  });

  it('look into the partitions of their months only, and find the rows of one tree by its key', async () => {
    const sql = postgres(database.url, {
      max: 1,
      fetch_types: false,
      onnotice: () => undefined,
      connection: { role: SERVICE_ROLE } as object,
    });
    const scanned: string[] = [];
    try {
      await sql`SELECT set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false)`;
      const before = new Date();
      const fromMs = Date.UTC(before.getUTCFullYear(), before.getUTCMonth() + 1);
      const untilMs = Date.UTC(before.getUTCFullYear(), before.getUTCMonth() + 2);
      await sql.begin(async (tx) => {
        await readSpend(
          { run: (query) => query(tx as unknown as Sql) },
          { fromMs, untilMs, tree: driver.state.treeId },
        );
        const tables = await tx<{ name: string; whole: number; by_index: number }[]>`
          SELECT relname AS name, seq_scan::integer AS whole, coalesce(idx_scan, 0)::integer AS by_index
          FROM pg_stat_xact_user_tables WHERE schemaname = 'budgetd' AND relname LIKE 'journal_%'`;
        for (const { name, whole, by_index: byIndex } of tables) {
          expect([name, whole]).toEqual([name, 0]);
          if (byIndex > 0) scanned.push(name);
        }
      });
      const month = new Date(fromMs).toISOString().slice(0, 7).replace('-', 'm');
      const next = new Date(untilMs).toISOString().slice(0, 7).replace('-', 'm');
      // The month after it may hold the row of the last entries.
      expect(scanned.sort()).toEqual([`journal_y${month}`, `journal_y${next}`]);
    } finally {
      await sql.end();
    }
  });
});
