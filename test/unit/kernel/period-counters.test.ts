// Counters of periods in memory: when they leave, and how they come back.
import { describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import type { Account, Counter } from '../../../src/kernel/budget.ts';
import { granted, KernelDriver } from '../../support/kernel-driver.ts';
import { pictureOf } from '../../support/picture-of.ts';
import { DAY_MS, per, rolling, SECOND_MS } from '../../support/windows.ts';

function withDays(): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: { day: per('day', 100), moment: rolling(10 * SECOND_MS, 100) } }));
  return driver;
}

const countersOf = ({ state }: KernelDriver): readonly Counter[] => state.budgetAt('t' as never)?.counters ?? [];
const dayOf = ({ state }: KernelDriver, id: string): Account =>
  state.reservation(id as never)?.accounts.find(({ windowNo }) => windowNo === 1) as Account;

describe('a period that is over', () => {
  it('leaves memory once nothing is held in it, and comes back in front of later ones, once', () => {
    const driver = withDays();
    const id = driver.hold('t', 30, { ttlMs: DAY_MS });
    const first = dayOf(driver, id);
    const { periodMs } = first;
    driver.advance(DAY_MS - SECOND_MS);
    driver.hold('t', 40);
    driver.state.evictPast(driver.nowMs);
    expect(driver.state.hasCounters([first])).toBe(true);
    granted(driver.run(driver.make.settle(id, 20)));
    driver.advance(DAY_MS);
    const later = driver.hold('t', 10);
    driver.state.evictPast(driver.nowMs);
    expect(driver.state.hasCounters([first])).toBe(false);
    const loaded = { windowNo: 1, periodMs, heldMicros: 0n, settledMicros: 20n, overrunMicros: 0n };
    const gone = { ...loaded, windowNo: 9 };
    driver.state.addCounters(1, [loaded, { ...loaded, settledMicros: 7n }, gone]);
    const days = countersOf(driver).filter(({ windowNo }) => windowNo === 1);
    expect(days.map((each) => each.periodMs)).toEqual([periodMs, dayOf(driver, later).periodMs]);
    expect(days[0]).toEqual(loaded);
    expect(countersOf(driver).some(({ windowNo }) => windowNo === 9)).toBe(false);
  });

  it('that is not in memory is passed over by what moves it', () => {
    const driver = withDays();
    const id = driver.hold('t', 30, { ttlMs: SECOND_MS });
    driver.advance(DAY_MS);
    driver.hold('t', 10);
    driver.state.evictPast(driver.nowMs);
    const before = countersOf(driver).filter(({ windowNo }) => windowNo === 1);
    granted(driver.run(driver.make.settle(id, 20)));
    expect(countersOf(driver).filter(({ windowNo }) => windowNo === 1)).toEqual(before);
    expect(countersOf(driver)[0]).toMatchObject({ settledMicros: 20n });
  });

  it('of a window that is gone, or of a budget that is not here, is asked for by nobody or by all', () => {
    const driver = withDays();
    const id = driver.hold('t', 30);
    const account = dayOf(driver, id);
    driver.run(driver.make.update('t', { limits: 100 }));
    expect(driver.state.hasCounters([account])).toBe(true);
    expect(driver.state.hasCounters([{ ...account, budgetNo: 9 }])).toBe(false);
  });
});

describe('a batch that is taken back', () => {
  it('takes its periods, steps, rates and windows with it', () => {
    const driver = withDays();
    const { make, state } = driver;
    driver.run(make.update('t', { rates: [{ kind: 'requests', count: 1, perMs: 1_000, burst: 5 }] }));
    const id = driver.hold('t', 30, { ttlMs: DAY_MS });
    const before = pictureOf(state);
    driver.advance(DAY_MS - SECOND_MS);
    for (const command of [
      make.settle(id, 20, { keepOpen: true }),
      make.reserve('t', 5),
      make.update('t', { limits: { hour: per('hour', 90), moment: rolling(10 * SECOND_MS, 100) } }),
      make.reserve('t', 6),
    ]) {
      const { answer, entries } = driver.decide(command);
      expect(answer.kind).not.toBe('refusal');
      for (const entry of entries) apply(state, entry);
    }
    expect(pictureOf(state)).not.toEqual(before);
    state.rollback();
    expect(pictureOf(state)).toEqual(before);
    // And what is reserved next has the windows that are there.
    expect(granted(driver.run(make.reserve('t', 1))).reservation.accounts.map(({ windowNo }) => windowNo)).toEqual([
      0, 1, 2,
    ]);
  });
});
