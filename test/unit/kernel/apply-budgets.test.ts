// Edits of many budgets at once: judged by what they come to together, all or none, repeated as one.
import { describe, expect, it } from 'vitest';
import type { BudgetAnswer, BudgetsAnswer } from '../../../src/kernel/answer.ts';
import { apply } from '../../../src/kernel/apply.ts';
import { CHILD_SHARE_COUNT_MAX } from '../../../src/kernel/child-share.ts';
import type { BudgetEdit, Command } from '../../../src/kernel/command.ts';
import { rollingRule } from '../../../src/kernel/window.ts';
import { type Commands, personalFields } from '../../support/commands.ts';
import { budgetOf, granted, KernelDriver, refused } from '../../support/kernel-driver.ts';
import { pictureOf } from '../../support/picture-of.ts';

const HOUR = { kind: 'calendar', unit: 'hour', timeZone: 'UTC' } as const;

function withTree(): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 1_000, shape: { maxChildren: 3, maxDepth: 2 } }));
  driver.run(driver.make.create('t/a', { limits: 100 }));
  driver.run(driver.make.create('t/b', { limits: 100 }));
  return driver;
}

function applied(driver: KernelDriver, ...parameters: Parameters<Commands['applyBudgets']>): BudgetsAnswer {
  const answer = driver.run(driver.make.applyBudgets(...parameters));
  if (answer.kind !== 'budgets') throw new Error(`not applied: ${JSON.stringify(answer, undefined, 1)}`);
  return answer;
}

const pathsAndRevisions = ({ results }: BudgetsAnswer) =>
  results.map(({ def }: BudgetAnswer) => [def.path, def.revision]);

