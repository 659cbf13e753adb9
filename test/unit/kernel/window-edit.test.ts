import { describe, expect, it } from 'vitest';
import type { LimitsOption } from '../../support/commands.ts';
import { budgetOf, granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, per, range, rolling, SECOND_MS } from '../../support/windows.ts';

const MIDNIGHT_MS = Date.UTC(2026, 2, 3);

function withLimits(limits: LimitsOption): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits }));
  return driver;
}

const edit = (driver: KernelDriver, limits: LimitsOption) => budgetOf(driver.run(driver.make.update('t', { limits })));
const spend = (driver: KernelDriver, micros: number) =>
  granted(driver.run(driver.make.settle(driver.hold('t', micros), micros)));
const countersOf = (driver: KernelDriver) =>
  Object.fromEntries(
    budgetOf(driver.run(driver.make.getBudget('t'))).standings.map(({ limit, counter }) => [
      limit.name,
      [counter.heldMicros, counter.settledMicros, counter.overrunMicros],
    ]),
  );

describe('an edit of limits', () => {
  it('keeps what is used where the rule stays, whatever the amount and the name', () => {
    const driver = withLimits({ a: per('day', 10) });
    spend(driver, 9);
    expect(edit(driver, { a: per('day', 20) }).headroom.micros).toBe(11n);
    expect(edit(driver, { b: per('day', 5) }).headroom.micros).toBe(0n);
    expect(refused(driver.run(driver.make.reserve('t', 1)))).toMatchObject({ reason: 'BUDGET_EXHAUSTED', limit: 'b' });
    expect(countersOf(driver)).toEqual({ b: [0n, 9n, 0n] });
  });

  it('that brings a day counts this day only', () => {
    const driver = withLimits({ all: 500 });
    spend(driver, 80);
    driver.advance(DAY_MS);
    spend(driver, 4);
    edit(driver, { all: 500, day: per('day', 10) });
    expect(refused(driver.run(driver.make.reserve('t', 7)))).toMatchObject({
      reason: 'BUDGET_EXHAUSTED',
      limit: 'day',
    });
    driver.hold('t', 6);
  });

  it('that brings a range counts what was admitted in it, and not what came after', () => {
    const driver = withLimits({ all: 500 });
    spend(driver, 80);
    driver.advance(HOUR_MS);
    spend(driver, 4);
    driver.advance(HOUR_MS);
    const later = driver.hold('t', 5);
    const limits = { all: 500, past: range(START_MS + MINUTE_MS, START_MS + 2 * HOUR_MS, 10) };
    edit(driver, limits);
    expect(countersOf(driver)['past']).toEqual([0n, 4n, 0n]);
    granted(driver.run(driver.make.settle(later, 7)));
    expect(countersOf(driver)['past']).toEqual([0n, 4n, 0n]);
  });

  it('that brings a rolling window counts what settled in it and all that is held', () => {
    const driver = withLimits({ all: 500 });
    spend(driver, 80);
    const id = driver.hold('t', 7, { ttlMs: 5 * HOUR_MS });
    driver.advance(2 * HOUR_MS);
    spend(driver, 4);
    driver.advance(30 * MINUTE_MS);
    edit(driver, { all: 500, hour: rolling(HOUR_MS, 20) });
    expect(countersOf(driver)['hour']).toEqual([7n, 4n, 0n]);
    driver.advance(31 * MINUTE_MS);
    expect(countersOf(driver)['hour']).toEqual([7n, 0n, 0n]);
    granted(driver.run(driver.make.settle(id, 9)));
    expect(countersOf(driver)['hour']).toEqual([0n, 9n, 0n]);
  });

  it('counts live holds of the period in a new window, and they settle in it', () => {
    const driver = withLimits({ all: 500 });
    const id = driver.hold('t', 30);
    edit(driver, { all: 500, day: per('day', 40), hour: per('hour', 100) });
    expect(countersOf(driver)['day']).toEqual([30n, 0n, 0n]);
    expect(refused(driver.run(driver.make.reserve('t', 11)))).toMatchObject({ reason: 'CAPACITY_HELD', limit: 'day' });
    granted(driver.run(driver.make.settle(id, 60)));
    expect(countersOf(driver)).toMatchObject({ day: [0n, 40n, 20n], hour: [0n, 40n, 20n] });
  });

  it('leaves holds of an earlier period out of a new window, also when they settle', () => {
    const driver = withLimits({ all: 500 });
    driver.nowMs = MIDNIGHT_MS - 1;
    const id = driver.hold('t', 30);
    driver.nowMs = MIDNIGHT_MS;
    edit(driver, { all: 500, day: per('day', 40) });
    granted(driver.run(driver.make.extend(id, 100)));
    granted(driver.run(driver.make.settle(id, 130)));
    expect(countersOf(driver)['day']).toEqual([0n, 0n, 0n]);
    expect(driver.balances('t')).toMatchObject({ settled: 130n, available: 40n });
  });

  it('bounds a hold of nothing that was there before the window, in its own period, after the next has begun', () => {
    const driver = withLimits({ all: 500 });
    driver.nowMs = MIDNIGHT_MS - 1_000;
    const id = driver.hold('t', 0);
    edit(driver, { all: 500, day: per('day', 40) });
    driver.nowMs = MIDNIGHT_MS;
    driver.hold('t', 5);
    granted(driver.run(driver.make.extend(id, 40)));
    expect(refused(driver.run(driver.make.extend(id, 1)))).toMatchObject({ reason: 'CAPACITY_HELD', limit: 'day' });
    expect(granted(driver.run(driver.make.settle(id, 45))).reservation.figures.overrunMicros).toBe(5n);
    expect(countersOf(driver)['day']).toEqual([5n, 0n, 0n]);
  });

  it('forgets a window that no limit names, and lets holds outlive it', () => {
    const driver = withLimits({ all: 500, day: per('day', 40), hour: rolling(HOUR_MS, 50) });
    const id = driver.hold('t', 30);
    edit(driver, { all: 500 });
    expect(driver.state.budgetAt('t' as never)).toMatchObject({ counters: [{ windowNo: 0 }], steps: [] });
    granted(driver.run(driver.make.extend(id, 60)));
    granted(driver.run(driver.make.settle(id, 100)));
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 100n, overrun: 0n, available: 400n });
  });

  it('that brings a window back gives it a new number and its past, what happened without it too', () => {
    const driver = withLimits({ all: 500, day: per('day', 40) });
    const id = driver.hold('t', 20);
    edit(driver, { all: 500 });
    granted(driver.run(driver.make.extend(id, 30)));
    spend(driver, 8);
    const { def } = edit(driver, { all: 500, day: per('day', 40) });
    expect(def).toMatchObject({ windows: [{ no: 0 }, { no: 2, rule: { unit: 'day' } }], windowNoMax: 2 });
    expect(countersOf(driver)['day']).toEqual([50n, 8n, 0n]);
    granted(driver.run(driver.make.release(id)));
    expect(countersOf(driver)['day']).toEqual([0n, 8n, 0n]);
  });

  it('refuses to go without the past that a window needs, or with one that is no longer up to date', () => {
    const driver = withLimits({ all: 500 });
    spend(driver, 9);
    const command = driver.make.update('t', { limits: { day: per('day', 40) } });
    const none = { seq: driver.state.position.seq - 1, budgets: [] };
    expect(() => driver.decide({ ...command, history: none })).toThrow('past of a new window');
    expect(() => driver.decide({ ...command, history: { ...none, seq: none.seq + 1 } })).toThrow(
      'past of a new window',
    );
  });

  it('takes a late settlement of an estimate that was there before the rolling window', () => {
    const driver = withLimits({ all: 500 });
    driver.run(driver.make.update('t', { onExpiry: 'charge' }));
    const ids = [driver.hold('t', 30, { ttlMs: SECOND_MS }), driver.hold('t', 10, { ttlMs: SECOND_MS })] as const;
    driver.advance(10 * MINUTE_MS);
    // A part has come late already: 12 of 30 are known, 18 are an estimate still.
    granted(driver.run(driver.make.settle(ids[0], 12, { keepOpen: true })));
    driver.advance(MINUTE_MS);
    edit(driver, { all: 500, hour: rolling(HOUR_MS, 100) });
    expect(countersOf(driver)['hour']).toEqual([0n, 40n, 0n]);
    granted(driver.run(driver.make.settle(ids[0], 5)));
    expect(countersOf(driver)['hour']).toEqual([0n, 27n, 0n]);
    driver.advance(50 * MINUTE_MS);
    // The estimate of the second one has left the hour by itself.
    granted(driver.run(driver.make.settle(ids[1], 3)));
    expect(countersOf(driver)['hour']).toEqual([0n, 20n, 0n]);
  });
});
