// Alerts: each share of each limit once a period.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Alert } from '../../../src/kernel/entry.ts';
import { rollingRule } from '../../../src/kernel/window.ts';
import type { LimitsOption } from '../../support/commands.ts';
import { KernelDriver } from '../../support/kernel-driver.ts';

const HOUR_MS = 3_600_000;
const DAY = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;

const alertsOf = (driver: KernelDriver): Alert[] =>
  driver.journal.flatMap((entry) => (entry.type === 'Alerted' ? entry.alerts : []));
const told = (driver: KernelDriver) => alertsOf(driver).map(({ budget, limit, percent }) => [budget, limit, percent]);

function spend(driver: KernelDriver, path: string, micros: number): void {
  driver.run(driver.make.settle(driver.hold(path, 0), micros));
}

describe('alerts', () => {
  it('are told once for each share that spend reaches, overrun counted', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100, alertAt: [50, 80, 100] }));
    driver.hold('t', 0);
    spend(driver, 't', 49);
    expect(told(driver)).toEqual([]);
    spend(driver, 't', 1);
    expect(told(driver)).toEqual([['t', 'lifetime', 50]]);
    spend(driver, 't', 60);
    expect(told(driver)).toEqual([
      ['t', 'lifetime', 50],
      ['t', 'lifetime', 80],
      ['t', 'lifetime', 100],
    ]);
    expect(alertsOf(driver).at(-1)).toMatchObject({ usedMicros: 110n, amountMicros: 100n, exhaustMs: undefined });
    driver.hold('t', 0);
    spend(driver, 't', 5);
    expect(told(driver)).toHaveLength(3);
  });

  it('are told of every level and limit that the spend is charged to', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { lifetime: 100, second: 40 }, alertAt: [100] }));
    driver.run(driver.make.create('t/c', { limits: 30, alertAt: [100] }));
    driver.run(driver.make.settle(driver.hold('t/c', 30), 30));
    driver.run(driver.make.settle(driver.hold('t', 10), 10));
    expect(told(driver)).toEqual([
      ['t/c', 'lifetime', 100],
      ['t', 'second', 100],
    ]);
  });

  it('say when the amount will be used up if it goes on so', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100, alertAt: [80] }));
    const id = driver.hold('t', 100, { ttlMs: 8 * HOUR_MS });
    driver.advance(4 * HOUR_MS);
    driver.run(driver.make.settle(id, 80));
    expect(alertsOf(driver)[0]?.exhaustMs).toBe(driver.nowMs + HOUR_MS);
  });

  it('begin anew with each period', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { day: { amount: 10, rule: DAY } }, alertAt: [100] }));
    for (const _ of [1, 2]) {
      driver.run(driver.make.settle(driver.hold('t', 10), 10));
      driver.advance(24 * HOUR_MS);
    }
    expect(told(driver)).toHaveLength(2);
  });

  it('of a period that is over are not told again when a later one has had its own', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { day: { amount: 10, rule: DAY } }, alertAt: [80] }));
    const late = driver.hold('t', 1, { ttlMs: 24 * HOUR_MS });
    driver.run(driver.make.settle(driver.hold('t', 8), 8));
    driver.advance(20 * HOUR_MS);
    driver.run(driver.make.settle(driver.hold('t', 8), 8));
    expect(told(driver)).toHaveLength(2);
    driver.run(driver.make.settle(late, 1));
    expect(told(driver)).toHaveLength(2);
  });

  it('of a rolling window are told again once spend was below the share', () => {
    const driver = new KernelDriver();
    const limits = { hour: { amount: 10, rule: rollingRule(HOUR_MS) } };
    driver.run(driver.make.create('t', { limits, alertAt: [80] }));
    driver.run(driver.make.settle(driver.hold('t', 8), 8));
    driver.run(driver.make.settle(driver.hold('t', 1), 1));
    expect(told(driver)).toHaveLength(1);
    driver.advance(2 * HOUR_MS);
    driver.run(driver.make.settle(driver.hold('t', 9), 9));
    expect(told(driver)).toHaveLength(2);
  });

  describe('of a rolling window', () => {
    let driver: KernelDriver;
    const hourly = (amount: number) => ({ hour: { amount, rule: rollingRule(HOUR_MS) } });

    beforeEach(() => {
      driver = new KernelDriver();
      driver.run(driver.make.create('t', { limits: hourly(100), alertAt: [80], onExpiry: 'charge' }));
    });

    it('are not told again by edits that leave spend where it is', () => {
      spend(driver, 't', 90);
      driver.run(driver.make.update('t', { owner: 'somebody' }));
      driver.run(driver.make.update('t', { limits: hourly(95) }));
      driver.run(driver.make.update('t', { alertAt: [] }));
      driver.run(driver.make.update('t', { alertAt: [80] }));
      expect(told(driver)).toEqual([['t', 'hour', 80]]);
      driver.run(driver.make.update('t', { alertAt: [50, 80] }));
      expect(told(driver)).toEqual([
        ['t', 'hour', 80],
        ['t', 'hour', 50],
      ]);
    });

    it('are told again by an edit once one has put spend below the share, or time has', () => {
      spend(driver, 't', 90);
      driver.run(driver.make.update('t', { limits: hourly(200) }));
      driver.run(driver.make.update('t', { limits: hourly(100) }));
      expect(told(driver)).toHaveLength(2);
      driver.advance(2 * HOUR_MS);
      spend(driver, 't', 30);
      driver.run(driver.make.update('t', { limits: hourly(30) }));
      expect(told(driver)).toHaveLength(3);
    });

    it('count of a cost that comes late what it is beside the estimate that it replaces', () => {
      const [same, more] = [driver.hold('t', 45, { ttlMs: 1_000 }), driver.hold('t', 45, { ttlMs: 1_000 })];
      driver.advance(5_000);
      driver.recordLapses();
      expect(told(driver)).toHaveLength(1);
      driver.advance(120_000);
      driver.run(driver.make.settle(same, 45));
      driver.run(driver.make.settle(more, 50));
      expect(told(driver)).toHaveLength(1);
    });

    it('count all of it where the estimate has left the window', () => {
      const id = driver.hold('t', 90, { ttlMs: 1_000 });
      driver.advance(5_000);
      driver.recordLapses();
      driver.advance(2 * HOUR_MS);
      driver.run(driver.make.settle(id, 90));
      expect(told(driver)).toHaveLength(2);
    });
  });

  it.each([
    ['lifetime', 100],
    ['a rolling window', { hour: { amount: 100, rule: rollingRule(HOUR_MS) } }],
  ] as const)('count lapses that are charged in one entry together: %s', (_, limits) => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: limits as LimitsOption, alertAt: [50], onExpiry: 'charge' }));
    for (const micros of [30, 30, 30]) driver.hold('t', micros, { ttlMs: 1_000 });
    driver.advance(2_000);
    driver.recordLapses();
    expect(told(driver)).toHaveLength(1);
  });

  it('follow an amount that is lowered, and charges of lapses, many in one entry', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100, alertAt: [50, 100], onExpiry: 'charge' }));
    for (const _ of [1, 2, 3]) driver.hold('t', 20, { ttlMs: 1_000 });
    driver.advance(2_000);
    driver.recordLapses();
    expect(told(driver)).toEqual([['t', 'lifetime', 50]]);
    driver.run(driver.make.update('t', { limits: 60 }));
    expect(told(driver)).toEqual([
      ['t', 'lifetime', 50],
      ['t', 'lifetime', 100],
    ]);
  });
});
