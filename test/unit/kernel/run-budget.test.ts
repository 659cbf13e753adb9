import { describe, expect, it } from 'vitest';
import type { BudgetPath } from '../../../src/kernel/names.ts';
import { budgetOf, granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';
import { DAY_MS, HOUR_MS, per } from '../../support/windows.ts';

type Terms = Parameters<KernelDriver['make']['terms']>[0];

/** A tree of which every run may have `run`, with the rest of the root's terms in `root`. */
function withRuns(run: Terms, root: Parameters<KernelDriver['make']['create']>[1] = {}): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 10_000, owner: 'ops', ...root, template: driver.make.terms(run) }));
  return driver;
}

const at = (driver: KernelDriver, path: string) => driver.state.budgetAt(path as BudgetPath);
const paths = (driver: KernelDriver) => [...driver.state.budgets()].map(({ def }) => def.path).sort();

describe('a run budget', () => {
  it('is made by its first granted Reserve, in the same decision, and once', () => {
    const driver = withRuns({
      limits: 100,
      budgetKind: 'run',
      onExpiry: 'charge',
      overrun: 'reject',
      rates: [],
      shape: { maxActive: 3 },
    });
    driver.advance(5_000);
    const command = driver.make.reserve('t/u', 40, { key: 'k' });
    const { entries } = driver.decide(command);
    expect(entries.map(({ type, seq, key }) => [type, seq, key])).toEqual([
      ['BudgetCreated', 2, undefined],
      ['Granted', 3, command.key],
    ]);
    const answer = granted(driver.run(command));
    expect(answer.reservation).toMatchObject({ budget: 't/u', budgetNo: 2 });
    expect(answer.headroom).toEqual({ micros: 60n, budget: 't/u', limit: 'lifetime' });
    expect(at(driver, 't/u')?.def).toMatchObject({
      no: 2,
      parentNo: 1,
      kind: 'run',
      owner: 'ops',
      unit: 'USD',
      onExpiry: 'charge',
      overrun: 'reject',
      revision: 1,
      createMs: START_MS + 5_000,
    });
    expect(at(driver, 't')).toMatchObject({ openChildCount: 1, activeCount: 1 });
    driver.hold('t/u', 60);
    expect(refused(driver.run(driver.make.reserve('t/u', 1)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 't/u',
    });
    expect(paths(driver)).toEqual(['t', 't/u']);
    expect(granted(driver.run(driver.make.again(command))).replayed).toBe(true);
  });

  it('is not made by a refusal, whatever its reason, nor by a dry run', () => {
    const driver = withRuns({ limits: { own: 1 } }, { limits: 50 });
    const before = { budgets: [...driver.state.budgets()], count: driver.state.position.budgetCount };
    expect(refused(driver.run(driver.make.reserve('t/u', 500)))).toMatchObject({
      reason: 'EXCEEDS_LIMIT',
      budget: 't/u',
    });
    const dry = granted(driver.run(driver.make.reserve('t/u', 1, { dryRun: true })));
    expect(dry).toMatchObject({
      dryRun: true,
      reservation: { budget: 't/u' },
      headroom: { micros: 0n, budget: 't/u' },
    });
    driver.run(driver.make.settle(driver.hold('t', 50), 50));
    expect(refused(driver.run(driver.make.reserve('t/u', 1)))).toMatchObject({
      reason: 'BUDGET_EXHAUSTED',
      budget: 't',
    });
    expect(paths(driver)).toEqual(['t']);
    expect([at(driver, 't')?.openChildCount, driver.state.position.budgetCount]).toEqual([0, before.count]);
    // The journal names no budget that is not there.
    expect(driver.journal.at(-1)).toMatchObject({ type: 'Refused', budget: 't/u', revisions: [[1, 1]] });
  });

  it('stays under every ceiling above, and its own count from nothing', () => {
    const driver = withRuns({ limits: { own: 100, day: per('day', 60) } }, { limits: 70 });
    driver.hold('t/u', 60);
    expect(refused(driver.run(driver.make.reserve('t/v', 11))).budget).toBe('t');
    expect(granted(driver.run(driver.make.reserve('t/v', 60, { min: 1 }))).reservation.figures.grantedMicros).toBe(10n);
    expect(at(driver, 't/v')?.def.windows).toMatchObject([{ no: 0 }, { no: 1, firstPeriodMs: Date.UTC(2026, 2, 2) }]);
  });

  it('may hold a template itself: a step under its run, both made at once', () => {
    const driver = withRuns({ limits: 30 });
    driver.run(
      driver.make.update('t', {
        template: { to: driver.make.terms({ limits: 30, template: driver.make.terms({ budgetKind: 'step' }) }) },
      }),
    );
    const { entries } = driver.decide(driver.make.reserve('t/u/s', 20));
    expect(entries.map(({ type }) => type)).toEqual(['BudgetCreated', 'BudgetCreated', 'Granted']);
    driver.hold('t/u/s', 20);
    expect(at(driver, 't/u/s')?.def).toMatchObject({ no: 3, parentNo: 2, kind: 'step', limits: [] });
    expect(refused(driver.run(driver.make.reserve('t/u/r', 11)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 't/u',
    });
    expect(refused(driver.run(driver.make.reserve('t/u/s/deeper', 1)))).toMatchObject({
      reason: 'BUDGET_NOT_FOUND',
      budget: 't/u/s/deeper',
    });
    expect(paths(driver)).toEqual(['t', 't/u', 't/u/s']);
  });

  it('is not made where nothing above says how', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 10 }));
    expect(refused(driver.run(driver.make.reserve('t/u', 1)))).toMatchObject({
      reason: 'BUDGET_NOT_FOUND',
      budget: 't/u',
    });
    const templated = withRuns({ limits: 5 });
    expect(refused(templated.run(templated.make.reserve('t/u/s', 1))).reason).toBe('BUDGET_NOT_FOUND');
    expect(paths(templated)).toEqual(['t']);
  });

  it('is capped in number and depth; closed ones make room and are not made again', () => {
    const driver = withRuns(
      { limits: 5, template: new KernelDriver().make.terms() },
      { shape: { maxChildren: 2, maxDepth: 1 } },
    );
    driver.hold('t/u', 1);
    expect(refused(driver.run(driver.make.reserve('t/u/s', 1)))).toMatchObject({
      reason: 'DEPTH_LIMIT',
      budget: 't',
      bound: { max: 1, observed: 2 },
    });
    driver.hold('t/v', 1);
    const full = refused(driver.run(driver.make.reserve('t/w', 1)));
    expect(full).toMatchObject({
      reason: 'FAN_OUT_LIMIT',
      budget: 't',
      bound: { name: 'max_children', max: 2, observed: 2 },
    });
    expect(full.retryAfterMs).toBeUndefined();
    driver.run(driver.make.close('t/u'));
    driver.hold('t/w', 1);
    expect(refused(driver.run(driver.make.reserve('t/u', 1)))).toMatchObject({
      reason: 'BUDGET_CLOSED',
      budget: 't/u',
    });
    expect(refused(driver.run(driver.make.reserve('t/x', 1))).reason).toBe('FAN_OUT_LIMIT');
  });

  it('counts two made at once under one parent', () => {
    const driver = withRuns({ limits: 5 }, { shape: { maxChildren: 2 } });
    driver.hold('t/u', 1);
    expect(refused(driver.run(driver.make.reserve('t/v', 1, { also: ['t/w'] }))).reason).toBe('FAN_OUT_LIMIT');
    expect(paths(driver)).toEqual(['t', 't/u']);
    driver.run(driver.make.close('t/u'));
    driver.hold('t/v', 1, { also: ['t/w'] });
    expect(at(driver, 't')?.openChildCount).toBe(2);
  });

  it('is not made below what is suspended or closed', () => {
    const driver = withRuns({ limits: 5 });
    driver.run(driver.make.suspend('t'));
    expect(refused(driver.run(driver.make.reserve('t/u', 1)))).toMatchObject({
      reason: 'BUDGET_SUSPENDED',
      budget: 't',
    });
    driver.run(driver.make.resume('t'));
    driver.run(driver.make.close('t'));
    expect(refused(driver.run(driver.make.reserve('t/u', 1)))).toMatchObject({ reason: 'BUDGET_CLOSED', budget: 't' });
    expect(paths(driver)).toEqual(['t']);
  });

  it('is asked for its own rate and slots before it is there', () => {
    const driver = withRuns({ limits: 5, shape: { maxActive: 0 } });
    expect(refused(driver.run(driver.make.reserve('t/u', 1)))).toMatchObject({
      reason: 'CONCURRENCY_LIMIT',
      budget: 't/u',
    });
    const rated = withRuns({ limits: 5, rates: [{ kind: 'requests', count: 1, perMs: 1_000, burst: 1 }] });
    rated.hold('t/u', 1);
    expect(refused(rated.run(rated.make.reserve('t/u', 1)))).toMatchObject({ reason: 'RATE_LIMITED', budget: 't/u' });
    rated.hold('t/v', 1);
  });
});

