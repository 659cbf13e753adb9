// Budgets that their first grant makes, through the lane: once, whoever races, and found again after they left memory.
import { describe, expect, it } from 'vitest';
import type { BudgetPath } from '../../../src/kernel/names.ts';
import { expectAudited, look } from '../../support/audited-lane.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { LaneWorld } from '../../support/lane-world.ts';

const HOUR_MS = 3_600_000;

describe('runs that make themselves', () => {
  const withTemplate = async (shape: { readonly maxChildren?: number } = {}) => {
    const world = await new LaneWorld().open(['t'], 1_000_000);
    const { lane, make } = world;
    const template = make.terms({ limits: { run: 50 }, shape: { closeAfterMs: HOUR_MS } });
    await lane.submit(make.create('t/a', { template, shape }));
    return world;
  };
  const createdIn = (world: LaneWorld) =>
    world.appends
      .flatMap(({ batch }) => batch)
      .flatMap(({ entries }) => entries)
      .flatMap((entry) => (entry.type === 'BudgetCreated' ? [entry.def.path] : []));

  it('are made once, by whoever comes first of many', async () => {
    const world = await withTemplate();
    const { lane, make } = world;
    const answers = await Promise.all(Array.from({ length: 40 }, () => lane.submit(make.reserve('t/a/run', 10))));
    expect(answers.filter(({ kind }) => kind === 'reservation')).toHaveLength(5);
    expect(createdIn(world).filter((path) => path === 't/a/run')).toHaveLength(1);
    expect(await look(world, 't/a')).toMatchObject({ openChildCount: 1, activeCount: 5 });
    await expectAudited(world);
  });

  it('are made within the bounds of the budget above, each once, however they race', async () => {
    const world = await withTemplate({ maxChildren: 30 });
    const { lane, make } = world;
    const asks = Array.from({ length: 400 }, (_, no) => lane.submit(make.reserve(`t/a/run-${no % 100}`, 10)));
    const answers = await Promise.all(asks);
    const made = createdIn(world).filter((path) => path.startsWith('t/a/'));
    expect(made).toHaveLength(30);
    expect(new Set(made).size).toBe(30);
    expect(answers.filter(({ kind }) => kind === 'reservation')).toHaveLength(30 * 4);
    for (const answer of answers) if (answer.kind === 'refusal') expect(answer.reason).toBe('FAN_OUT_LIMIT');
    expect((await look(world, 't/a')).openChildCount).toBe(30);
    await expectAudited(world);
  });

  it('look for the budget above where it left memory, and know a run that is there although it did', async () => {
    const world = await withTemplate();
    const { lane, make } = world;
    const state = () => lane.cache.peek('t' as never)?.state;
    expect(refused(await lane.submit(make.getBudget('t/a/run'))).reason).toBe('BUDGET_NOT_FOUND');
    state()?.evictBudgets(99);
    expect(state()?.budgetAt('t/a' as BudgetPath)).toBeUndefined();
    const { id } = granted(await lane.submit(make.reserve('t/a/run', 10))).reservation;
    await lane.submit(make.release(id));
    for (const projects of [false, true]) {
      if (projects) await world.project();
      // Parents go once nothing is below them.
      for (let turn = 0; turn < 2; turn++) state()?.evictBudgets(99);
      expect(state()?.counts().budgets).toBe(1);
      const again = granted(await lane.submit(make.reserve('t/a/run', 50))).reservation.id;
      await lane.submit(make.release(again));
    }
    expect(createdIn(world).filter((path) => path === 't/a/run')).toHaveLength(1);
    await expectAudited(world);
  });

  it('are not made again where a load brought more closed ones than memory keeps', async () => {
    const world = await withTemplate();
    const { lane, make } = world;
    const close = async (no: number): Promise<void> => {
      await lane.submit(make.create(`t/a/run-${no}`));
      await lane.submit(make.close(`t/a/run-${no}`));
    };
    await Promise.all(Array.from({ length: 2_001 }, (_, no) => close(no)));
    lane.reset();
    expect(refused(await lane.submit(make.reserve('t/a/run-0', 10))).reason).toBe('BUDGET_CLOSED');
    expect(refused(await lane.submit(make.create('t/a/run-0'))).reason).toBe('BUDGET_EXISTS');
    await expectAudited(world);
  });

  it('are charged with budgets from elsewhere, which are looked for too', async () => {
    const world = await withTemplate();
    const { lane, make } = world;
    await lane.submit(make.create('t/people', { limits: 500 }));
    await lane.submit(make.create('t/people/maya', { limits: 25 }));
    const also = ['t/people/maya', 't/a/other'];
    lane.reset();
    const first = granted(await lane.submit(make.reserve('t/a/run', 20, { also })));
    expect(first.headroom).toMatchObject({ micros: 5n, budget: 't/people/maya' });
    lane.cache.peek('t' as never)?.state.evictBudgets(99);
    expect(refused(await lane.submit(make.reserve('t/a/run', 6, { also }))).budget).toBe('t/people/maya');
    await lane.submit(make.settle(first.reservation.id, 9));
    for (const path of ['t', 't/a', 't/a/run', 't/a/other', 't/people', 't/people/maya']) {
      expect((await look(world, path)).lifetime).toMatchObject({ heldMicros: 0n, settledMicros: 9n });
    }
    await expectAudited(world);
  });
});
