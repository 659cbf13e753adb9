import { describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import type { Entry } from '../../../src/kernel/entry.ts';
import type { ReservationId } from '../../../src/kernel/names.ts';
import { KernelDriver } from '../../support/kernel-driver.ts';
import { pictureOf } from '../../support/picture-of.ts';
import { DAY_MS, MINUTE_MS, rolling } from '../../support/windows.ts';

function withHold(): { driver: KernelDriver; id: string } {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100 }));
  return { driver, id: driver.hold('t', 30, { key: 'k', ttlMs: 1_000 }) };
}

function applyUncommitted(driver: KernelDriver, entries: readonly Entry[]): void {
  for (const entry of entries) apply(driver.state, entry);
}

describe('rollback', () => {
  it('takes back budgets, reservations, counters, leases, keys and the position', () => {
    const { driver, id } = withHold();
    const before = pictureOf(driver.state);
    const { make, state } = driver;
    applyUncommitted(driver, driver.decide(make.create('t/c', { key: 'c' })).entries);
    applyUncommitted(driver, driver.decide(make.reserve('t/c', 5, { key: 'x', ttlMs: 500 })).entries);
    applyUncommitted(driver, driver.decide(make.renew(id, 9_000)).entries);
    applyUncommitted(driver, driver.decide(make.settle(id, 3, { key: 's' })).entries);
    expect(pictureOf(state)).not.toEqual(before);
    state.rollback();
    expect(pictureOf(state)).toEqual(before);
    expect(state.due(driver.nowMs + 1_000, 9)).toMatchObject([{ id }]);
    expect(state.budgetAt('t/c' as never)).toBeUndefined();
  });

  it('after a commit has nothing to take back', () => {
    const { driver } = withHold();
    const before = pictureOf(driver.state);
    driver.state.rollback();
    expect(pictureOf(driver.state)).toEqual(before);
  });

  it('takes back counters that moved in the same batch as their budget was edited', () => {
    const { driver, id } = withHold();
    const before = pictureOf(driver.state);
    const { make, state } = driver;
    for (const command of [make.extend(id, 10), make.topUp('t', 50), make.reserve('t', 5), make.settle(id, 20)]) {
      applyUncommitted(driver, driver.decide(command).entries);
    }
    expect(driver.decide(make.getBudget('t')).answer).toMatchObject({
      lifetime: { heldMicros: 5n, settledMicros: 20n },
      headroom: { micros: 125n },
    });
    state.rollback();
    expect(pictureOf(state)).toEqual(before);
  });

  it('is not felt by answers that were given, nor is what the batch does next', () => {
    const { driver, id } = withHold();
    const { make, state } = driver;
    const { answer } = driver.decide(make.getBudget('t'));
    const asGiven = structuredClone(answer);
    applyUncommitted(driver, driver.decide(make.extend(id, 10)).entries);
    const during = driver.decide(make.topUp('t', 1)).answer;
    const duringAsGiven = structuredClone(during);
    applyUncommitted(driver, driver.decide(make.settle(id, 20)).entries);
    expect(during).toEqual(duringAsGiven);
    state.rollback();
    expect([answer, during]).toEqual([asGiven, duringAsGiven]);
  });

  it('lets a budget be made again elsewhere under the same number', () => {
    const { driver } = withHold();
    const { make, state } = driver;
    applyUncommitted(driver, driver.decide(make.create('t/a')).entries);
    applyUncommitted(driver, driver.decide(make.reserve('t/a', 1)).entries);
    state.rollback();
    driver.run(make.create('t/b', { limits: 10 }));
    driver.run(make.create('t/b/c', { limits: 5 }));
    driver.hold('t/b/c', 5);
    expect(driver.balances('t/b')).toMatchObject({ held: 5n });
    expect(driver.balances('t')).toMatchObject({ held: 35n });
  });
});

