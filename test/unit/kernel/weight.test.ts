// What records weigh: usual ones 1, and those that charge or name very much as many times that as they take.
import { describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import type { Reservation } from '../../../src/kernel/reservation.ts';
import { entryWeight, reservationWeight } from '../../../src/kernel/weight.ts';
import { rollingRule } from '../../../src/kernel/window.ts';
import { KernelDriver } from '../../support/kernel-driver.ts';

const ACCOUNTS = (count: number) =>
  Array.from({ length: count }, (_, windowNo) => ({ budgetNo: 1, windowNo, periodMs: 0 }));

describe('weight', () => {
  it('is 1 for every entry of a usual tree', () => {
    const driver = new KernelDriver();
    const { make } = driver;
    driver.run(make.create('t', { limits: 100 }));
    driver.run(make.create('t/a', { limits: 50 }));
    driver.run(make.settle(driver.hold('t/a', 5), 4));
    driver.run(make.release(driver.hold('t/a', 5)));
    driver.run(make.topUp('t', 1));
    driver.run(make.reserve('t', 1_000));
    expect(driver.journal.map(entryWeight)).toEqual(driver.journal.map(() => 1));
  });

  it('grows with the accounts that a reservation charges, and with the entries that move them', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.hold('t', 5);
    const granted = driver.journal.at(-1);
    if (granted?.type !== 'Granted') throw new Error('a hold is a grant');
    const accounts = ACCOUNTS(2_448);
    const reservation: Reservation = { ...granted.reservation, accounts };
    const effects = granted.effects.map((effect) => ({ ...effect, accounts }));
    expect(reservationWeight(reservation)).toBe(77);
    expect(entryWeight({ ...granted, reservation, effects })).toBe(77);
  });

  it('grows with the windows in which a budget counts children apart', () => {
    const driver = new KernelDriver();
    const { make } = driver;
    driver.run(make.create('t', { limits: 1_000 }));
    for (let n = 0; n < 64; n += 1) driver.run(make.create(`t/c${n}`, { floor: 1 }));
    const last = driver.journal.at(-1);
    if (last === undefined) throw new Error('nothing is written');
    // 64 lifetime windows, one limit, and the counter that the last one opens.
    expect(entryWeight(last)).toBe(1 + Math.floor((64 + 2 + 1) / 32));
    expect(driver.state.budgetAt('t' as never)?.def.windows).toHaveLength(65);
  });

  it('of budgets is known whatever becomes of them', () => {
    const driver = new KernelDriver();
    const { make, state } = driver;
    const limits = Object.fromEntries(
      Array.from({ length: 16 }, (_, no) => [`l${no}`, { rule: rollingRule((no + 1) * 60_000), amount: 100 }]),
    );
    driver.run(make.create('t', { limits: 100 }));
    expect(state.budgetsWeight).toBe(1);
    driver.run(make.create('t/a', { limits }));
    expect(state.budgetsWeight).toBe(1 + 9);
    for (const entry of driver.decide(make.update('t', { limits })).entries) apply(state, entry);
    for (const entry of driver.decide(make.create('t/b', { limits })).entries) apply(state, entry);
    expect(state.budgetsWeight).toBe(9 + 9 + 9);
    state.rollback();
    expect(state.budgetsWeight).toBe(1 + 9);
    state.evictBudgets(1);
    expect(state.budgetsWeight).toBe(1);
  });
});
