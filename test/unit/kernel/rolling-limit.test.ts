import { describe, expect, it } from 'vitest';
import { rollingRule } from '../../../src/kernel/window.ts';
import { budgetOf, granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, rolling, SECOND_MS } from '../../support/windows.ts';

function hourly(amount: number): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: { own: rolling(HOUR_MS, amount) } }));
  return driver;
}

const spend = (driver: KernelDriver, micros: number) =>
  granted(driver.run(driver.make.settle(driver.hold('t', micros), micros)));
const ask = (driver: KernelDriver, max: number) => refused(driver.run(driver.make.reserve('t', max)));
const available = (driver: KernelDriver) => driver.balances('t').available;

describe('a rolling limit', () => {
  it.each([
    [1, 1],
    [30, 1],
    [120, 1],
    [240, 2],
    [3_600, 30],
    [7_199, 59],
    [7_200, 60],
    [86_400, 60],
    [366 * 86_400, 60],
  ])('of %d s has steps of %d s', (durationS, stepS) => {
    expect(rollingRule(durationS * SECOND_MS).stepMs).toBe(stepS * SECOND_MS);
  });

  it('forgets at the end of the step an hour later, never sooner', () => {
    const driver = hourly(100);
    driver.advance(7_000);
    spend(driver, 60);
    driver.advance(HOUR_MS - 1);
    expect(available(driver)).toBe(40n);
    // Steps are 30 s long: what settled at 7 s into one leaves when the step is an hour old.
    driver.nowMs = START_MS + HOUR_MS + 30 * SECOND_MS - 1;
    expect(ask(driver, 41)).toMatchObject({ reason: 'BUDGET_EXHAUSTED', limit: 'own', retryAfterMs: 1 });
    driver.advance(1);
    expect(available(driver)).toBe(100n);
  });

  it('says how long it takes until enough is forgotten', () => {
    const driver = hourly(100);
    spend(driver, 30);
    driver.advance(10 * MINUTE_MS);
    spend(driver, 30);
    driver.advance(10 * MINUTE_MS);
    spend(driver, 30);
    const gone = (minutes: number) => (minutes - 20) * MINUTE_MS + HOUR_MS + 30 * SECOND_MS;
    expect(ask(driver, 11).retryAfterMs).toBe(gone(0));
    expect(ask(driver, 40).retryAfterMs).toBe(gone(0));
    expect(ask(driver, 41).retryAfterMs).toBe(gone(10));
    expect(ask(driver, 71).retryAfterMs).toBe(gone(20));
    driver.advance(gone(10));
    driver.hold('t', 41);
  });

  it('counts a live hold to its end, however long, and its cost from its settlement on', () => {
    const driver = hourly(100);
    const id = driver.hold('t', 70, { ttlMs: 3 * HOUR_MS });
    driver.advance(2 * HOUR_MS);
    expect(ask(driver, 31)).toMatchObject({ reason: 'CAPACITY_HELD', retryAfterMs: 1_000 });
    granted(driver.run(driver.make.settle(id, 70)));
    driver.advance(59 * MINUTE_MS);
    expect(ask(driver, 31)).toMatchObject({ reason: 'BUDGET_EXHAUSTED', retryAfterMs: 90 * SECOND_MS });
    driver.advance(2 * MINUTE_MS);
    driver.hold('t', 100);
  });

  it('counts each part from when it was settled', () => {
    const driver = hourly(100);
    const id = driver.hold('t', 90, { ttlMs: 3 * HOUR_MS });
    granted(driver.run(driver.make.settle(id, 30, { keepOpen: true })));
    driver.advance(45 * MINUTE_MS);
    granted(driver.run(driver.make.settle(id, 40, { keepOpen: true })));
    driver.advance(16 * MINUTE_MS);
    expect(available(driver)).toBe(100n - 20n - 40n);
    driver.advance(45 * MINUTE_MS);
    expect(available(driver)).toBe(80n);
  });

  it('counts overrun as it counts spend', () => {
    const driver = hourly(100);
    const id = driver.hold('t', 60);
    expect(granted(driver.run(driver.make.settle(id, 130))).reservation.figures).toMatchObject({
      settledMicros: 100n,
      overrunMicros: 30n,
    });
    expect(budgetOf(driver.run(driver.make.getBudget('t'))).standings[0]?.counter).toMatchObject({
      settledMicros: 100n,
      overrunMicros: 30n,
    });
    driver.advance(HOUR_MS + 30 * SECOND_MS);
    expect(available(driver)).toBe(100n);
  });

  it('extends against what counts now', () => {
    const driver = hourly(100);
    spend(driver, 60);
    const id = driver.hold('t', 40, { ttlMs: 2 * HOUR_MS });
    // Half of the hour's spend leaves in time, what it holds itself does not.
    expect(refused(driver.run(driver.make.extend(id, 60))).retryAfterMs).toBe(HOUR_MS + 30 * SECOND_MS);
    expect(refused(driver.run(driver.make.extend(id, 61))).retryAfterMs).toBeUndefined();
    driver.advance(HOUR_MS + 30 * SECOND_MS);
    granted(driver.run(driver.make.extend(id, 60)));
  });

  it('keeps the steps of several windows apart and in order, also where one has let all of its own go', () => {
    const driver = new KernelDriver();
    const limits = { short: rolling(MINUTE_MS, 1_000), long: rolling(DAY_MS, 1_000) };
    driver.run(driver.make.create('t', { limits }));
    const steps = () =>
      driver.state.budgetAt('t' as never)?.steps.map(({ windowNo, periodMs }) => [windowNo, periodMs]);
    const firstMs = driver.nowMs;
    spend(driver, 7);
    driver.advance(10 * MINUTE_MS);
    driver.state.evictPast(driver.nowMs);
    expect(steps()).toEqual([[2, firstMs]]);
    spend(driver, 5);
    driver.advance(30 * SECOND_MS);
    spend(driver, 11);
    const lastMs = firstMs + 10 * MINUTE_MS;
    expect(steps()).toEqual([
      [1, lastMs],
      [1, lastMs + 30 * SECOND_MS],
      [2, firstMs],
      [2, lastMs],
    ]);
    expect(available(driver)).toBe(1_000n - 7n - 5n - 11n);
  });

  it('lets steps that are past go from memory, those of a short window beside a long one too', () => {
    const driver = new KernelDriver();
    driver.run(
      driver.make.create('t', { limits: { day: rolling(DAY_MS, 1_000), short: rolling(10 * SECOND_MS, 1_000) } }),
    );
    for (let i = 0; i < 200; i += 1) {
      spend(driver, 1);
      driver.advance(SECOND_MS);
      driver.state.evictPast(driver.nowMs);
    }
    expect(driver.state.budgetAt('t' as never)?.steps.length).toBeLessThan(20);
    const settled = () =>
      budgetOf(driver.run(driver.make.getBudget('t'))).standings.map(({ counter }) => counter.settledMicros);
    expect(settled()).toEqual([200n, 10n]);
    driver.advance(DAY_MS);
    expect(settled()).toEqual([20n, 0n]);
    driver.advance(3 * MINUTE_MS);
    expect(settled()).toEqual([0n, 0n]);
  });
});