describe('ApplyBudgets', () => {
  it('makes, edits and closes from the root down, and answers in the order of the changes', () => {
    const driver = withTree();
    const { make } = driver;
    const seqBefore = driver.state.position.seq;
    const answer = applied(driver, [
      make.close('t/b'),
      make.create('t/c', { limits: 5 }),
      make.create('t/c/d', { limits: 1 }),
      make.update('t/a', { limits: 50 }),
      make.update('t', { shape: { maxChildren: 2 } }),
    ]);
    expect(pathsAndRevisions(answer)).toEqual([
      ['t/b', 2],
      ['t/c', 1],
      ['t/c/d', 1],
      ['t/a', 2],
      ['t', 2],
    ]);
    expect(driver.journal.slice(-5).map(({ type, seq }) => [type, seq - seqBefore])).toEqual([
      ['BudgetUpdated', 1],
      ['BudgetClosed', 2],
      ['BudgetUpdated', 3],
      ['BudgetCreated', 4],
      ['BudgetCreated', 5],
    ]);
    expect(driver.state.budgetAt('t' as never)?.openChildCount).toBe(2);
    expect(granted(driver.run(driver.make.reserve('t/c/d', 1))).headroom).toMatchObject({ micros: 0n });
  });

  const cases: readonly [string, (make: Commands) => readonly BudgetEdit[], object][] = [
    [
      'a budget that exists',
      (make) => [make.update('t/a', { owner: 'x' }), make.create('t/b')],
      { reason: 'BUDGET_EXISTS', change: { index: 1, budget: 't/b' } },
    ],
    [
      'a budget that is not there',
      (make) => [make.create('t/c', { limits: 1 }), make.update('t/d', { owner: 'x' })],
      { reason: 'BUDGET_NOT_FOUND', change: { index: 1, budget: 't/d' } },
    ],
    [
      'a parent that is not there',
      (make) => [make.create('t/c/d', { limits: 1 })],
      { reason: 'BUDGET_NOT_FOUND', budget: 't/c', change: { index: 0, budget: 't/c/d' } },
    ],
    [
      'an etag that has passed, behind others that would pass',
      (make) => [make.create('t/c', { limits: 1 }), make.close('t/a'), make.update('t/b', { owner: 'x', revision: 2 })],
      { reason: 'ETAG_MISMATCH', change: { index: 2, budget: 't/b' } },
    ],
    [
      'an etag of a budget to close',
      (make) => [{ ...make.close('t/a'), expectedRevision: 2 }],
      { reason: 'ETAG_MISMATCH', change: { index: 0, budget: 't/a' } },
    ],
    [
      'a child too many, counting those of the call',
      (make) => [make.create('t/c', { limits: 1 }), make.create('t/d', { limits: 1 })],
      { reason: 'FAN_OUT_LIMIT', budget: 't', change: { index: 1, budget: 't/d' } },
    ],
    [
      'a budget below one that the call closes',
      (make) => [make.close('t/a'), make.create('t/a/x', { limits: 1 })],
      { reason: 'BUDGET_CLOSED', budget: 't/a', change: { index: 1, budget: 't/a/x' } },
    ],
    [
      'the last limit of a chain that an earlier change took away',
      (make) => [make.update('t', { limits: {}, uncapped: true }), make.update('t/a', { limits: {} })],
      { reason: 'INVALID_FIELD', fields: [{ field: 'changes[1].update.budget.uncapped' }], change: { index: 1 } },
    ],
  ];

  it.each(cases)('is refused whole for %s, and changes nothing', (_, changes, expected) => {
    const driver = withTree();
    driver.hold('t/a', 7);
    const before = pictureOf(driver.state);
    const refusal = refused(driver.decide(driver.make.applyBudgets(changes(driver.make), { key: 'k' })).answer);
    expect(refusal).toMatchObject(expected);
    expect(pictureOf(driver.state)).toEqual(before);
    // What would pass before it passes alone.
    for (const change of changes(driver.make).slice(0, refusal.change?.index)) budgetOf(driver.run(change));
  });

  type Build = (make: Commands) => readonly BudgetEdit[];
  const floored: Build = (make) => [
    make.create('t', { limits: 10, shape: { maxChildren: 3 } }),
    make.create('t/a', { floor: 6 }),
    make.create('t/b', { floor: 4 }),
  ];
  const uncapped: Build = (make) => [make.create('t', { uncapped: true }), make.create('t/a', { limits: 5 })];
  const shared: Build = (make) => [
    make.create('t', { limits: 10 }),
    ...Array.from({ length: CHILD_SHARE_COUNT_MAX }, (_, no) => make.create(`t/${no}`, { share: 50 })),
  ];
  const reached: readonly [string, Build, Build][] = [
    [
      'a floor that one takes and another gives up',
      floored,
      (make) => [make.update('t/b', { floor: 6 }), make.update('t/a', { floor: 4 })],
    ],
    [
      'a floor that a new one takes',
      floored,
      (make) => [make.create('t/c', { floor: 6 }), make.update('t/a', { floor: 0 })],
    ],
    ['a floor that a closed one leaves', floored, (make) => [make.update('t/b', { floor: 10 }), make.close('t/a')]],
    [
      'floors that a larger limit has room for',
      floored,
      (make) => [make.update('t/b', { floor: 8 }), make.update('t', { limits: 14 })],
    ],
    [
      'etags of a budget and of those below it whose floors edit it',
      floored,
      (make) => [
        { ...make.close('t/a'), expectedRevision: 1 },
        make.update('t/b', { floor: 5, revision: 1 }),
        make.update('t', { limits: 12, revision: 3 }),
      ],
    ],
    ['a parent and its child', floored, (make) => [make.create('t/c/d'), make.create('t/c')]],
    ['the place of a closed one', floored, (make) => [make.create('t/c'), make.create('t/d'), make.close('t/b')]],
    [
      'a limit above instead of one below',
      uncapped,
      (make) => [make.update('t/a', { limits: {} }), make.update('t', { limits: 5, uncapped: false })],
    ],
    [
      'the last place among those that are counted apart',
      shared,
      (make) => [make.create('t/new', { share: 5 }), make.update('t/7', { share: { to: undefined } })],
    ],
  ];

  it.each(reached)('judges by what all come to, in any order: %s', (_, before, changesOf) => {
    for (const isReversed of [false, true]) {
      const driver = new KernelDriver();
      for (const command of before(driver.make)) budgetOf(driver.run(command));
      const changes = changesOf(driver.make);
      const ordered = isReversed ? changes.toReversed() : changes;
      expect(applied(driver, ordered).results.map(({ def }) => def.path)).toEqual(ordered.map(({ budget }) => budget));
    }
  });

  it.each<[string, (make: Commands) => readonly BudgetEdit[], string | undefined]>([
    ['an edit', (make) => [make.update('t/a/x', { limits: 5 }), make.close('t/a')], 't/a/x'],
    ['an edit two below', (make) => [make.update('t/a/x/y', { owner: 'o' }), make.close('t/a')], 't/a/x/y'],
    ['a new one', (make) => [make.create('t/a/new', { limits: 5 }), make.close('t/a')], 't/a/new'],
    ['an edit two below, of a floor', (make) => [make.update('t/a/x', { floor: 1 }), make.close('t')], 't/a/x'],
    ['a closing', (make) => [make.close('t/a/x'), make.close('t/a')], undefined],
    ['an edit beside it', (make) => [make.update('t/b', { limits: 5 }), make.close('t/a')], undefined],
  ])('below a budget that the same call closes, in any order: %s', (_, changesOf, refusedPath) => {
    for (const isReversed of [false, true]) {
      const driver = withTree();
      driver.run(driver.make.update('t', { shape: { maxChildren: 9, maxDepth: 9 } }));
      for (const path of ['t/a/x', 't/a/x/y']) budgetOf(driver.run(driver.make.create(path, { limits: 50 })));
      const changes = changesOf(driver.make);
      const answer = driver.run(driver.make.applyBudgets(isReversed ? changes.toReversed() : changes));
      const index = isReversed ? 1 : 0;
      if (refusedPath === undefined) expect(answer).toMatchObject({ kind: 'budgets' });
      else expect(answer).toMatchObject({ reason: 'BUDGET_CLOSED', change: { index, budget: refusedPath } });
    }
  });

  it('gives new floors their places by path, however they were given', () => {
    for (const isReversed of [false, true]) {
      const driver = new KernelDriver();
      const { make } = driver;
      budgetOf(driver.run(make.create('t', { limits: 10 })));
      const changes = [make.create('t/a', { floor: 5 }), make.create('t/b', { floor: 5 })];
      applied(driver, isReversed ? changes.toReversed() : changes);
      budgetOf(driver.run(make.update('t', { limits: 5 })));
      expect(refused(driver.run(make.reserve('t/b', 1)))).toMatchObject({ budget: 't', limit: 'lifetime' });
      expect(granted(driver.run(make.reserve('t/a', 5))).reservation).toMatchObject({ budget: 't/a' });
    }
  });

  it('refuses floors that pass the limit that the same call lowers, in any order', () => {
    for (const isReversed of [false, true]) {
      const driver = withTree();
      const changes = [driver.make.update('t/a', { floor: 60 }), driver.make.update('t', { limits: 50 })];
      const refusal = refused(driver.run(driver.make.applyBudgets(isReversed ? changes.toReversed() : changes)));
      expect(refusal).toMatchObject({ reason: 'INVALID_FIELD', change: { index: isReversed ? 1 : 0, budget: 't/a' } });
      expect(refusal.fields).toMatchObject([{ field: `changes[${isReversed ? 1 : 0}].update.budget.floor_micros` }]);
    }
  });

  it('is told by the first refusal, however many there are', () => {
    const driver = withTree();
    const { make } = driver;
    const refusal = refused(driver.run(make.applyBudgets([make.create('t/a'), make.create('t/b')])));
    expect(refusal).toMatchObject({ change: { index: 0 }, message: expect.stringContaining('changes[0], t/a: ') });
  });

  it('changes nothing when it is tried only, and answers as it would', () => {
    const driver = withTree();
    const { make } = driver;
    const before = pictureOf(driver.state);
    const changes = [make.create('t/c', { limits: 1 }), make.update('t/c', { owner: 'x' })];
    const { answer, entries } = driver.decide(make.applyBudgets(changes, { dryRun: true }));
    expect(entries).toEqual([]);
    expect(answer).toMatchObject({ kind: 'budgets', results: [{ def: { revision: 1 } }, { def: { revision: 2 } }] });
    expect(pictureOf(driver.state)).toEqual(before);
    const closed = driver.run(make.close('t/a'));
    expect(closed.kind).toBe('budget');
    const refusal = driver.decide(make.applyBudgets([make.create('t/a/x')], { dryRun: true }));
    expect(refusal).toMatchObject({ answer: { reason: 'BUDGET_CLOSED' }, entries: [] });
  });

  it('counts in windows that it brings what the budgets spent before, whatever comes before them in the call', () => {
    const driver = withTree();
    const { make } = driver;
    driver.run(make.settle(driver.hold('t/a', 30), 30));
    driver.hold('t/b', 20);
    applied(driver, [
      make.create('t/c', { limits: 1 }),
      make.update('t/a', { limits: { hour: { amount: 40, rule: HOUR } } }),
      make.update('t/b', { limits: { rolling: { amount: 50, rule: rollingRule(3_600_000) } } }),
    ]);
    expect(driver.balances('t/a').available).toBe(10n);
    expect(driver.balances('t/b').available).toBe(30n);
  });

  it('says to a repeat what it said, also after other edits, and has no second effect', () => {
    const driver = withTree();
    const { make } = driver;
    const changes = () => [make.create('t/c', { limits: 1 }), make.update('t/a', { owner: 'x', revision: 1 })];
    const first = applied(driver, changes(), { key: 'k' });
    driver.run(make.update('t/a', { owner: 'y' }));
    const seq = driver.state.position.seq;
    const again = applied(driver, changes(), { key: 'k' });
    expect(again.replayed).toBe(true);
    expect(pathsAndRevisions(again)).toEqual(pathsAndRevisions(first));
    expect(driver.state.position.seq).toBe(seq);
  });

  it('refuses its key to another request: other changes, fewer, and other labels', () => {
    const driver = withTree();
    const { make } = driver;
    const labelled = (label: string) =>
      make.update('t/a', { replaceLabels: true, personal: personalFields('', label) });
    applied(driver, [make.update('t/b', { owner: 'x' }), labelled('one')], { key: 'k' });
    const other = (...changes: BudgetEdit[]) => refused(driver.run(make.applyBudgets(changes, { key: 'k' }))).reason;
    expect(other(make.update('t/b', { owner: 'y' }), labelled('one'))).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(other(make.update('t/b', { owner: 'x' }))).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(other(make.update('t/b', { owner: 'x' }), labelled('two'))).toBe('IDEMPOTENCY_KEY_REUSED');
    applied(driver, [make.update('t/b', { owner: 'x' }), labelled('one')], { key: 'k' });
  });

  it('remembers a refusal that judged it, in one entry that names known budgets only', () => {
    const driver = withTree();
    const { make } = driver;
    const changes = () => [make.close('t/a'), make.create('t/c', { limits: 1 }), make.create('t/c/d/e')];
    driver.run(make.create('t/x/y', { limits: 1 }));
    const many = () => [make.create('t/c', { limits: 1 }), make.create('t/d', { limits: 1 })];
    const refusal = refused(driver.run(make.applyBudgets(many(), { key: 'k' })));
    expect(driver.journal.at(-1)).toMatchObject({
      type: 'Refused',
      command: 'ApplyBudgets',
      budget: 't/d',
      revisions: [[1, 1]],
    });
    driver.run(make.close('t/a'));
    expect(refused(driver.run(make.applyBudgets(many(), { key: 'k' })))).toEqual(refusal);
    expect(refused(driver.run(make.applyBudgets(changes(), { key: 'k' })))).toMatchObject({
      reason: 'IDEMPOTENCY_KEY_REUSED',
    });
    applied(driver, many(), { key: 'k2' });
  });

  it('takes back only what it tried: a batch that had begun stays as it is', () => {
    const driver = withTree();
    const { make, state } = driver;
    // Applied and not committed: counters of t and t/a move in place from here on.
    const twin = withTree();
    const record = (command: Command) => {
      for (const each of [driver, twin]) {
        for (const entry of each.decide(command).entries) apply(each.state, entry);
      }
    };
    record(make.reserve('t/a', 10));
    refused(driver.decide(make.applyBudgets([make.create('t/c', { limits: 1 }), make.create('t/a')])).answer);
    record(make.reserve('t/a', 5));
    expect(state.position.seq).toBe(5);
    expect(pictureOf(state)).toEqual(pictureOf(twin.state));
    state.rollback();
    twin.state.rollback();
    expect(pictureOf(state)).toEqual(pictureOf(twin.state));
    expect(driver.balances('t/a').held).toBe(0n);
  });
});
