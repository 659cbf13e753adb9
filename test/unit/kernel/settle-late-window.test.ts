// Spend that comes late, and what a lapse assumed, in windows (DESIGN, promises 5 and 8).
import { describe, expect, it } from 'vitest';
import { budgetOf, granted, KernelDriver, START_MS } from '../../support/kernel-driver.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, per, rolling, SECOND_MS } from '../../support/windows.ts';

const MIDNIGHT_MS = Date.UTC(2026, 2, 3);

/** 30 are held at the start and lapse, charged, a minute later. */
function lapsed(): { driver: KernelDriver; id: string } {
  const driver = new KernelDriver();
  const limits = { all: 1_000, day: per('day', 100), hour: rolling(HOUR_MS, 60) };
  driver.run(driver.make.create('t', { limits, onExpiry: 'charge' }));
  return { driver, id: driver.hold('t', 30, { ttlMs: MINUTE_MS }) };
}

function spentBy(driver: KernelDriver): Record<string, number> {
  const { standings } = budgetOf(driver.run(driver.make.getBudget('t')));
  return Object.fromEntries(
    standings.map(({ limit, counter }) => [limit.name, Number(counter.settledMicros + counter.overrunMicros)]),
  );
}

describe('an estimate made at the lapse', () => {
  it('counts in a rolling window from the lapse on, whenever it is written down', () => {
    for (const recordedMs of [MINUTE_MS, 59 * MINUTE_MS]) {
      const { driver } = lapsed();
      driver.advance(recordedMs);
      driver.recordLapses();
      driver.nowMs = START_MS + HOUR_MS + MINUTE_MS;
      expect(spentBy(driver)['hour']).toBe(30);
      driver.advance(30 * SECOND_MS);
      expect(spentBy(driver)).toEqual({ all: 30, day: 30, hour: 0 });
    }
  });

  it('written down after it has left the window does not come back into it', () => {
    const { driver } = lapsed();
    driver.advance(3 * HOUR_MS);
    // Somebody has summed up what counts by then.
    driver.decide(driver.make.getBudget('t'));
    expect(spentBy(driver)).toEqual({ all: 30, day: 30, hour: 0 });
    expect(driver.balances('t').available).toBe(60n);
  });

  it('of a hold that crosses midnight stays in its day', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { day: per('day', 100) }, onExpiry: 'charge' }));
    driver.nowMs = MIDNIGHT_MS - SECOND_MS;
    driver.hold('t', 30, { ttlMs: MINUTE_MS });
    driver.advance(DAY_MS);
    expect(spentBy(driver)).toEqual({ day: 0 });
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 30n, overrun: 0n, available: 100n });
  });
});

describe('a late settlement', () => {
  it('replaces the estimate, and counts in a rolling window from then on', () => {
    const { driver, id } = lapsed();
    driver.advance(31 * MINUTE_MS);
    const { headroom, reservation } = granted(driver.run(driver.make.settle(id, 20)));
    expect(reservation.figures).toMatchObject({
      settledMicros: 20n,
      releasedMicros: 10n,
      late: true,
      estimated: false,
    });
    expect(headroom).toEqual({ micros: 40n, budget: 't', limit: 'hour' });
    expect(spentBy(driver)).toEqual({ all: 20, day: 20, hour: 20 });
    driver.advance(59 * MINUTE_MS);
    expect(spentBy(driver)['hour']).toBe(20);
    driver.advance(2 * MINUTE_MS);
    expect(spentBy(driver)['hour']).toBe(0);
  });

  it('after the estimate has left the rolling window takes nothing out of it, and says what is left', () => {
    const { driver, id } = lapsed();
    driver.advance(2 * HOUR_MS);
    driver.run(driver.make.settle(driver.hold('t', 25), 25));
    const { headroom, reservation } = granted(driver.run(driver.make.settle(id, 30)));
    expect(reservation.figures).toMatchObject({ settledMicros: 30n, overrunMicros: 0n });
    expect(headroom).toEqual({ micros: 5n, budget: 't', limit: 'hour' });
    expect(driver.balances('t').available).toBe(5n);
    expect(spentBy(driver)).toEqual({ all: 55, day: 55, hour: 55 });
  });

  it('is covered as far as the least of all windows reaches, the same at every one', () => {
    const { driver, id } = lapsed();
    driver.advance(2 * HOUR_MS);
    driver.run(driver.make.settle(driver.hold('t', 25), 25));
    // The hour has 35 left without the estimate, which is not in it any more; the day 45 + 30.
    const { figures } = granted(driver.run(driver.make.settle(id, 50))).reservation;
    expect(figures).toMatchObject({ settledMicros: 35n, overrunMicros: 15n });
    const counters = budgetOf(driver.run(driver.make.getBudget('t'))).standings.map(({ counter }) => counter);
    expect(counters.map(({ settledMicros, overrunMicros }) => [settledMicros, overrunMicros])).toEqual([
      [60n, 15n],
      [60n, 15n],
      [60n, 15n],
    ]);
    expect(driver.balances('t').available).toBe(0n);
  });

  it('in parts replaces as much of the estimate as each costs', () => {
    const { driver, id } = lapsed();
    driver.advance(31 * MINUTE_MS);
    granted(driver.run(driver.make.settle(id, 12, { keepOpen: true })));
    expect(spentBy(driver)).toEqual({ all: 30, day: 30, hour: 30 });
    // 18 are assumed still, from the lapse on; 12 are known, from the part on.
    driver.advance(31 * MINUTE_MS);
    expect(spentBy(driver)).toEqual({ all: 30, day: 30, hour: 12 });
    const last = granted(driver.run(driver.make.settle(id, 4)));
    expect(last.reservation.figures).toMatchObject({ settledMicros: 16n, releasedMicros: 14n, estimated: false });
    expect(last.headroom).toEqual({ micros: 44n, budget: 't', limit: 'hour' });
    expect(spentBy(driver)).toEqual({ all: 16, day: 16, hour: 16 });
  });

  it('of unknown usage takes the hold as it was, from then on', () => {
    const { driver, id } = lapsed();
    driver.advance(2 * HOUR_MS);
    const { figures } = granted(driver.run(driver.make.settle(id, undefined))).reservation;
    expect(figures).toMatchObject({ settledMicros: 30n, estimated: true, estimatedMicros: 30n });
    expect(spentBy(driver)).toEqual({ all: 30, day: 30, hour: 30 });
  });

  it('of a hold of yesterday is covered by what yesterday had left', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { day: per('day', 100) } }));
    driver.nowMs = MIDNIGHT_MS - 2 * SECOND_MS;
    driver.run(driver.make.settle(driver.hold('t', 60), 60));
    const id = driver.hold('t', 40, { ttlMs: SECOND_MS });
    driver.nowMs = MIDNIGHT_MS + HOUR_MS;
    driver.hold('t', 95);
    const { figures } = granted(driver.run(driver.make.settle(id, 55))).reservation;
    expect(figures).toMatchObject({ settledMicros: 40n, overrunMicros: 15n });
    expect(driver.balances('t').available).toBe(5n);
  });
});
