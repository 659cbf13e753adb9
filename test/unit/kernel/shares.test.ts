// Floors and shares: what a child has for itself of the limits above it, and the most of them that is used through it.
import { describe, expect, it, test } from 'vitest';
import type { Commands, LimitsOption } from '../../support/commands.ts';
import { budgetOf, granted, KernelDriver, refused } from '../../support/kernel-driver.ts';
import { DAY_MS, HOUR_MS, per, rolling } from '../../support/windows.ts';

type Terms = Parameters<Commands['create']>[1];

/** t with a, which has the terms given, and b, which has none. */
function family(a: Terms, limits: LimitsOption = 100, t: Terms = {}): KernelDriver {
  const driver = new KernelDriver();
  budgetOf(driver.run(driver.make.create('t', { ...t, limits })));
  budgetOf(driver.run(driver.make.create('t/a', { ...a })));
  budgetOf(driver.run(driver.make.create('t/b')));
  return driver;
}

const reserve = (driver: KernelDriver, path: string, max: number, options: Parameters<Commands['reserve']>[2] = {}) =>
  driver.run(driver.make.reserve(path, max, options));
const most = (driver: KernelDriver, path: string, options: Parameters<Commands['reserve']>[2] = {}) =>
  granted(reserve(driver, path, 1_000, { ...options, min: 0, dryRun: true })).reservation.figures.grantedMicros;
const floored = (driver: KernelDriver, path = 't') =>
  budgetOf(driver.run(driver.make.getBudget(path))).standings.map(({ flooredMicros }) => flooredMicros);

