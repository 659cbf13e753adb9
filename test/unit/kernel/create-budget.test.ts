import { describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import { NO_SHAPE } from '../../../src/kernel/budget.ts';
import { ENFORCED } from '../../../src/kernel/enforcement.ts';
import { ANY_MODEL } from '../../../src/kernel/price.ts';
import { budgetOf, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

describe('CreateBudget', () => {
  it('makes a tree, then its budgets, numbered in order', () => {
    const driver = new KernelDriver();
    const root = budgetOf(
      driver.run(driver.make.create('t', { limits: 100, unit: 'INR', owner: 'ops', budgetKind: 'tenant' })),
    );
    expect(root.def).toEqual({
      no: 1,
      path: 't',
      parentNo: undefined,
      kind: 'tenant',
      owner: 'ops',
      unit: 'INR',
      uncapped: false,
      windows: [{ no: 0, rule: { kind: 'lifetime' }, firstPeriodMs: 0 }],
      windowNoMax: 0,
      limits: [{ no: 1, name: 'lifetime', windowNo: 0, amountMicros: 100n, topUp: undefined }],
      limitNoMax: 1,
      rates: [],
      rateNoMax: 0,
      shape: NO_SHAPE,
      onExpiry: 'release',
      overrun: 'record',
      enforcement: ENFORCED,
      alertAt: [],
      weight: 1,
      floorMicros: 0n,
      sharePercent: undefined,
      childShares: [],
      models: ANY_MODEL,
      childTemplate: undefined,
      suspended: false,
      closed: false,
      revision: 1,
      createMs: START_MS,
      updateMs: START_MS,
    });
    const child = budgetOf(driver.run(driver.make.create('t/a', { limits: { day: 5, total: 7 } })));
    expect(child.def).toMatchObject({ no: 2, parentNo: 1, unit: 'INR', limitNoMax: 2 });
    expect(child.headroom).toEqual({ micros: 5n, budget: 't/a', limit: 'day' });
    expect(child.standings.map(({ limit, counter }) => [limit.name, limit.no, counter.heldMicros])).toEqual([
      ['day', 1, 0n],
      ['total', 2, 0n],
    ]);
    expect(budgetOf(driver.run(driver.make.create('t/a/b'))).def).toMatchObject({ no: 3, parentNo: 2 });
  });

  it('counts in USD where a root names no unit', () => {
    const driver = new KernelDriver();
    expect(budgetOf(driver.run(driver.make.create('t', { limits: 1 }))).def.unit).toBe('USD');
  });

  it.each(['usd', 'Usd', 'uSD'])('makes no tree in %s, and names what is wrong beside it', (unit) => {
    const driver = new KernelDriver();
    const refusal = refused(driver.run(driver.make.create('t', { unit })));
    expect(refusal).toMatchObject({
      reason: 'INVALID_FIELD',
      fields: [{ field: 'budget.uncapped' }, { field: 'budget.unit' }],
    });
    expect(driver.journal).toEqual([]);
    const change = { ...driver.make.create('t', { limits: 1, unit }), key: undefined };
    const applied = { ...change, kind: 'ApplyBudgets', changes: [change], dryRun: false } as const;
    expect(refused(driver.run(applied)).fields).toMatchObject([{ field: 'changes[0].create.budget.unit' }]);
    expect(driver.state.counts().budgets).toBe(0);
  });

  it('leaves a tree that counts in usd what it is: a repeat of its making is answered, and its unit may be named', () => {
    const driver = new KernelDriver();
    const made = driver.make.create('t', { limits: 100, unit: 'INR', key: 'k' });
    for (const entry of driver.decide(made).entries) {
      apply(driver.state, 'def' in entry ? { ...entry, def: { ...entry.def, unit: 'usd' } } : entry);
    }
    driver.state.commit();
    const again = budgetOf(driver.run({ ...made, unit: 'usd' }));
    expect([again.replayed, again.def.unit]).toEqual([true, 'usd']);
    expect(budgetOf(driver.run(driver.make.create('t/x', { unit: 'usd' }))).def.unit).toBe('usd');
    expect(refused(driver.run(driver.make.create('t', { limits: 1, unit: 'usd' }))).reason).toBe('BUDGET_EXISTS');
  });

  it.each([
    ['what exists', 't', {}, { reason: 'BUDGET_EXISTS', budget: 't' }],
    ['what has no parent', 't/ghost/x', {}, { reason: 'BUDGET_NOT_FOUND', budget: 't/ghost' }],
    [
      'another unit than the tree',
      't/x',
      { unit: 'INR' },
      { reason: 'INVALID_FIELD', fields: [{ field: 'budget.unit' }] },
    ],
    ['what is below a closed budget', 't/shut/x', {}, { reason: 'BUDGET_CLOSED', budget: 't/shut' }],
  ])('refuses %s', (_, path, options, expected) => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/shut'));
    driver.run(driver.make.close('t/shut'));
    const refusal = refused(driver.run(driver.make.create(path, options)));
    expect(refusal).toMatchObject(expected);
    expect(driver.state.counts().budgets).toBe(2);
  });

  it('takes the unit of the tree where it is named again', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100, unit: 'INR' }));
    expect(budgetOf(driver.run(driver.make.create('t/x', { unit: 'INR' }))).def).toMatchObject({ no: 2, unit: 'INR' });
    expect(driver.state.counts().budgets).toBe(2);
  });

  it('names every field that is wrong', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { uncapped: true }));
    const refusal = refused(driver.run(driver.make.create('t/x', { unit: 'INR' })));
    expect(refusal.fields?.map(({ field }) => field)).toEqual(['budget.uncapped', 'budget.unit']);
    expect(refusal.message).toContain('budget.uncapped: ');
    expect(refusal.message).toContain('budget.unit: ');
  });
});

