// Edits of many budgets through the lane: one append, the past of all windows read together, and repeats that are found again
// however little of them memory has kept.
import { describe, expect, it } from 'vitest';
import type { Answer, BudgetsAnswer } from '../../../src/kernel/answer.ts';
import type { BudgetEdit } from '../../../src/kernel/command.ts';
import { rollingRule } from '../../../src/kernel/window.ts';
import { expectAudited, look } from '../../support/audited-lane.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { LaneWorld } from '../../support/lane-world.ts';

const DAY = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;
const HOUR = rollingRule(3_600_000);

async function openWorld(): Promise<LaneWorld> {
  const world = await new LaneWorld().open(['t'], 1_000_000);
  for (const path of ['t/a', 't/b']) await world.lane.submit(world.make.create(path, { limits: 10_000 }));
  world.appends.length = 0;
  return world;
}

function applied(answer: Answer): BudgetsAnswer {
  if (answer.kind !== 'budgets') throw new Error(`not applied: ${JSON.stringify(answer)}`);
  return answer;
}

const revisions = ({ results }: BudgetsAnswer) => results.map(({ def }) => [def.path, def.revision]);

describe('edits of many budgets', () => {
  it('are one append of several entries, also of a tree that the first of them makes', async () => {
    const world = await openWorld();
    const { lane, make } = world;
    const changes = [make.create('t/c', { limits: 1 }), make.close('t/b'), make.update('t/a', { owner: 'x' })];
    applied(await lane.submit(make.applyBudgets(changes, { key: 'k' })));
    expect(world.appends.map(({ batch }) => batch.map(({ entries }) => entries.map(({ type }) => type)))).toEqual([
      [['BudgetClosed', 'BudgetUpdated', 'BudgetCreated']],
    ]);
    const fresh = await new LaneWorld().open([]);
    const tree = [fresh.make.create('t', { limits: 5 }), fresh.make.create('t/a')];
    applied(await fresh.lane.submit(fresh.make.applyBudgets(tree, { key: 'k' })));
    expect(fresh.appends).toHaveLength(1);
    await expectAudited(world);
  });

  it('append nothing where one is refused', async () => {
    const world = await openWorld();
    const { lane, make } = world;
    const changes = [make.create('t/c', { limits: 1 }), make.update('t/a', { owner: 'x', revision: 9 })];
    expect(refused(await lane.submit(make.applyBudgets(changes, { key: 'k' }))).reason).toBe('ETAG_MISMATCH');
    expect(world.appends.flatMap(({ batch }) => batch)).toEqual([]);
    expect(refused(await lane.submit(make.getBudget('t/c'))).reason).toBe('BUDGET_NOT_FOUND');
  });

  it('read the past of all windows that they bring together, while the tree is in use', async () => {
    const world = await openWorld();
    const { lane, make, memory } = world;
    for (const path of ['t/a', 't/b', 't/a']) {
      const { id } = granted(await lane.submit(make.reserve(path, 10, { ttlMs: 600_000 }))).reservation;
      await lane.submit(make.settle(id, 7));
      granted(await lane.submit(make.reserve(path, 5, { ttlMs: 600_000 })));
    }
    const read: number[] = [];
    Object.assign(world.store, {
      readHistory: (...args: Parameters<typeof memory.readHistory>) => {
        read.push(args[1]);
        return memory.readHistory(...args);
      },
    });
    const changes = [
      make.create('t/c', { limits: { day: { amount: 1, rule: DAY } } }),
      make.update('t/a', { limits: { day: { amount: 900, rule: DAY } } }),
      make.update('t/b', { limits: { hour: { amount: 900, rule: HOUR } } }),
    ];
    const edit = lane.submit(make.applyBudgets(changes, { key: 'k' }));
    const others = Array.from({ length: 20 }, (_, no) => lane.submit(make.reserve(no % 2 === 0 ? 't/a' : 't/b', 1)));
    applied(await edit);
    for (const other of others) granted(await other);
    expect(read).toEqual([2, 3]);
    for (const path of ['t/a', 't/b']) {
      const { standings, lifetime } = await look(world, path);
      const { heldMicros, settledMicros } = lifetime;
      expect(standings.map(({ counter }) => counter)).toMatchObject([{ heldMicros, settledMicros }]);
    }
    await expectAudited(world);
  });
});

describe('a repeat of edits of many budgets', () => {
  const creating = ({ make }: LaneWorld): BudgetEdit[] => [
    make.create('t/c', { limits: 1 }),
    make.update('t/a', { owner: 'x' }),
  ];
  // Nothing in it is refused when it is judged afresh: only the append finds out.
  const editing = ({ make }: LaneWorld): BudgetEdit[] => [
    make.update('t/a', { owner: 'x' }),
    make.update('t/b', { owner: 'y' }),
  ];

  const cases = [
    ['edits that could not be made twice', creating, []],
    ['edits that could', editing, []],
    ['the first of them alone is in memory', creating, [0]],
    ['the last of them alone is in memory', editing, [1]],
  ] as const;

  it.each(cases)('is found in the journal: %s', async (_, changesOf, known) => {
    const world = await openWorld();
    const { lane, make } = world;
    const command = make.applyBudgets(changesOf(world), { key: 'k' });
    const first = applied(await lane.submit(command));
    await world.project();
    lane.reset();
    await lane.submit(make.getBudget('t'));
    const state = world.lane.cache.peek('t' as never)?.state;
    const digests = command.changes.map(({ key }) => key?.digest ?? '');
    const entries = await world.memory.findKeys('t' as never, digests);
    for (const entry of entries) {
      const { digest } = entry.key ?? { digest: '' };
      if (known.some((index) => digests[index] === digest)) state?.remember(digest, entry);
    }
    state?.commit();
    world.appends.length = 0;
    const again = applied(await lane.submit(make.applyBudgets(changesOf(world), { key: 'k' })));
    expect(again.replayed).toBe(true);
    expect(revisions(again)).toEqual(revisions(first));
    expect((await look(world, 't/a')).def.revision).toBe(2);
    const other = await lane.submit(make.applyBudgets([make.update('t/a', { owner: 'z' })], { key: 'k' }));
    expect(refused(other).reason).toBe('IDEMPOTENCY_KEY_REUSED');
    await expectAudited(world);
  });
});
