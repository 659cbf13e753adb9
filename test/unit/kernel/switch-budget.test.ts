import { describe, expect, it } from 'vitest';
import { budgetOf, granted, KernelDriver, refused } from '../../support/kernel-driver.ts';

function withBudgets(): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/c'));
  driver.run(driver.make.create('t/c/d'));
  return driver;
}

describe('SuspendBudget and ResumeBudget', () => {
  it('cover the subtree and say which budget did it', () => {
    const driver = withBudgets();
    driver.run(driver.make.suspend('t/c', { reason: 'runaway' }));
    expect(driver.journal.at(-1)).toMatchObject({ type: 'BudgetSuspended', reason: 'runaway', def: { revision: 2 } });
    expect(budgetOf(driver.run(driver.make.getBudget('t/c/d')))).toMatchObject({ suspendedBy: 't/c', closedBy: '' });
    expect(refused(driver.run(driver.make.reserve('t/c/d', 1)))).toMatchObject({
      reason: 'BUDGET_SUSPENDED',
      budget: 't/c',
    });
    driver.hold('t', 1);
    expect(budgetOf(driver.run(driver.make.resume('t/c'))).def).toMatchObject({ suspended: false, revision: 3 });
    driver.hold('t/c/d', 1);
  });

  it('written down without effect: a refusal while suspended has no key', () => {
    const driver = withBudgets();
    driver.run(driver.make.suspend('t'));
    expect(refused(driver.run(driver.make.reserve('t/c', 5, { key: 'k' })))).toMatchObject({
      reason: 'BUDGET_SUSPENDED',
    });
    expect(driver.journal.at(-1)).toMatchObject({ type: 'Refused', key: undefined, refusal: { budget: 't' } });
    driver.run(driver.make.resume('t'));
    expect(granted(driver.run(driver.make.reserve('t/c', 5, { key: 'k' }))).replayed).toBe(false);
  });

  it('that change nothing raise no revision', () => {
    const driver = withBudgets();
    expect(budgetOf(driver.run(driver.make.resume('t', { key: 'k' }))).def.revision).toBe(1);
    driver.run(driver.make.suspend('t'));
    expect(budgetOf(driver.run(driver.make.suspend('t'))).def.revision).toBe(2);
    expect(budgetOf(driver.run(driver.make.resume('t', { key: 'k' }))).replayed).toBe(true);
  });

  it('find nothing where nothing is', () => {
    expect(refused(withBudgets().run(withBudgets().make.suspend('t/x')))).toMatchObject({ reason: 'BUDGET_NOT_FOUND' });
  });
});

describe('CloseBudget', () => {
  it('covers the subtree: no Reserve, no Extend, no edits; live holds end as usual', () => {
    const driver = withBudgets();
    const [settled, released, renewed] = [driver.hold('t/c/d', 10), driver.hold('t/c/d', 10), driver.hold('t/c/d', 10)];
    expect(budgetOf(driver.run(driver.make.close('t/c', { reason: 'done' })))).toMatchObject({
      def: { closed: true, revision: 2 },
      closedBy: 't/c',
      activeCount: 3,
    });
    const reason = { reason: 'BUDGET_CLOSED', budget: 't/c' };
    expect(refused(driver.run(driver.make.reserve('t/c/d', 1)))).toMatchObject(reason);
    expect(refused(driver.run(driver.make.extend(settled, 1)))).toMatchObject(reason);
    expect(refused(driver.run(driver.make.topUp('t/c/d', 1)))).toMatchObject(reason);
    granted(driver.run(driver.make.renew(renewed, 90_000)));
    granted(driver.run(driver.make.settle(settled, 10)));
    granted(driver.run(driver.make.release(released)));
    driver.advance(90_000);
    expect(budgetOf(driver.run(driver.make.getBudget('t/c')))).toMatchObject({ activeCount: 0 });
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 10n, overrun: 0n, available: 90n });
  });
});

describe('TopUp', () => {
  it('raises the only limit by what is added', () => {
    const driver = withBudgets();
    const answer = budgetOf(driver.run(driver.make.topUp('t', 50)));
    expect(answer.def).toMatchObject({ revision: 2, limits: [{ amountMicros: 150n }] });
    expect(answer.headroom.micros).toBe(150n);
    expect(driver.journal.at(-1)).toMatchObject({ type: 'BudgetToppedUp', addMicros: 50n });
  });

  it('names a limit where there are several', () => {
    const driver = withBudgets();
    driver.run(driver.make.update('t', { limits: { a: 10, b: 20 } }));
    const field = (limit?: string) =>
      refused(driver.run(driver.make.topUp('t', 5, limit === undefined ? {} : { limit }))).fields?.[0];
    expect(field()).toMatchObject({ field: 'limit', description: expect.stringContaining('a, b') as string });
    expect(field('c')).toMatchObject({ field: 'limit' });
    const { def } = budgetOf(driver.run(driver.make.topUp('t', 5, { limit: 'b' })));
    expect(def.limits.map(({ amountMicros }) => amountMicros)).toEqual([10n, 25n]);
  });

  it('takes a name where there is one limit, and refuses another', () => {
    const driver = withBudgets();
    budgetOf(driver.run(driver.make.topUp('t', 5, { limit: 'lifetime' })));
    expect(refused(driver.run(driver.make.topUp('t', 5, { limit: 'x' })))).toMatchObject({ reason: 'INVALID_FIELD' });
  });

  it('finds nothing to raise where no limit or no budget is', () => {
    const driver = withBudgets();
    expect(refused(driver.run(driver.make.topUp('t/c', 5)))).toMatchObject({ fields: [{ field: 'budget' }] });
    expect(refused(driver.run(driver.make.topUp('t/x', 5)))).toMatchObject({ reason: 'BUDGET_NOT_FOUND' });
  });
});