describe('eviction', () => {
  it('forgets a reservation and its lease, and nothing where it is not there', () => {
    const { driver, id } = withHold();
    driver.state.evictReservation('nowhere000' as ReservationId);
    driver.state.evictReservation(id as ReservationId);
    expect(driver.state.reservation(id as ReservationId)).toBeUndefined();
    expect(driver.state.due(driver.nowMs + 10_000, 9)).toEqual([]);
  });

  it('forgets the oldest keys first', () => {
    const { driver } = withHold();
    const late = driver.make.reserve('t', 1, { key: 'late' });
    driver.run(late);
    driver.state.evictRemembered(1);
    expect(driver.state.counts()).toEqual({ budgets: 1, reservations: 2, remembered: 1 });
    expect(driver.state.remembered(late.key?.digest ?? '')).toBeDefined();
    driver.state.evictRemembered(0);
    expect(driver.state.counts().remembered).toBe(0);
  });
});

describe('a batch that is sealed', () => {
  it('is final before the one that was decided on it, which is taken back alone', () => {
    const { driver, id } = withHold();
    const { make, state } = driver;
    applyUncommitted(driver, driver.decide(make.extend(id, 10)).entries);
    applyUncommitted(driver, driver.decide(make.create('t/a')).entries);
    const afterFirst = pictureOf(state);
    state.seal();
    applyUncommitted(driver, driver.decide(make.settle(id, 20, { key: 's' })).entries);
    applyUncommitted(driver, driver.decide(make.reserve('t/a', 5)).entries);
    state.seal();
    expect(state.isTentative).toBe(true);
    state.commit();
    expect(state.isTentative).toBe(true);
    state.rollback();
    expect(state.isTentative).toBe(false);
    expect(pictureOf(state)).toEqual(afterFirst);
  });

  it('is taken back with the one that was decided on it, to what it was before both', () => {
    const { driver, id } = withHold();
    const { make, state } = driver;
    const before = pictureOf(state);
    applyUncommitted(driver, driver.decide(make.extend(id, 10)).entries);
    applyUncommitted(driver, driver.decide(make.create('t/a', { key: 'a' })).entries);
    state.seal();
    applyUncommitted(driver, driver.decide(make.settle(id, 20, { key: 's' })).entries);
    applyUncommitted(driver, driver.decide(make.topUp('t/a', 5)).entries);
    state.seal();
    applyUncommitted(driver, driver.decide(make.reserve('t', 5)).entries);
    state.rollback();
    expect(state.isTentative).toBe(false);
    expect(pictureOf(state)).toEqual(before);
    expect(state.due(driver.nowMs + 1_000, 9)).toMatchObject([{ id }]);
  });

  it('takes its steps back with it, those that it made and those that it moved, and what they come to', () => {
    const driver = new KernelDriver();
    const { make, state } = driver;
    const limits = { short: rolling(MINUTE_MS, 1_000), long: rolling(DAY_MS, 1_000) };
    driver.run(make.create('t', { limits }));
    const ids = [1, 2, 3, 4].map(() => driver.hold('t', 50));
    driver.run(make.settle(ids[0] as string, 7));
    const before = pictureOf(state);
    expect(before.budgets[0]?.steps).toHaveLength(2);
    for (const [index, id] of ids.slice(1).entries()) {
      driver.advance(index * 20_000);
      applyUncommitted(driver, driver.decide(make.settle(id, 10 + index)).entries);
      if (index < 2) state.seal();
    }
    expect(driver.decide(make.getBudget('t')).answer).toMatchObject({ headroom: { micros: 1_000n - 7n - 33n } });
    state.rollback();
    expect(pictureOf(state)).toEqual(before);
    expect(driver.decide(make.getBudget('t')).answer).toMatchObject({ headroom: { micros: 1_000n - 7n - 150n } });
  });

  it('keeps its counters when the next one moves them', () => {
    const { driver, id } = withHold();
    const { make, state } = driver;
    applyUncommitted(driver, driver.decide(make.extend(id, 10)).entries);
    state.seal();
    const first = state.budgetAt('t' as never);
    applyUncommitted(driver, driver.decide(make.extend(id, 7)).entries);
    expect(first?.counters[0]?.heldMicros).toBe(40n);
    expect(state.budgetAt('t' as never)?.counters[0]?.heldMicros).toBe(47n);
  });
});
