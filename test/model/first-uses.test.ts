// A hundred thousand first uses of runs under one parent, two callers at once for each run. On its own since no other test makes
// so many budgets: what is bounded by their number (memory, projection, loads) is met here.
import { expect, it } from 'vitest';
import { look } from '../support/audited-lane.ts';
import { LaneWorld } from '../support/lane-world.ts';

const USES = 100_000;
const RUNS = USES / 2;
/** Of both callers of a run; fewer than the lane lets wait. */
const WAVE = 20_000;
/** It takes twenty seconds of a processor. */
const TEST_TIMEOUT_MS = 240_000;

it('makes each run once, whoever comes first, within the ceiling of the budget above', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const world = await new LaneWorld().open(['t'], USES);
  const { lane, make } = world;
  const template = make.terms({ limits: { run: 1 } });
  await lane.submit(make.create('t/a', { template, shape: { maxChildren: RUNS } }));
  const reasons = new Map<string, number>();
  let grants = 0;
  for (let from = 0; from < USES; from += WAVE) {
    // Two callers of a run come one right behind the other: the second finds it made in the same batch or in the next.
    const asks = Array.from({ length: WAVE }, (_, no) => lane.submit(make.reserve(`t/a/run-${(from + no) >> 1}`, 1)));
    for (const answer of await Promise.all(asks)) {
      if (answer.kind === 'reservation') grants += 1;
      else if (answer.kind === 'refusal') reasons.set(answer.reason, (reasons.get(answer.reason) ?? 0) + 1);
    }
    await world.project();
  }
  const created = world.appends
    .flatMap(({ batch }) => batch)
    .flatMap(({ entries }) => entries)
    .flatMap((entry) => (entry.type === 'BudgetCreated' ? [entry.def.path] : []));
  // With the parent, which was created by name.
  expect(created).toHaveLength(RUNS + 1);
  expect(new Set(created).size).toBe(RUNS + 1);
  // A run has room for one: the other caller is told that it is held.
  expect({ grants, reasons: Object.fromEntries(reasons) }).toEqual({ grants: RUNS, reasons: { CAPACITY_HELD: RUNS } });
  expect(await look(world, 't/a')).toMatchObject({ openChildCount: RUNS, activeCount: RUNS });
  expect(await lane.submit(make.reserve('t/a/one-more', 1))).toMatchObject({ reason: 'FAN_OUT_LIMIT' });
});
