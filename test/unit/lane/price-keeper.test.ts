// The book as a leader keeps it: nothing before it is read, the catalogue once and additively, additions that are durable before they
// count, and what happens where the store is away or somebody else leads.
import { describe, expect, it } from 'vitest';
import type { Refusal } from '../../../src/kernel/refusal.ts';
import type { PriceCatalogue } from '../../../src/lane/catalogue-import.ts';
import { rowAddition } from '../../../src/lane/price-additions.ts';
import type { PriceKeeper } from '../../../src/lane/price-keeper.ts';
import { hashedRow } from '../../../src/lane/price-records.ts';
import type { PriceSnapshot } from '../../../src/lane/prices.ts';
import type { PriceRow } from '../../../src/pricing/price-row.ts';
import { createMemoryStore, type MemoryStore } from '../../../src/store/memory-store.ts';
import { StoreUnavailableError } from '../../../src/store/port.ts';
import { memoryPrices } from '../../support/memory-prices.ts';

const NOW_MS = 1_796_083_200_000;
const DAY_MS = 86_400_000;

const catalogue = (version: string, input: number): PriceCatalogue => ({
  name: 'list',
  version,
  data: [
    {
      id: 'openai',
      models: [
        {
          id: 'gpt-4o',
          match: { or: [{ equals: 'gpt-4o' }, { equals: '4o' }] },
          prices: { input_mtok: input, output_mtok: 10 },
        },
        { id: 'empty', match: { equals: 'empty' }, prices: {} },
      ],
    },
  ],
});

const operatorRow = (input: bigint, more: Partial<PriceRow> = {}) =>
  hashedRow({
    provider: 'openai',
    model: 'gpt-4o',
    effectiveFromMs: NOW_MS,
    aboveInputTokens: 0,
    rates: { input, output: 1_000n },
    fees: {},
    mark: 'priced',
    unit: 'USD',
    source: 'contract',
    addedBy: 'ops',
    addedMs: NOW_MS,
    origin: 'operator',
    flags: [],
    ...more,
  });

const add = (keeper: PriceKeeper, row = operatorRow(7_000n)) =>
  keeper.change(() => ({ added: { rows: [row] }, answer: 'added' as const }));

function snapshotOf(keeper: PriceKeeper): PriceSnapshot {
  const read = keeper.read();
  if ('kind' in read) throw new TypeError(`refused: ${read.reason}`);
  return read;
}

const reasonOf = (value: unknown): string | undefined => (value as Partial<Refusal>).reason;
const inputRate = (keeper: PriceKeeper) =>
  snapshotOf(keeper).book.priceSet('openai', 'gpt-4o', NOW_MS + DAY_MS)?.rows[0]?.rates.input;

async function led(store: MemoryStore, options: Parameters<typeof memoryPrices>[0] = {}): Promise<PriceKeeper> {
  store.database.lease = { ...store.database.lease, epoch: store.database.lease.epoch + 1 };
  const keeper = memoryPrices({ store, ...options });
  await keeper.settled();
  return keeper;
}