describe('a template', () => {
  it('must be capped as a budget must, at every level', () => {
    const driver = new KernelDriver();
    const { make } = driver;
    const open = make.terms({ template: make.terms() });
    expect(refused(driver.run(make.create('t', { uncapped: true, template: open })))).toMatchObject({
      reason: 'INVALID_FIELD',
      fields: [{ field: 'budget.child_template.uncapped' }, { field: 'budget.child_template.child_template.uncapped' }],
    });
    budgetOf(
      driver.run(make.create('t', { uncapped: true, template: make.terms({ limits: 5, template: make.terms() }) })),
    );
    expect(refused(driver.run(make.update('t', { template: { to: make.terms() } }))).reason).toBe('INVALID_FIELD');
    budgetOf(driver.run(make.update('t', { template: { to: make.terms({ uncapped: true }) } })));
    budgetOf(driver.run(make.update('t', { template: { to: undefined } })));
    expect(refused(driver.run(make.reserve('t/u', 1))).reason).toBe('BUDGET_NOT_FOUND');
  });

  it('that is edited changes what is made from then on, and nothing that is there', () => {
    const driver = withRuns({ limits: 5 });
    driver.hold('t/u', 5);
    driver.run(driver.make.update('t', { template: { to: driver.make.terms({ limits: 7 }) } }));
    driver.hold('t/v', 7);
    expect([at(driver, 't/u'), at(driver, 't/v')].map((each) => each?.def.limits[0]?.amountMicros)).toEqual([5n, 7n]);
  });
});

