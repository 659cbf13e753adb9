// Which no, whose no (DESIGN, section 5): one order of reasons, the tightest budget named, ties to the root, RetryInfo only
// where every failing limit can recover by waiting.
import { describe, expect, it } from 'vitest';
import type { Reason } from '../../../src/kernel/refusal.ts';
import { budgetOf, granted, KernelDriver, refused } from '../../support/kernel-driver.ts';

interface Level {
  readonly amount: number;
  readonly settled?: number;
  readonly held?: number;
}

interface Expected {
  readonly reason: Reason;
  readonly budget: string;
  readonly availableMicros?: bigint;
  readonly retry: boolean;
}

// Spends and holds on each level's own account, leaf first, so that ancestors carry the sums of what is below.
function tree(levels: readonly Level[]): { driver: KernelDriver; leaf: string } {
  const driver = new KernelDriver('p');
  const paths = levels.map((_, depth) => ['p', ...Array.from({ length: depth }, () => 'c')].join('/'));
  levels.forEach(({ amount }, i) => {
    driver.run(driver.make.create(paths[i] as string, { limits: amount }));
  });
  levels.forEach(({ settled = 0, held = 0 }, i) => {
    const path = paths[i] as string;
    if (settled > 0) driver.run(driver.make.settle(driver.hold(path, settled), settled));
    if (held > 0) driver.hold(path, held);
  });
  return { driver, leaf: paths.at(-1) as string };
}

const table: readonly (readonly [string, readonly Level[], number, Expected])[] = [
  ['more than an amount', [{ amount: 100 }], 101, { reason: 'EXCEEDS_LIMIT', budget: 'p', retry: false }],
  ['spend in the way', [{ amount: 100, settled: 90 }], 11, { reason: 'BUDGET_EXHAUSTED', budget: 'p', retry: false }],
  ['holds in the way', [{ amount: 100, held: 90 }], 11, { reason: 'CAPACITY_HELD', budget: 'p', retry: true }],
  [
    'spend and holds, spend alone enough',
    [{ amount: 100, settled: 60, held: 30 }],
    41,
    { reason: 'BUDGET_EXHAUSTED', budget: 'p', availableMicros: 10n, retry: false },
  ],
  [
    'spend and holds, spend alone not enough',
    [{ amount: 100, settled: 60, held: 30 }],
    40,
    { reason: 'CAPACITY_HELD', budget: 'p', availableMicros: 10n, retry: true },
  ],
  [
    'never fits before exhausted, even nearer the leaf',
    [{ amount: 100, settled: 90 }, { amount: 50 }],
    60,
    { reason: 'EXCEEDS_LIMIT', budget: 'p/c', retry: false },
  ],
  [
    'exhausted before held, even where held is tighter',
    [
      { amount: 100, settled: 70 },
      { amount: 50, held: 30 },
    ],
    31,
    { reason: 'BUDGET_EXHAUSTED', budget: 'p', availableMicros: 0n, retry: false },
  ],
  [
    'the tightest among several held',
    [
      { amount: 100, held: 10 },
      { amount: 60, held: 30 },
      { amount: 25, held: 10 },
    ],
    25,
    { reason: 'CAPACITY_HELD', budget: 'p/c/c', availableMicros: 15n, retry: true },
  ],
  [
    'equally tight: nearest the root',
    [{ amount: 60 }, { amount: 60 }, { amount: 60, held: 50 }],
    11,
    { reason: 'CAPACITY_HELD', budget: 'p', availableMicros: 10n, retry: true },
  ],
  [
    'several that can never fit: the smallest amount',
    [{ amount: 50 }, { amount: 40 }, { amount: 45 }],
    60,
    { reason: 'EXCEEDS_LIMIT', budget: 'p/c', retry: false },
  ],
  ['a limit of zero', [{ amount: 0 }], 1, { reason: 'EXCEEDS_LIMIT', budget: 'p', availableMicros: 0n, retry: false }],
];

describe('the reason and the budget named', () => {
  it.each(table)('%s', (_, levels, min, { retry, ...expected }) => {
    const { driver, leaf } = tree(levels);
    const before = driver.balances(leaf);
    const refusal = refused(driver.run(driver.make.reserve(leaf, min)));
    expect(refusal).toMatchObject({ ...expected, limit: 'lifetime', requestedMicros: BigInt(min) });
    expect(refusal.retryAfterMs !== undefined).toBe(retry);
    expect(driver.balances(leaf)).toEqual(before);
  });
});