describe('a floor', () => {
  it('is kept back from siblings and from the parent itself, and the child sees the whole', () => {
    const driver = family({ floor: 30 });
    expect(['t/a', 't/b', 't'].map((path) => most(driver, path))).toEqual([100n, 70n, 70n]);
    expect(floored(driver)).toEqual([30n]);
    expect(refused(reserve(driver, 't/b', 71))).toMatchObject({
      reason: 'EXCEEDS_LIMIT',
      budget: 't',
      limit: 'lifetime',
      availableMicros: 70n,
      failing: [{ budget: 't', amountMicros: 100n, availableMicros: 70n }],
    });
    driver.hold('t/b', 70);
    expect(driver.hold('t/a', 30)).toBeDefined();
  });

  it('shrinks by what the child uses, whether held, settled or overrun, and comes back with a hold', () => {
    const driver = family({ floor: 30, limits: 40 });
    const id = driver.hold('t/a', 20);
    expect([most(driver, 't/b'), floored(driver)]).toEqual([70n, [10n]]);
    driver.run(driver.make.settle(id, 45));
    // 40 settled and 5 overrun, of which nothing is left to keep.
    expect(driver.balances('t/a')).toMatchObject({ settled: 40n, overrun: 5n });
    expect([most(driver, 't/b'), floored(driver)]).toEqual([55n, [0n]]);
  });

  it('is told by the same reasons as kept capacity, with a wait where one helps', () => {
    const driver = family({ floor: 30 });
    const id = driver.hold('t/b', 60);
    expect(refused(reserve(driver, 't/b', 20))).toMatchObject({ reason: 'CAPACITY_HELD', retryAfterMs: 1_000 });
    driver.run(driver.make.settle(id, 60));
    const spent = refused(reserve(driver, 't/b', 20));
    expect(spent).toMatchObject({ reason: 'BUDGET_EXHAUSTED', budget: 't', availableMicros: 10n });
    expect(spent.retryAfterMs).toBeUndefined();
    expect(most(driver, 't/a')).toBe(40n);
  });

  it('adds up over children and levels, and with what is kept for urgent work', () => {
    const driver = family({ floor: 30 }, 100, { enforcement: { kept: [{ priority: 'critical', micros: 15n }] } });
    driver.run(driver.make.create('t/c', { floor: 20 }));
    driver.run(driver.make.create('t/a/x', { floor: 25 }));
    driver.run(driver.make.create('t/a/y', {}));
    driver.run(driver.make.update('t/a', { limits: 60 }));
    expect(most(driver, 't/b')).toBe(35n);
    expect(most(driver, 't/b', { priority: 'critical' })).toBe(50n);
    expect(most(driver, 't/a/y')).toBe(35n);
    expect(most(driver, 't/a/x')).toBe(60n);
    expect(most(driver, 't/c')).toBe(55n);
  });

  it('of a child that is given first wins where an amount is lowered below them all', () => {
    const driver = family({ floor: 60 });
    driver.run(driver.make.update('t/b', { floor: 40 }));
    driver.run(driver.make.update('t', { limits: 80 }));
    expect([most(driver, 't/a'), most(driver, 't/b'), most(driver, 't'), floored(driver)]).toEqual([
      60n,
      20n,
      0n,
      [80n],
    ]);
    driver.hold('t/a', 60);
    expect([most(driver, 't/a'), most(driver, 't/b')]).toEqual([0n, 20n]);
    driver.run(driver.make.update('t', { limits: 10 }));
    expect([most(driver, 't/a'), most(driver, 't/b'), floored(driver)]).toEqual([0n, 0n, [0n]]);
  });

  it('is refused where floors plainly come to more than an amount, and on a root', () => {
    const driver = family({ floor: 60 });
    const problem = { reason: 'INVALID_FIELD', fields: [{ field: 'budget.floor_micros' }], unit: 'USD' };
    expect(refused(driver.run(driver.make.update('t/b', { floor: 41 })))).toMatchObject(problem);
    expect(refused(driver.run(driver.make.create('t/c', { floor: 41 })))).toMatchObject(problem);
    expect(refused(driver.run(driver.make.update('t', { floor: 1 })))).toMatchObject(problem);
    expect(refused(driver.run(driver.make.update('t', { share: { to: 5 } })))).toMatchObject({
      fields: [{ field: 'budget.share_percent' }],
    });
    budgetOf(driver.run(driver.make.update('t/b', { floor: 40 })));
    driver.run(driver.make.update('t', { limits: 80 }));
    // Lowered, it makes nothing worse.
    budgetOf(driver.run(driver.make.update('t/b', { floor: 39 })));
  });

  it('goes with the closing of its child, and with the floor', () => {
    const driver = family({ floor: 60 });
    driver.run(driver.make.close('t/a'));
    expect(most(driver, 't/b')).toBe(100n);
    driver.run(driver.make.update('t/b', { floor: 10 }));
    expect(most(driver, 't')).toBe(90n);
    driver.run(driver.make.update('t/b', { floor: 0 }));
    expect(most(driver, 't')).toBe(100n);
    const root = driver.state.budgetAt('t' as never);
    expect(root?.def.childShares).toEqual([]);
    expect(root?.def.windows).toHaveLength(1);
  });

  it('counts what the child had before it was given, and only what it has in the period', () => {
    const driver = family({}, { day: per('day', 100), hour: rolling(HOUR_MS, 90), all: 1_000 });
    driver.run(driver.make.settle(driver.hold('t/a', 5), 5));
    driver.advance(DAY_MS);
    driver.run(driver.make.settle(driver.hold('t/a', 8), 8));
    const held = driver.hold('t/a', 2, { ttlMs: 10 * DAY_MS });
    driver.run(driver.make.update('t/a', { floor: 30 }));
    // 10 of the day and of the hour, 15 in all.
    expect(floored(driver)).toEqual([20n, 20n, 15n]);
    driver.advance(2 * HOUR_MS);
    expect(floored(driver)).toEqual([20n, 28n, 15n]);
    driver.advance(DAY_MS);
    expect(floored(driver)).toEqual([30n, 28n, 15n]);
    driver.run(driver.make.release(held));
    expect(floored(driver)).toEqual([30n, 30n, 17n]);
  });

  it('counts in a window that the parent gets later', () => {
    const driver = family({ floor: 30 }, { all: 1_000 });
    driver.run(driver.make.settle(driver.hold('t/a', 12), 12));
    driver.run(driver.make.update('t', { limits: { all: 1_000, day: per('day', 100), hour: rolling(HOUR_MS, 50) } }));
    expect(floored(driver)).toEqual([18n, 18n, 18n]);
    expect(most(driver, 't/b')).toBe(50n - 12n - 18n);
    driver.run(driver.make.update('t', { limits: 1_000 }));
    expect(floored(driver)).toEqual([18n]);
    expect(driver.state.budgetAt('t' as never)?.def.windows).toHaveLength(2);
  });

  it('binds an Extend of others, which its own hold gives nothing back to', () => {
    const driver = family({ floor: 30 });
    const id = driver.hold('t/b', 50);
    expect(granted(driver.run(driver.make.extend(id, 40, { min: 1 }))).reservation.figures.grantedMicros).toBe(70n);
    const no = refused(driver.run(driver.make.extend(id, 1)));
    expect(no).toMatchObject({ reason: 'CAPACITY_HELD', budget: 't', availableMicros: 0n });
    expect(no.retryAfterMs).toBeUndefined();
  });

  it('covers no cost of others, and does not take back what is spent', () => {
    const driver = family({ floor: 30 });
    const id = driver.hold('t/b', 50);
    granted(driver.run(driver.make.settle(id, 90)));
    expect(driver.balances('t/b')).toMatchObject({ settled: 70n, overrun: 20n });
    // Overrun is spent: what is left of the amount is all that is left of the floor.
    expect([most(driver, 't/a'), floored(driver)]).toEqual([10n, [10n]]);
  });

  it('refuses a settlement that only a floor does not cover, where no overrun is taken', () => {
    const driver = family({ floor: 30 }, 100, { overrun: 'reject' });
    const id = driver.hold('t/b', 50);
    expect(refused(driver.run(driver.make.settle(id, 71)))).toMatchObject({
      reason: 'OVERRUN_REJECTED',
      budget: 't',
      availableMicros: 20n,
    });
    granted(driver.run(driver.make.settle(id, 70)));
  });

  it('covers a late settlement of others no more than a live one', () => {
    const driver = family({ floor: 30 });
    driver.run(driver.make.update('t/b', { onExpiry: 'charge' }));
    const id = driver.hold('t/b', 50, { ttlMs: 1_000 });
    driver.advance(HOUR_MS);
    granted(driver.run(driver.make.settle(id, 80)));
    expect(driver.balances('t/b')).toMatchObject({ settled: 70n, overrun: 10n });
  });

  it('of both children is there for one that names both', () => {
    const driver = family({ floor: 30 });
    driver.run(driver.make.update('t/b', { floor: 20 }));
    driver.run(driver.make.create('t/c'));
    expect(most(driver, 't/c')).toBe(50n);
    expect(most(driver, 't/c', { also: ['t/a'] })).toBe(80n);
    expect(most(driver, 't/c', { also: ['t/a', 't/b'] })).toBe(100n);
    driver.hold('t/c', 15, { also: ['t/a', 't/b'] });
    expect(floored(driver)).toEqual([20n]);
    expect(most(driver, 't/c')).toBe(65n);
  });

  it.each(['observe', 'warn'] as const)('of a parent in %s binds nobody, and is told', (mode) => {
    const driver = family({ floor: 30 }, 100, { enforcement: { mode } });
    expect(granted(reserve(driver, 't/b', 80)).reservation.shadow).toMatchObject({
      reason: 'EXCEEDS_LIMIT',
      budget: 't',
    });
    expect(floored(driver)).toEqual([0n]);
  });

  it('of a parent in soft is kept back of amount and tolerance', () => {
    const driver = family({ floor: 30 }, 100, { enforcement: { mode: 'soft', toleranceMicros: 20n } });
    expect([most(driver, 't/b'), most(driver, 't/a')]).toEqual([90n, 120n]);
  });

  it('lets a cheaper way be granted where the parent degrades', () => {
    const driver = family({ floor: 30 }, 100, { enforcement: { onExhaustion: 'degrade' } });
    const alternatives = [{ label: 'small', maxMicros: 65n }];
    expect(granted(reserve(driver, 't/b', 80, { alternatives })).reservation.alternative).toBe('small');
  });

  it('in a rolling window names the instant at which enough has left', () => {
    const driver = family({ floor: 30 }, { hour: rolling(HOUR_MS, 100) });
    driver.run(driver.make.settle(driver.hold('t/a', 40), 40));
    driver.advance(HOUR_MS / 2);
    driver.run(driver.make.settle(driver.hold('t/b', 50), 50));
    // 10 left; once the 40 of a have left 50 are, of which its floor is 30.
    const { retryAfterMs } = refused(reserve(driver, 't/b', 20));
    expect(retryAfterMs).toBeGreaterThan(HOUR_MS / 2 - 1);
    expect(retryAfterMs).toBeLessThan(HOUR_MS / 2 + 60_000);
    expect(refused(reserve(driver, 't/b', 21)).retryAfterMs).toBeGreaterThan(HOUR_MS - 1);
    expect(refused(reserve(driver, 't/b', 71))).toMatchObject({ reason: 'EXCEEDS_LIMIT' });
  });
});