describe('a lead', () => {
  it('has no epoch until the book is read', async () => {
    const store = createMemoryStore();
    const keeper = memoryPrices({ store });
    expect(keeper.epoch).toBeUndefined();
    expect(reasonOf(keeper.read())).toBe('STORE_UNAVAILABLE');
    expect(keeper.book).toMatchObject({ kind: 'unpriced', reason: 'STORE_UNAVAILABLE' });
    expect(keeper.status().loaded).toBe(false);
    await keeper.settled();
    expect(keeper.epoch).toBe(0);
    expect(snapshotOf(keeper).book.rows).toEqual([]);
    keeper.lose();
    expect(keeper.epoch).toBeUndefined();
    expect(keeper.read()).toMatchObject({ reason: 'NOT_LEADER', leaderAddress: 'there:1' });
    expect(reasonOf(await add(keeper))).toBe('NOT_LEADER');
    expect(await store.loadPrices()).toEqual([]);
  });

  it('reads what another leader has added meanwhile', async () => {
    const store = createMemoryStore();
    const first = await led(store);
    const second = await led(store);
    expect(await add(second)).toBe('added');
    expect(inputRate(first)).toBeUndefined();
    store.database.lease = { ...store.database.lease, epoch: 9 };
    first.lead(9);
    expect(first.epoch).toBeUndefined();
    await first.settled();
    expect(inputRate(first)).toBe(7_000n);
  });

  it('tries again until the store answers', async () => {
    const store = createMemoryStore();
    store.faults.isDown = true;
    let wake = (): void => undefined;
    const slept = () => new Promise<void>((resolve) => (wake = resolve));
    const logged: string[] = [];
    const keeper = memoryPrices({
      store,
      sleep: slept,
      log: (level, message) => void logged.push(`${level}: ${message}`),
    });
    await keeper.settled();
    expect(keeper.epoch).toBeUndefined();
    expect(logged).toEqual(['warn: the price book could not be read at once; it is tried again']);
    store.faults.isDown = false;
    wake();
    await new Promise((resolve) => setImmediate(resolve));
    await keeper.settled();
    expect(keeper.epoch).toBe(0);
  });

  it('prices nothing by a book that can not be read as it was written, says so, and tries again', async () => {
    const store = createMemoryStore();
    const writer = await led(store);
    await add(writer);
    const [[key, record]] = [...store.database.prices] as [
      [string, typeof store.database.prices extends Map<string, infer R> ? R : never],
    ];
    store.database.prices.set(key, { ...record, body: record.body.replace('7000', '8000') });
    const errors: unknown[] = [];
    const pausesMs: number[] = [];
    let wake = (): void => undefined;
    const keeper = await led(store, {
      log: (level, _, fields) => void errors.push(`${level} ${String(fields?.['error'])}`),
      sleep: (ms) => new Promise<void>((resolve) => (wake = resolve)).finally(() => pausesMs.push(ms)),
    });
    const what = /CorruptPriceError.*does not say what this program wrote/;
    expect(keeper.epoch).toBeUndefined();
    expect(errors).toEqual([expect.stringMatching(/^error .*does not say what this program wrote/)]);
    expect(keeper.book).toMatchObject({ kind: 'unpriced', reason: 'PRICE_UNKNOWN', why: 'book_unreadable' });
    expect(keeper.read()).toMatchObject({ reason: 'PRICE_UNKNOWN', unpriced: { why: 'book_unreadable' } });
    expect(reasonOf(await add(keeper))).toBe('PRICE_UNKNOWN');
    expect(keeper.status()).toMatchObject({ loaded: false, problem: expect.stringMatching(what) });
    store.database.prices.set(key, record);
    wake();
    await new Promise((resolve) => setImmediate(resolve));
    await keeper.settled();
    expect(inputRate(keeper)).toBe(7_000n);
    expect(keeper.status()).toMatchObject({ loaded: true, problem: undefined });
  });
});

describe('the catalogue', () => {
  it('is imported from now on, once, with what it left out', async () => {
    const store = createMemoryStore();
    const first = await led(store, { catalogue: catalogue('1.0.0', 2.5), nowMs: () => NOW_MS });
    expect(inputRate(first)).toBe(2_500_000n);
    expect(snapshotOf(first).book.priceSet('openai', 'gpt-4o', NOW_MS - 1)).toBeUndefined();
    expect(snapshotOf(first).book.resolve('openai', '4o')).toEqual({ provider: 'openai', model: 'gpt-4o' });
    expect(first.status()).toMatchObject({
      loaded: true,
      catalogue: { name: 'list', version: '1.0.0', importedMs: NOW_MS },
      rowCount: 1,
      aliasCount: 1,
      notes: [{ model: 'empty', reason: 'empty_record' }],
    });
    const before = await store.loadPrices();
    const second = await led(store, { catalogue: catalogue('1.0.0', 2.5), nowMs: () => NOW_MS + DAY_MS });
    expect(await store.loadPrices()).toEqual(before);
    expect(second.status().catalogue?.importedMs).toBe(NOW_MS);
    expect(second.status().notes).toHaveLength(1);
  });

  it('of a newer version adds, and an older one then adds nothing', async () => {
    const store = createMemoryStore();
    await led(store, { catalogue: catalogue('1.9.0', 2.5), nowMs: () => NOW_MS });
    const newer = await led(store, { catalogue: catalogue('1.10.0', 3), nowMs: () => NOW_MS + 5 });
    expect(inputRate(newer)).toBe(3_000_000n);
    expect(snapshotOf(newer).book.priceSet('openai', 'gpt-4o', NOW_MS + 4)?.rows[0]?.rates.input).toBe(2_500_000n);
    const before = await store.loadPrices();
    const older = await led(store, { catalogue: catalogue('1.9.0', 2.5), nowMs: () => NOW_MS + 9 });
    expect(await store.loadPrices()).toEqual(before);
    expect(inputRate(older)).toBe(3_000_000n);
    expect(older.status().catalogue?.version).toBe('1.10.0');
  });

  it("does not win over an operator's row, at no restart", async () => {
    const store = createMemoryStore();
    const first = await led(store, { catalogue: catalogue('1.0.0', 2.5) });
    expect(await add(first)).toBe('added');
    for (const version of ['1.0.0', '1.0.1']) {
      const next = await led(store, { catalogue: catalogue(version, 99) });
      expect(inputRate(next)).toBe(7_000n);
    }
  });

  it('is stale past its age', async () => {
    const store = createMemoryStore();
    let nowMs = NOW_MS;
    const keeper = await led(store, { catalogue: catalogue('1.0.0', 2.5), nowMs: () => nowMs, staleAfterMs: DAY_MS });
    nowMs += DAY_MS;
    expect(keeper.status()).toMatchObject({ catalogueAgeMs: DAY_MS, stale: false });
    nowMs += 1;
    expect(keeper.status().stale).toBe(true);
  });
});