describe('a budget without a limit on itself or above', () => {
  it('must say that it is uncapped', () => {
    const driver = new KernelDriver();
    const refusal = refused(driver.run(driver.make.create('t')));
    expect(refusal).toMatchObject({ reason: 'INVALID_FIELD', fields: [{ field: 'budget.uncapped' }] });
    expect(driver.state.counts().budgets).toBe(0);
    expect(budgetOf(driver.run(driver.make.create('t', { uncapped: true }))).headroom.micros).toBeUndefined();
  });

  it('is not made by an edit either', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    const refusal = refused(driver.run(driver.make.update('t', { limits: {} })));
    expect(refusal).toMatchObject({ reason: 'INVALID_FIELD', fields: [{ field: 'budget.uncapped' }] });
    budgetOf(driver.run(driver.make.update('t', { limits: {}, uncapped: true })));
    expect(refused(driver.run(driver.make.update('t', { uncapped: false })))).toMatchObject({
      reason: 'INVALID_FIELD',
    });
    budgetOf(driver.run(driver.make.update('t', { limits: 5, uncapped: false })));
  });

  it('must say so even below one that says so', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { uncapped: true }));
    expect(refused(driver.run(driver.make.create('t/a')))).toMatchObject({
      reason: 'INVALID_FIELD',
      fields: [{ field: 'budget.uncapped' }],
    });
    expect(driver.state.counts().budgets).toBe(1);
    driver.run(driver.make.create('t/a', { uncapped: true }));
    driver.run(driver.make.create('t/b', { limits: 5 }));
    expect(budgetOf(driver.run(driver.make.create('t/b/c'))).def.uncapped).toBe(false);
    expect(refused(driver.run(driver.make.create('t/a/x')))).toMatchObject({ reason: 'INVALID_FIELD' });
  });

  it('that lost the limit above it may be edited, but not in what it says of limits', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/a'));
    expect(refused(driver.run(driver.make.update('t', { limits: {} })))).toMatchObject({ reason: 'INVALID_FIELD' });
    budgetOf(driver.run(driver.make.update('t', { limits: {}, uncapped: true })));
    expect(driver.balances('t/a').available).toBeUndefined();
    expect(budgetOf(driver.run(driver.make.update('t/a', { owner: 'x' }))).def.owner).toBe('x');
    for (const options of [{ limits: {} }, { uncapped: false }]) {
      expect(refused(driver.run(driver.make.update('t/a', options)))).toMatchObject({
        fields: [{ field: 'budget.uncapped' }],
      });
    }
    expect(budgetOf(driver.run(driver.make.update('t/a', { uncapped: true }))).def.uncapped).toBe(true);
  });

  it('may be silent below a limit', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/a'));
    expect(budgetOf(driver.run(driver.make.create('t/a/b'))).headroom).toMatchObject({ micros: 100n, budget: 't' });
  });
});