test('EXCEEDS_LIMIT speaks of the budgets as they stand: one hold through two floors uses both, and leaves more', () => {
  const driver = family({ floor: 40 });
  budgetOf(driver.run(driver.make.update('t/b', { floor: 40 })));
  budgetOf(driver.run(driver.make.create('t/c')));
  const refusal = refused(reserve(driver, 't/c', 60));
  expect(refusal).toMatchObject({ reason: 'EXCEEDS_LIMIT', largestMicros: 20n });
  expect(refusal.message).toContain('as the budgets stand: at most 20 can be granted');
  granted(reserve(driver, 't/a', 40, { also: ['t/b'] }));
  expect(granted(reserve(driver, 't/c', 60)).reservation.figures.grantedMicros).toBe(60n);
});

describe('a share', () => {
  it.each([
    [100, 33, 33n],
    [10, 25, 2n],
    [3, 33, 0n],
    [199, 50, 99n],
    [77, 100, 77n],
  ])('of an amount of %i at %i percent is %i, rounded down', (limits, share, expected) => {
    const driver = family({ share }, limits);
    expect(most(driver, 't/a')).toBe(expected);
    expect(most(driver, 't/b')).toBe(BigInt(limits));
    const whole = refused(reserve(driver, 't/a', Number(expected) + 1));
    expect(whole).toMatchObject({ reason: 'EXCEEDS_LIMIT', budget: 't', availableMicros: expected });
  });

  it('counts all that is used through the child, and goes by the amount of the period', () => {
    const driver = family({ share: 50 }, { day: per('day', 100) });
    driver.run(driver.make.create('t/a/x'));
    const id = driver.hold('t/a/x', 30);
    driver.run(driver.make.topUp('t', 20));
    expect(most(driver, 't/a')).toBe(30n);
    granted(driver.run(driver.make.settle(id, 70)));
    // 60 of the amount of today were its share: the rest of the cost is overrun.
    expect(driver.balances('t/a')).toMatchObject({ settled: 60n, overrun: 10n });
    const no = refused(reserve(driver, 't/a', 1));
    expect(no).toMatchObject({ reason: 'BUDGET_EXHAUSTED', budget: 't', limit: 'day' });
    driver.advance(no.retryAfterMs ?? 0);
    expect(most(driver, 't/a')).toBe(50n);
  });

  it('is judged against the amount alone in soft mode, and not at all in observe', () => {
    const soft = family({ share: 50 }, 100, { enforcement: { mode: 'soft', toleranceMicros: 20n } });
    expect([most(soft, 't/a'), most(soft, 't/b')]).toEqual([50n, 120n]);
    const observe = family({ share: 50 }, 100, { enforcement: { mode: 'observe' } });
    expect(granted(reserve(observe, 't/a', 60)).reservation.shadow).toMatchObject({ reason: 'EXCEEDS_LIMIT' });
  });

  it('that holds fill is told as held, and its own hold gives no wait', () => {
    const driver = family({ share: 50 });
    const id = driver.hold('t/a', 40);
    expect(refused(reserve(driver, 't/a', 20))).toMatchObject({ reason: 'CAPACITY_HELD', retryAfterMs: 1_000 });
    expect(refused(driver.run(driver.make.extend(id, 11))).retryAfterMs).toBeUndefined();
    granted(driver.run(driver.make.extend(id, 10)));
  });

  it('is taken away, and edited', () => {
    const driver = family({ share: 50, floor: 10 });
    driver.run(driver.make.update('t/a', { share: { to: 70 } }));
    expect(most(driver, 't/a')).toBe(70n);
    driver.run(driver.make.update('t/a', { share: { to: undefined } }));
    expect([most(driver, 't/a'), most(driver, 't/b')]).toEqual([100n, 90n]);
  });
});