describe('an addition', () => {
  it('waits for those before it, and sees them', async () => {
    const keeper = await led(createMemoryStore());
    const seen = (row: ReturnType<typeof operatorRow>) =>
      keeper.change(({ book }) => ({ added: { rows: [row] }, answer: book.rows.length }));
    expect(await Promise.all([seen(operatorRow(5_000n)), seen(operatorRow(6_000n)), add(keeper)])).toEqual([
      0,
      1,
      'added',
    ]);
  });

  it('of a writer that was replaced is refused, and it hears of it', async () => {
    const store = createMemoryStore();
    const fenced: number[] = [];
    const keeper = await led(store, { onFenced: (epoch) => void fenced.push(epoch) });
    store.database.lease = { ...store.database.lease, epoch: 5 };
    expect(reasonOf(await add(keeper))).toBe('NOT_LEADER');
    // Also where there is nothing to add.
    expect(reasonOf(await keeper.change(() => ({ added: {}, answer: 1 })))).toBe('NOT_LEADER');
    expect(fenced).toEqual([1, 1]);
    expect(snapshotOf(keeper).book.rows).toEqual([]);
  });

  it('whose answer was lost is read from the store, and a repeat finds it', async () => {
    const store = createMemoryStore();
    let wake = (): void => undefined;
    const keeper = await led(store, { sleep: () => new Promise<void>((resolve) => (wake = resolve)) });
    const real = store.addPrices;
    store.addPrices = async (epoch, records) => {
      await real(epoch, records);
      throw new StoreUnavailableError('the answer was lost');
    };
    expect(reasonOf(await add(keeper))).toBe('STORE_UNAVAILABLE');
    store.addPrices = real;
    expect(keeper.epoch).toBeDefined();
    expect(snapshotOf(keeper).book.rows).toEqual([]);
    wake();
    await new Promise((resolve) => setImmediate(resolve));
    await keeper.settled();
    expect(inputRate(keeper)).toBe(7_000n);
    expect(await store.loadPrices()).toHaveLength(1);
  });

  it('whose answer was lost is found by its repeat at once, which adds no second record', async () => {
    const store = createMemoryStore();
    let nowMs = NOW_MS;
    const keeper = await led(store, { nowMs: () => nowMs });
    const ask = () =>
      keeper.change((now, addedMs) =>
        rowAddition(now, { ...operatorRow(7_000n), effectiveFromMs: addedMs, addedMs }, true),
      );
    const real = { addPrices: store.addPrices, loadPrices: store.loadPrices };
    store.addPrices = async (epoch, records) => {
      await real.addPrices(epoch, records);
      throw new StoreUnavailableError('the answer was lost');
    };
    expect(reasonOf(await ask())).toBe('STORE_UNAVAILABLE');
    store.addPrices = real.addPrices;
    nowMs += 10;
    store.loadPrices = () => Promise.reject(new StoreUnavailableError('still away'));
    expect(reasonOf(await ask())).toBe('STORE_UNAVAILABLE');
    store.loadPrices = real.loadPrices;
    expect(await ask()).toMatchObject({ effectiveFromMs: NOW_MS });
    expect(await store.loadPrices()).toHaveLength(1);
  });

  it('a fault in one ends no other', async () => {
    const keeper = await led(createMemoryStore());
    const fault = keeper.change(() => {
      throw new RangeError('a fault');
    });
    await expect(fault).rejects.toThrow('a fault');
    expect(await add(keeper)).toBe('added');
  });
});

describe('refusals for want of a price', () => {
  const refusal = (model: string, reason: Refusal['reason'] = 'PRICE_UNKNOWN'): Refusal => ({
    kind: 'refusal',
    reason,
    message: '',
    budget: 'acme',
    unpriced: { provider: 'openai', model },
  });

  it('are counted, and the latest kept by budget and model', async () => {
    const keeper = await led(createMemoryStore());
    for (const model of ['a', 'b', 'a']) keeper.noteRefusal(refusal(model));
    keeper.noteRefusal(refusal('c', 'BUDGET_EXHAUSTED'));
    keeper.noteRefusal({ ...refusal(''), unpriced: { why: 'book_unreadable' } });
    const { unknownCount, unknown } = keeper.status();
    expect(unknownCount).toBe(4);
    expect(unknown.map(({ budget, model, count }) => [budget, model, count])).toEqual([
      ['acme', 'a', 2],
      ['acme', 'b', 1],
    ]);
  });

  it('are few, whatever is asked', async () => {
    const keeper = await led(createMemoryStore());
    for (let index = 0; index < 1_000; index += 1) keeper.noteRefusal(refusal(`m${index}`));
    const { unknownCount, unknown } = keeper.status();
    expect(unknownCount).toBe(1_000);
    expect(unknown).toHaveLength(20);
    expect(unknown[0]?.model).toBe('m999');
  });
});