describe('CloseIdle', () => {
  const idle = () => withRuns({ limits: 50, shape: { closeAfterMs: HOUR_MS } });
  const close = (driver: KernelDriver, path = 't/u') => budgetOf(driver.run(driver.make.closeIdle(path))).def.closed;

  it('closes what has had no live hold and no movement for as long as it says', () => {
    const driver = idle();
    const id = driver.hold('t/u', 5, { ttlMs: DAY_MS });
    driver.advance(2 * HOUR_MS);
    expect(close(driver)).toBe(false);
    driver.run(driver.make.settle(id, 5));
    driver.advance(HOUR_MS - 1);
    expect(close(driver)).toBe(false);
    driver.advance(1);
    expect(close(driver)).toBe(true);
    expect(driver.journal.at(-1)).toMatchObject({
      type: 'BudgetClosed',
      reason: 'idle for 3600 s',
      openChildren: -1,
      def: { revision: 2 },
    });
    expect(at(driver, 't')?.openChildCount).toBe(0);
    expect(refused(driver.run(driver.make.reserve('t/u', 1))).reason).toBe('BUDGET_CLOSED');
  });

  it('closes once, never what has no age to close at, and counts from the creation where nothing moved', () => {
    const driver = idle();
    driver.run(driver.make.create('t/a', { shape: { closeAfterMs: HOUR_MS } }));
    driver.advance(HOUR_MS);
    expect(close(driver, 't/a')).toBe(true);
    const count = driver.journal.length;
    expect(close(driver, 't/a')).toBe(true);
    expect(close(driver, 't')).toBe(false);
    expect(driver.journal.length).toBe(count);
    expect(refused(driver.run(driver.make.closeIdle('t/none'))).reason).toBe('BUDGET_NOT_FOUND');
  });

  it('is idle from the lapse of its last hold on, whenever that is written down', () => {
    const driver = idle();
    driver.hold('t/u', 5, { ttlMs: 60_000 });
    driver.advance(60_000 + HOUR_MS - 1);
    expect(close(driver)).toBe(false);
    const other = idle();
    other.hold('t/u', 5, { ttlMs: 60_000 });
    other.advance(60_000 + HOUR_MS);
    expect(close(other)).toBe(true);
  });

  it('takes what happens below for movement', () => {
    const driver = idle();
    driver.run(driver.make.create('t/a', { shape: { closeAfterMs: HOUR_MS } }));
    driver.run(driver.make.create('t/a/x'));
    driver.advance(HOUR_MS - 1);
    driver.run(driver.make.release(driver.hold('t/a/x', 0)));
    driver.advance(1);
    expect(close(driver, 't/a')).toBe(false);
  });
});
