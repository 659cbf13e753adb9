import { describe, expect, it } from 'vitest';
import { personalFields } from '../../support/commands.ts';
import { budgetOf, granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

function withBudget(): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: { a: 100, b: 200 }, owner: 'ops', budgetKind: 'tenant' }));
  return driver;
}

describe('UpdateBudget', () => {
  it('changes what is named, leaves the rest, raises the revision', () => {
    const driver = withBudget();
    driver.advance(1_000);
    const before = driver.state.budgetAt('t' as never)?.def;
    const { def } = budgetOf(driver.run(driver.make.update('t', { owner: 'finance', onExpiry: 'charge' })));
    expect(def).toEqual({ ...before, owner: 'finance', onExpiry: 'charge', revision: 2, updateMs: START_MS + 1_000 });
    expect(budgetOf(driver.run(driver.make.update('t', { budgetKind: 'team' }))).def).toMatchObject({
      kind: 'team',
      owner: 'finance',
      revision: 3,
    });
    expect(driver.journal.at(-1)).toMatchObject({ type: 'BudgetUpdated', def: { revision: 3 } });
  });

  it('replaces limits whole: those that keep their names keep their numbers, numbers are never used again', () => {
    const driver = withBudget();
    driver.hold('t', 40);
    const numbers = (limits: Readonly<Record<string, number>>) =>
      budgetOf(driver.run(driver.make.update('t', { limits }))).def.limits.map(({ name, no }) => [name, no]);
    expect(numbers({ c: 10, b: 150 })).toEqual([
      ['c', 3],
      ['b', 2],
    ]);
    expect(numbers({ a: 90 })).toEqual([['a', 4]]);
    expect(driver.balances('t')).toMatchObject({ held: 40n, available: 50n });
  });

  it('is refused for a revision that has passed, and passes for the one that is', () => {
    const driver = withBudget();
    budgetOf(driver.run(driver.make.update('t', { owner: 'x', revision: 1 })));
    const refusal = refused(driver.run(driver.make.update('t', { owner: 'y', revision: 1 })));
    expect(refusal).toMatchObject({ reason: 'ETAG_MISMATCH', budget: 't' });
    expect(driver.state.budgetAt('t' as never)?.def).toMatchObject({ owner: 'x', revision: 2 });
  });

  it('is refused where closed, at any level, and where nothing is', () => {
    const driver = withBudget();
    driver.run(driver.make.create('t/c'));
    driver.run(driver.make.close('t'));
    expect(refused(driver.run(driver.make.update('t/c', { owner: 'x' })))).toMatchObject({
      reason: 'BUDGET_CLOSED',
      budget: 't',
    });
    expect(refused(driver.run(driver.make.update('t/x')))).toMatchObject({ reason: 'BUDGET_NOT_FOUND' });
  });

  it('replaces labels only where it says so', () => {
    const driver = withBudget();
    const labels = () => budgetOf(driver.run(driver.make.getBudget('t'))).labels;
    driver.run(driver.make.update('t', { replaceLabels: true, personal: personalFields('', 'one') }));
    expect(labels()).toEqual([['label', 'one']]);
    driver.run(driver.make.update('t', { owner: 'x' }));
    expect(labels()).toEqual([['label', 'one']]);
    driver.run(driver.make.update('t', { replaceLabels: true }));
    expect(labels()).toEqual([]);
  });
});

describe('an amount lowered below what is settled and held', () => {
  it('stops admission until it fits again, and takes nothing away', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.settle(driver.hold('t', 30), 30));
    const id = driver.hold('t', 50);
    budgetOf(driver.run(driver.make.update('t', { limits: 60 })));
    expect(driver.balances('t')).toEqual({ held: 50n, settled: 30n, overrun: 0n, available: 0n });
    expect(refused(driver.run(driver.make.reserve('t', 1)))).toMatchObject({ reason: 'CAPACITY_HELD' });
    expect(granted(driver.run(driver.make.reserve('t', 5, { min: 0 }))).reservation.figures.grantedMicros).toBe(0n);
    expect(refused(driver.run(driver.make.extend(id, 1)))).toMatchObject({ reason: 'CAPACITY_HELD' });
    driver.run(driver.make.update('t', { limits: 20 }));
    expect(refused(driver.run(driver.make.reserve('t', 1)))).toMatchObject({ reason: 'BUDGET_EXHAUSTED' });
    // The hold was promised: all of it settles. Past it there is no cover.
    const { figures } = granted(driver.run(driver.make.settle(id, 55))).reservation;
    expect(figures).toMatchObject({ settledMicros: 50n, overrunMicros: 5n });
    driver.run(driver.make.topUp('t', 66));
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 80n, overrun: 5n, available: 1n });
    driver.hold('t', 1);
  });
});