describe('failing limits', () => {
  it('are named tightest first, and only those that fail', () => {
    const { driver, leaf } = tree([{ amount: 100, held: 60 }, { amount: 1_000 }, { amount: 35, held: 20 }]);
    // p has 20 left, p/c 980, p/c/c 15.
    const { failing } = refused(driver.run(driver.make.reserve(leaf, 21)));
    expect(failing).toEqual([
      { budget: 'p/c/c', limit: 'lifetime', amountMicros: 35n, availableMicros: 15n },
      { budget: 'p', limit: 'lifetime', amountMicros: 100n, availableMicros: 20n },
    ]);
  });

  it('name sixteen at the most', () => {
    const driver = new KernelDriver();
    const limits = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`l${i}`, 100 - i]));
    driver.run(driver.make.create('t', { limits }));
    const { failing, limit } = refused(driver.run(driver.make.reserve('t', 200)));
    expect(failing).toHaveLength(16);
    expect(failing?.[0]).toMatchObject({ limit: 'l19', amountMicros: 81n });
    expect(limit).toBe('l19');
  });

  it('that can all recover give RetryInfo; one that cannot takes it away', () => {
    const { driver, leaf } = tree([{ amount: 100, held: 90 }, { amount: 20 }]);
    expect(refused(driver.run(driver.make.reserve(leaf, 15))).retryAfterMs).toBeGreaterThan(0);
    driver.run(driver.make.settle(driver.hold(leaf, 8), 8));
    expect(refused(driver.run(driver.make.reserve(leaf, 15)))).toMatchObject({
      reason: 'BUDGET_EXHAUSTED',
      budget: leaf,
    });
    expect(refused(driver.run(driver.make.reserve(leaf, 15))).retryAfterMs).toBeUndefined();
  });
});

