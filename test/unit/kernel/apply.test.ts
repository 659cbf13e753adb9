import { describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import type { BudgetChange, Entry } from '../../../src/kernel/entry.ts';
import { InvariantError } from '../../../src/kernel/invariant.ts';
import type { BudgetPath, ReservationId, TreeId } from '../../../src/kernel/names.ts';
import { TreeState } from '../../../src/kernel/tree-state.ts';
import { KernelDriver } from '../../support/kernel-driver.ts';

function played(): { driver: KernelDriver; id: string } {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/c'));
  return { driver, id: driver.hold('t/c', 30) };
}

const empty = (seq = 0) => new TreeState('t' as TreeId, { seq, atMs: 0, budgetCount: 0 });

describe('apply', () => {
  it.each([
    ['a gap', (entry: Entry) => ({ ...entry, seq: entry.seq + 1 })],
    ['a repeat', (entry: Entry) => ({ ...entry, seq: entry.seq - 1 })],
    ['time going back', (entry: Entry) => ({ ...entry, atMs: entry.atMs - 1 })],
  ])('refuses %s', (_, spoil) => {
    const { driver, id } = played();
    const [entry] = driver.decide(driver.make.release(id)).entries;
    expect(() => apply(driver.state, spoil(entry as Entry))).toThrow(InvariantError);
  });

  it.each([
    ['path', { no: 3 }],
    ['number', { path: 't/d' as BudgetPath }],
  ])('refuses to make a budget again under a known %s', (_, over) => {
    const { driver } = played();
    const made = driver.journal.findLast((entry) => entry.type === 'BudgetCreated') as BudgetChange;
    const { seq } = driver.state.position;
    const again: Entry = { ...made, seq: seq + 1, key: undefined, def: { ...made.def, ...over } };
    expect(() => apply(driver.state, again)).toThrow(InvariantError);
  });

  it('refuses an effect that would take a counter below 0', () => {
    const { driver, id } = played();
    const [entry] = driver.decide(driver.make.release(id)).entries as [Entry & { type: 'Released' }];
    const tooMuch = { ...entry, effects: entry.effects.map((effect) => ({ ...effect, heldMicros: -31n })) };
    expect(() => apply(driver.state, tooMuch)).toThrow(/below 0/);
    driver.state.rollback();
    const twice = { ...entry, effects: entry.effects.map((effect) => ({ ...effect, active: -2 })) };
    expect(() => apply(driver.state, twice)).toThrow(/below 0/);
    driver.state.rollback();
    apply(driver.state, entry);
  });

  it('refuses an effect on a counter that is not there', () => {
    const { driver, id } = played();
    const [entry] = driver.decide(driver.make.release(id)).entries as [Entry & { type: 'Released' }];
    const accounts = [{ budgetNo: 1, windowNo: 7, periodMs: 0 }];
    const elsewhere = { ...entry, effects: entry.effects.map((effect) => ({ ...effect, accounts })) };
    expect(() => apply(driver.state, elsewhere)).toThrow(/no counter/);
  });

  it('moves a part of a tree by what concerns it', () => {
    const { driver, id } = played();
    driver.run(driver.make.settle(id, 10, { keepOpen: true }));
    driver.run(driver.make.renew(id, 90_000));
    driver.run(driver.make.update('t/c', { owner: 'x' }));
    const part = empty(2);
    const root = driver.state.budget(1);
    if (root === undefined) throw new Error('the root is loaded');
    const [lifetime] = root.counters;
    if (lifetime === undefined) throw new Error('a budget has its lifetime counter');
    part.putBudget({
      ...root,
      recent: undefined,
      counters: [{ ...lifetime, heldMicros: 0n, settledMicros: 0n }],
      activeCount: 0,
    });
    for (const entry of driver.journal.slice(2)) apply(part, entry);
    expect(part.budget(1)).toEqual(driver.state.budget(1));
    expect(part.budget(2)).toBeUndefined();
    expect(part.reservation(id as ReservationId)).toEqual(driver.reservation(id));
    expect(part.position.seq).toBe(driver.state.position.seq);
  });

  it('passes over reservations that are not loaded', () => {
    const { driver, id } = played();
    driver.run(driver.make.settle(id, 10));
    const part = empty(driver.journal.length - 1);
    apply(part, driver.journal.at(-1) as Entry);
    expect(part.counts()).toEqual({ budgets: 0, reservations: 0, remembered: 0 });
  });
});

describe('decide', () => {
  it('refuses to go back in time or into another tree', () => {
    const { driver } = played();
    driver.nowMs -= 1;
    expect(() => driver.decide(driver.make.reserve('t', 1))).toThrow(InvariantError);
    const other = new KernelDriver('other');
    expect(() => other.decide(driver.make.reserve('t', 1))).toThrow(InvariantError);
  });

  it('changes nothing by itself', () => {
    const { driver, id } = played();
    const { seq } = driver.state.position;
    const first = driver.decide(driver.make.settle(id, 5));
    expect(driver.decide(driver.make.settle(id, 5))).toEqual(first);
    driver.decide(driver.make.create('t/new'));
    expect(driver.state.position.seq).toBe(seq);
    expect(driver.state.budgetAt('t/new' as never)).toBeUndefined();
  });

  it('reads nothing that is not there', () => {
    const { driver } = played();
    expect(driver.run(driver.make.getBudget('t/x'))).toMatchObject({ reason: 'BUDGET_NOT_FOUND', budget: 't/x' });
    expect(driver.run(driver.make.getReservation('nowhere000'))).toMatchObject({ reason: 'RESERVATION_NOT_FOUND' });
  });
});
