// A leader whose price book is not there: what needs a price is refused with a reason, and everything else goes on, so that no tree
// waits for what it may not need.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import { startCoordinator } from '../../../src/lane/create-coordinator.ts';
import { encodePrices, hashedRow } from '../../../src/lane/price-records.ts';
import { createMemoryStore, type MemoryStore } from '../../../src/store/memory-store.ts';
import { type Store, StoreUnavailableError } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { callOf, testRow, usageOf } from '../../support/test-prices.ts';

const GRACE_MS = 5_000;

function open(store: Store, logged: string[] = []) {
  return startCoordinator({
    store,
    log: (level, message) => void logged.push(`${level}: ${message}`),
    address: 'here:1',
    graceMs: GRACE_MS,
    reaper: false,
  });
}

/** A store with one model in its book, a tree, a hold by amount and one by a call, left by the leader before. */
async function left(ttlMs?: number) {
  const store = createMemoryStore();
  const row = hashedRow(testRow('openai/gpt-4o', { input: 2_500_000n, output: 10_000_000n }));
  await store.addPrices(store.database.lease.epoch, encodePrices({ rows: [row] }));
  const first = await open(store);
  const make = new Commands('t');
  const kept = ttlMs === undefined ? {} : { ttlMs };
  await first.submit(make.create('t', { limits: 100_000 }));
  const byAmount = granted(await first.submit(make.reserve('t', 10, kept))).reservation.id;
  const priced = make.reserve('t', 0, { ...kept, call: callOf('openai/gpt-4o'), key: 'priced' });
  const byCall = granted(await first.submit(priced)).reservation.id;
  await first.stop();
  return { store, make, byAmount, byCall, priced };
}

function spoil({ database }: MemoryStore): () => void {
  const record = {
    kind: 'row',
    hash: 'x',
    body: '["price-row-2"]',
    origin: 'operator',
    addedBy: 'x',
    addedMs: 1,
  } as const;
  database.prices.set('row x', record);
  return () => void database.prices.delete('row x');
}

const outcome = (answer: Answer): string => (answer.kind === 'refusal' ? answer.reason : answer.kind);

afterEach(() => void vi.restoreAllMocks());

describe('a leader whose book', () => {
  it('can not be read decides all that needs no price, and refuses the rest with PRICE_UNKNOWN', async () => {
    const { store, make, byAmount, byCall, priced } = await left();
    spoil(store);
    const logged: string[] = [];
    const leader = await open(store, logged);
    expect(leader.status()).toMatchObject({ serving: true, leader: true });
    expect(leader.prices.status()).toMatchObject({ loaded: false, problem: expect.stringContaining('row x') });
    expect(logged.join('\n')).toContain('error: the price book could not be read at once');
    const why = { reason: 'PRICE_UNKNOWN', budget: 't', unpriced: { why: 'book_unreadable' } };
    const call = callOf('openai/gpt-4o');
    expect(refused(await leader.submit(make.reserve('t', 0, { call })))).toMatchObject(why);
    expect(refused(await leader.submit(make.extend(byCall, 0, { call })))).toMatchObject(why);
    expect(refused(await leader.submit(make.settle(byCall, undefined, { usage: usageOf(10, 10) })))).toMatchObject(why);
    // What was granted by then is said again, with its price.
    expect(granted(await leader.submit(priced))).toMatchObject({ replayed: true, reservation: { id: byCall } });
    expect(outcome(await leader.submit(make.reserve('t', 1)))).toBe('reservation');
    expect(outcome(await leader.submit(make.renew(byCall, 60_000)))).toBe('renewals');
    expect(outcome(await leader.submit(make.settle(byAmount, 5)))).toBe('reservation');
    expect(outcome(await leader.submit(make.settle(byCall, 7)))).toBe('reservation');
    expect(outcome(await leader.submit(make.getBudget('t')))).toBe('budget');
    expect(leader.prices.status()).toMatchObject({ unknownCount: 2, unknown: [] });
    await leader.stop();
  });

  it('is not read yet refuses what needs a price for a moment only, writes that nowhere, and does not keep others', async () => {
    const { store, make, byAmount } = await left();
    let isAway = true;
    const leader = await open({
      ...store,
      loadPrices: () => (isAway ? Promise.reject(new StoreUnavailableError('away')) : store.loadPrices()),
    });
    const { seq } = store.database.tree('t' as never).head;
    const reserve = make.reserve('t', 0, { call: callOf('openai/gpt-4o'), key: 'k' });
    expect(refused(await leader.submit(reserve))).toMatchObject({ reason: 'STORE_UNAVAILABLE', retryAfterMs: 1_000 });
    expect(store.database.tree('t' as never).head.seq).toBe(seq);
    expect(outcome(await leader.submit(make.settle(byAmount, 5)))).toBe('reservation');
    isAway = false;
    await expect.poll(() => leader.prices.status().loaded).toBe(true);
    expect(granted(await leader.submit(reserve)).reservation.figures.heldMicros).toBe(3_500n);
    await leader.stop();
  });
});

it('leases that run out while a start waits for the book have their grace', async () => {
  const { store, make, byAmount } = await left(1_000);
  const real = performance.now.bind(performance);
  let aheadMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => real() + aheadMs);
  const leader = await open({
    ...store,
    loadPrices: async () => {
      aheadMs += 3_000;
      return store.loadPrices();
    },
  });
  const renewed = granted(await leader.submit(make.renew(byAmount, 10_000))).reservation.figures;
  expect(renewed.state).toBe('ACTIVE');
  await leader.stop();
});
