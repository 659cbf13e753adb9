import { describe, expect, it } from 'vitest';
import { budgetOf, granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';
import { DAY_MS, HOUR_MS, per } from '../../support/windows.ts';

// The clock starts on Monday, 2026-03-02, at 09:00 UTC.
const NEXT = {
  hour: START_MS + HOUR_MS,
  day: Date.UTC(2026, 2, 3),
  week: Date.UTC(2026, 2, 9),
  month: Date.UTC(2026, 3, 1),
} as const;
const UNITS = ['hour', 'day', 'week', 'month'] as const;

function spent(unit: (typeof UNITS)[number]): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: { own: per(unit, 10) } }));
  driver.run(driver.make.settle(driver.hold('t', 10), 10));
  return driver;
}

describe('a calendar limit', () => {
  it.each(UNITS)('per %s: nothing is left to its last millisecond, all of it from the turn on', (unit) => {
    const driver = spent(unit);
    driver.nowMs = NEXT[unit] - 1;
    expect(refused(driver.run(driver.make.reserve('t', 1)))).toMatchObject({
      reason: 'BUDGET_EXHAUSTED',
      limit: 'own',
      availableMicros: 0n,
      retryAfterMs: 1,
    });
    driver.nowMs = NEXT[unit];
    expect(driver.hold('t', 10)).toBeDefined();
    expect(driver.balances('t')).toMatchObject({ held: 10n, settled: 10n, available: 0n });
  });

  it.each(UNITS)('per %s: RetryInfo is the time to the turn', (unit) => {
    const driver = spent(unit);
    driver.advance(1_234);
    expect(refused(driver.run(driver.make.reserve('t', 1))).retryAfterMs).toBe(NEXT[unit] - START_MS - 1_234);
  });

  it('counts a hold in the period of its admission, whenever it settles', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { day: per('day', 100), all: 1_000 } }));
    driver.nowMs = NEXT.day - 2_000;
    const id = driver.hold('t', 100);
    driver.nowMs = NEXT.day + 3_000;
    driver.hold('t', 100);
    granted(driver.run(driver.make.settle(id, 80)));
    const standing = () => budgetOf(driver.run(driver.make.getBudget('t'))).standings[0];
    expect(standing()?.counter).toMatchObject({ periodMs: NEXT.day, heldMicros: 100n, settledMicros: 0n });
    expect(standing()?.period).toEqual({ startMs: NEXT.day, endMs: NEXT.day + DAY_MS });
    expect(driver.balances('t')).toMatchObject({ held: 100n, settled: 80n, available: 0n });
  });

  it('covers a cost past the hold from the room of its own period alone', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { day: per('day', 100) } }));
    driver.nowMs = NEXT.day - 2_000;
    driver.run(driver.make.settle(driver.hold('t', 70), 70));
    const id = driver.hold('t', 20);
    driver.nowMs = NEXT.day + 1;
    const { figures } = granted(driver.run(driver.make.settle(id, 50))).reservation;
    expect(figures).toMatchObject({ settledMicros: 30n, overrunMicros: 20n });
    expect(driver.balances('t').available).toBe(100n);
  });

  it('extends within its own period, whatever the new one has', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { day: per('day', 100) } }));
    driver.nowMs = NEXT.day - 2_000;
    driver.run(driver.make.settle(driver.hold('t', 70), 70));
    const id = driver.hold('t', 20);
    driver.nowMs = NEXT.day;
    expect(granted(driver.run(driver.make.extend(id, 30, { min: 0 }))).reservation.figures.heldMicros).toBe(30n);
    const refusal = refused(driver.run(driver.make.extend(id, 1)));
    expect(refusal).toMatchObject({ reason: 'CAPACITY_HELD', limit: 'day' });
    // Its own hold does not come back while it waits, and its day does not come again.
    expect(refusal.retryAfterMs).toBeUndefined();
  });

  it('of several limits the strictest binds, and one rule is one window', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { a: per('hour', 5), b: per('day', 8), c: per('day', 9), d: 20 } }));
    expect(driver.state.budgetAt('t' as never)?.def.windows.map(({ no }) => no)).toEqual([0, 1, 2]);
    driver.run(driver.make.settle(driver.hold('t', 5), 5));
    expect(refused(driver.run(driver.make.reserve('t', 4)))).toMatchObject({
      reason: 'BUDGET_EXHAUSTED',
      limit: 'a',
      // The hour turns first, the day decides.
      retryAfterMs: NEXT.day - START_MS,
      failing: [
        { limit: 'a', availableMicros: 0n },
        { limit: 'b', availableMicros: 3n },
      ],
    });
    driver.nowMs = NEXT.hour;
    expect(granted(driver.run(driver.make.reserve('t', 4, { min: 0 }))).headroom).toMatchObject({
      micros: 0n,
      limit: 'b',
    });
  });

  it('has no RetryInfo for what a whole period would not hold, or what a lifetime limit has lost', () => {
    const driver = spent('day');
    expect(refused(driver.run(driver.make.reserve('t', 11)))).toMatchObject({ reason: 'EXCEEDS_LIMIT' });
    const other = new KernelDriver();
    other.run(other.make.create('t', { limits: { day: per('day', 10), all: 12 } }));
    other.run(other.make.settle(other.hold('t', 10), 10));
    const refusal = refused(other.run(other.make.reserve('t', 3)));
    expect(refusal).toMatchObject({ reason: 'BUDGET_EXHAUSTED', limit: 'day' });
    expect(refusal.retryAfterMs).toBeUndefined();
  });
});
