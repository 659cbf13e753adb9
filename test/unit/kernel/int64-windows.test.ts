import { describe, expect, it } from 'vitest';
import { MICROS_MAX } from '../../../src/kernel/money.ts';
import { budgetOf, granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';
import { DAY_MS, HOUR_MS, per, range, rolling } from '../../support/windows.ts';

const LIMITS = {
  all: MICROS_MAX,
  hour: per('hour', MICROS_MAX),
  day: per('day', MICROS_MAX),
  minute: rolling(60_000, MICROS_MAX),
  rolling: rolling(DAY_MS, MICROS_MAX),
  fixed: range(START_MS, START_MS + 9 * DAY_MS, MICROS_MAX),
};

describe('the largest amount in many windows', () => {
  it('is held, settled and counted exactly in each', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: LIMITS }));
    driver.run(driver.make.settle(driver.hold('t', MICROS_MAX), MICROS_MAX - 1n));
    const { standings, headroom } = budgetOf(driver.run(driver.make.getBudget('t')));
    expect(standings.map(({ counter }) => counter.settledMicros)).toEqual(standings.map(() => MICROS_MAX - 1n));
    expect(headroom.micros).toBe(1n);
    driver.hold('t', 1);
    expect(refused(driver.run(driver.make.reserve('t', 1)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      limit: 'all',
    });
  });

  it('is bounded by the lifetime sums where no lifetime limit is, after every window has turned', () => {
    const driver = new KernelDriver();
    const { all: _, fixed: __, ...turning } = LIMITS;
    driver.run(driver.make.create('t', { limits: turning }));
    driver.run(driver.make.settle(driver.hold('t', MICROS_MAX - 5n), MICROS_MAX - 5n));
    driver.advance(2 * DAY_MS);
    expect(driver.balances('t').available).toBe(MICROS_MAX);
    expect(refused(driver.run(driver.make.reserve('t', 6)))).toMatchObject({
      reason: 'EXCEEDS_LIMIT',
      availableMicros: 5n,
    });
    expect(granted(driver.run(driver.make.reserve('t', 6, { min: 1 }))).reservation.figures.grantedMicros).toBe(5n);
  });

  it('passes through a late settlement of an estimate that a rolling window has forgotten', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { own: rolling(HOUR_MS, MICROS_MAX) }, onExpiry: 'charge' }));
    const id = driver.hold('t', MICROS_MAX, { ttlMs: 1_000 });
    driver.advance(DAY_MS);
    expect(granted(driver.run(driver.make.settle(id, MICROS_MAX))).headroom.micros).toBe(0n);
    const [own] = budgetOf(driver.run(driver.make.getBudget('t'))).standings;
    expect(own?.counter.settledMicros).toBe(MICROS_MAX);
  });
});