describe('the budget above', () => {
  it('is edited in the same commit, and only where floor or share change', () => {
    const driver = family({});
    const last = () => driver.journal.slice(-2).map((entry) => ('def' in entry ? [entry.type, entry.def.path] : []));
    driver.run(driver.make.update('t/a', { floor: 5, key: 'k' }));
    expect(last()).toEqual([
      ['BudgetUpdated', 't/a'],
      ['BudgetUpdated', 't'],
    ]);
    const { length } = driver.journal;
    const again = budgetOf(driver.run(driver.make.update('t/a', { floor: 5, key: 'k' })));
    expect(again.def).toMatchObject({ path: 't/a', revision: 2, floorMicros: 5n });
    expect(driver.journal).toHaveLength(length);
    driver.run(driver.make.update('t/a', { weight: 3 }));
    expect(driver.journal).toHaveLength(length + 1);
    expect(budgetOf(driver.run(driver.make.getBudget('t'))).def).toMatchObject({ revision: 2 });
  });

  it('lists up to 64 children with one', () => {
    const driver = family({}, 1_000);
    for (let n = 0; n < 64; n += 1) budgetOf(driver.run(driver.make.create(`t/c${n}`, { floor: 1 })));
    const many = { reason: 'INVALID_FIELD' };
    expect(refused(driver.run(driver.make.create('t/more', { share: 5 })))).toMatchObject(many);
    expect(refused(driver.run(driver.make.update('t/b', { floor: 1 })))).toMatchObject(many);
    driver.run(driver.make.update('t/c7', { floor: 2 }));
    driver.run(driver.make.close('t/c8'));
    budgetOf(driver.run(driver.make.create('t/more', { share: 5 })));
    expect(most(driver, 't/b')).toBe(1_000n - 64n);
  });

  it('lists what a template makes, from its first Reserve on', () => {
    const driver = new KernelDriver();
    const below = driver.make.terms({ floor: 3 });
    const template = driver.make.terms({ floor: 30, share: 60, template: below });
    driver.run(driver.make.create('t', { limits: 100, template }));
    expect(refused(reserve(driver, 't/r1', 61))).toMatchObject({ reason: 'EXCEEDS_LIMIT', budget: 't' });
    driver.hold('t/r1', 10);
    expect(driver.state.budgetAt('t' as never)?.def).toMatchObject({
      revision: 2,
      childShares: [{ childNo: 2, floorMicros: 30n, sharePercent: 60 }],
    });
    driver.hold('t/r2', 50, { also: ['t/r3/s'] });
    expect(driver.journal.slice(-5).map(({ type }) => type)).toEqual([
      'BudgetCreated',
      'BudgetCreated',
      'BudgetCreated',
      'BudgetUpdated',
      'Granted',
    ]);
    expect(driver.state.budgetAt('t/r3' as never)?.def).toMatchObject({
      revision: 1,
      childShares: [{ floorMicros: 3n }],
    });
    // 60 are used; of the floor of r1 20 are left, of those of the others nothing.
    expect([most(driver, 't'), most(driver, 't/r1'), most(driver, 't/r2')]).toEqual([20n, 40n, 10n]);
  });

  it('takes no 65th out of a template, and says so', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 1_000, template: driver.make.terms({ share: 10 }) }));
    for (let n = 0; n < 64; n += 1) driver.hold(`t/r${n}`, 1);
    expect(refused(reserve(driver, 't/more', 1))).toMatchObject({
      reason: 'INVALID_FIELD',
      fields: [{ field: 'budget' }],
    });
    driver.run(driver.make.close('t/r0'));
    driver.hold('t/more', 1);
  });

  it('keeps no floor in a day before the child had it, and by what the child used in it after', () => {
    const driver = family({}, { day: per('day', 100) });
    const old = driver.hold('t/b', 60, { ttlMs: 9 * DAY_MS });
    driver.advance(DAY_MS);
    driver.run(driver.make.update('t/a', { floor: 30 }));
    const today = driver.hold('t/b', 60, { ttlMs: 9 * DAY_MS });
    driver.hold('t/a', 25, { ttlMs: 9 * DAY_MS });
    driver.advance(DAY_MS);
    driver.hold('t/a', 1);
    granted(driver.run(driver.make.settle(old, 95)));
    expect(driver.reservation(old).figures).toMatchObject({ settledMicros: 95n });
    granted(driver.run(driver.make.settle(today, 95)));
    expect(driver.reservation(today).figures).toMatchObject({ settledMicros: 70n, overrunMicros: 25n });
  });
});