describe('limits that are past their amounts', () => {
  // p: 0 available of -5, p/c: 0 of -15.
  function pastBoth(): { driver: KernelDriver; first: string; second: string } {
    const driver = new KernelDriver('p');
    driver.run(driver.make.create('p', { limits: 100 }));
    driver.run(driver.make.create('p/c', { limits: 100 }));
    const [first, second] = [driver.hold('p/c', 12), driver.hold('p/c', 33)];
    driver.run(driver.make.update('p', { limits: 40 }));
    driver.run(driver.make.update('p/c', { limits: 30 }));
    return { driver, first, second };
  }

  it('are equal, as nothing is available: the one nearest the root is named', () => {
    const { driver } = pastBoth();
    expect(refused(driver.run(driver.make.reserve('p/c', 1)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 'p',
      availableMicros: 0n,
      failing: [{ budget: 'p' }, { budget: 'p/c' }],
    });
    const named = { micros: 0n, budget: 'p', limit: 'lifetime' };
    expect(budgetOf(driver.run(driver.make.getBudget('p/c'))).headroom).toEqual(named);
    expect(granted(driver.run(driver.make.reserve('p/c', 0))).headroom).toEqual(named);
  });

  it('are told apart by what is left afterwards, and amounts are reckoned with the one furthest past', () => {
    const { driver, first, second } = pastBoth();
    // p: 7 available, p/c: 0 of -3.
    const released = granted(driver.run(driver.make.release(first)));
    expect(released.headroom).toEqual({ micros: 0n, budget: 'p/c', limit: 'lifetime' });
    // 33 held, 40 spent: nothing beyond the hold is covered, though p alone had 7.
    const { figures } = granted(driver.run(driver.make.settle(second, 40))).reservation;
    expect(figures).toMatchObject({ settledMicros: 33n, overrunMicros: 7n });
  });

  it('are equal to those that are wholly spent', () => {
    const { driver, leaf } = tree([{ amount: 50, settled: 50 }, { amount: 50 }]);
    driver.run(driver.make.settle(driver.hold(leaf, 0), 20));
    driver.run(driver.make.update('p', { limits: 70 }));
    driver.run(driver.make.update(leaf, { limits: 10 }));
    // p: 0, spent to the last unit; p/c: 20 over its 10.
    expect(refused(driver.run(driver.make.reserve(leaf, 5)))).toMatchObject({
      reason: 'BUDGET_EXHAUSTED',
      budget: 'p',
      failing: [{ budget: 'p' }, { budget: 'p/c' }],
    });
  });
});

describe('several limits on one budget', () => {
  it('all apply: the tightest is named, of equals the one listed first', () => {
    const driver = new KernelDriver('p');
    driver.run(driver.make.create('p', { limits: { a: 100, b: 40, c: 40 } }));
    expect(granted(driver.run(driver.make.reserve('p', 500, { min: 1 }))).reservation.figures.grantedMicros).toBe(40n);
    expect(refused(driver.run(driver.make.reserve('p', 41)))).toMatchObject({ reason: 'EXCEEDS_LIMIT', limit: 'b' });
    expect(refused(driver.run(driver.make.reserve('p', 1)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      limit: 'b',
      failing: [{ limit: 'b' }, { limit: 'c' }],
    });
  });
});

describe('the unit', () => {
  it('comes with every amount and with nothing else', () => {
    const driver = new KernelDriver('p');
    driver.run(driver.make.create('p', { limits: 10, unit: 'INR' }));
    driver.hold('p', 8);
    expect(refused(driver.run(driver.make.reserve('p', 11)))).toMatchObject({ reason: 'EXCEEDS_LIMIT', unit: 'INR' });
    expect(refused(driver.run(driver.make.reserve('p', 5)))).toMatchObject({ reason: 'CAPACITY_HELD', unit: 'INR' });
    driver.run(driver.make.suspend('p'));
    expect(refused(driver.run(driver.make.reserve('p', 5))).unit).toBeUndefined();
  });
});

describe('before money', () => {
  function steps() {
    const { driver, leaf } = tree([{ amount: 10 }, { amount: 10 }, { amount: 10 }]);
    return { driver, leaf, reason: () => refused(driver.run(driver.make.reserve(leaf, 99))) };
  }

  it('comes closed, before it suspended nearest the root, before it existence', () => {
    const { driver, leaf, reason } = steps();
    expect(reason()).toMatchObject({ reason: 'EXCEEDS_LIMIT' });
    driver.run(driver.make.close(leaf));
    expect(reason()).toMatchObject({ reason: 'BUDGET_CLOSED', budget: leaf });
    driver.run(driver.make.close('p'));
    expect(reason()).toMatchObject({ reason: 'BUDGET_CLOSED', budget: 'p' });
    driver.run(driver.make.suspend(leaf));
    expect(reason()).toMatchObject({ reason: 'BUDGET_SUSPENDED', budget: leaf });
    driver.run(driver.make.suspend('p/c'));
    expect(reason()).toMatchObject({ reason: 'BUDGET_SUSPENDED', budget: 'p/c' });
    driver.run(driver.make.resume('p/c'));
    expect(reason()).toMatchObject({ reason: 'BUDGET_SUSPENDED', budget: leaf });
    expect(refused(driver.run(driver.make.reserve('p/ghost', 99)))).toMatchObject({ reason: 'BUDGET_NOT_FOUND' });
  });

  it('comes the reservation before the budget', () => {
    const { driver, leaf } = steps();
    const done = driver.hold(leaf, 1);
    driver.run(driver.make.settle(done, 1));
    const live = driver.hold(leaf, 1);
    driver.run(driver.make.suspend('p'));
    driver.run(driver.make.close('p'));
    const { make } = driver;
    expect(refused(driver.run(make.extend('nowhere000', 99)))).toMatchObject({ reason: 'RESERVATION_NOT_FOUND' });
    expect(refused(driver.run(make.extend(done, 99)))).toMatchObject({ reason: 'RESERVATION_SETTLED' });
    expect(refused(driver.run(make.extend(live, 99)))).toMatchObject({ reason: 'BUDGET_SUSPENDED', budget: 'p' });
    driver.run(make.resume('p'));
    expect(refused(driver.run(make.extend(live, 99)))).toMatchObject({ reason: 'BUDGET_CLOSED', budget: 'p' });
    driver.advance(60_000);
    expect(refused(driver.run(make.extend(live, 99)))).toMatchObject({ reason: 'LEASE_EXPIRED' });
  });
});
