// Floors and shares through the lane: they are exact although commands go on, records come and go, and the lane begins anew. Every
// case ends with the auditor's own sums.
import { expect, it } from 'vitest';
import { rollingRule } from '../../../src/kernel/window.ts';
import { expectAudited, look } from '../../support/audited-lane.ts';
import { budgetOf, granted, refused, START_MS } from '../../support/kernel-driver.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { DAY_MS, HOUR_MS, per } from '../../support/windows.ts';

const HOUR = rollingRule(HOUR_MS);
const LIMITS = { all: 1_000, day: per('day', 900), hour: { amount: 800, rule: HOUR } };

const flooredOf = async (world: LaneWorld) => (await look(world, 't')).standings.map((each) => each.flooredMicros);

async function family(): Promise<LaneWorld> {
  const world = await new LaneWorld().open(['t'], 1_000);
  const { lane, make } = world;
  budgetOf(await lane.submit(make.update('t', { limits: LIMITS })));
  // Its own limits count the same as what counts it apart above.
  budgetOf(await lane.submit(make.create('t/a', { limits: LIMITS })));
  budgetOf(await lane.submit(make.create('t/b')));
  return world;
}

/** Reserves and settles, a few at a time. */
async function busy({ lane, make }: LaneWorld, path: string, count: number): Promise<void> {
  for (let no = 0; no < count; no += 1) {
    const { id } = granted(await lane.submit(make.reserve(path, 5, { ttlMs: 9 * DAY_MS }))).reservation;
    if (no % 3 > 0) granted(await lane.submit(make.settle(id, no % 3)));
  }
}

it('a floor that is given while commands go on counts what its child had, to the last of it', async () => {
  const world = await family();
  const { lane, make } = world;
  await busy(world, 't/a', 4);
  world.nowMs += DAY_MS;
  await busy(world, 't/a', 5);
  const running = ['t/a', 't/b', 't/a', 't/b'].map((path) => busy(world, path, 12));
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  const edit = lane.submit(make.update('t/a', { floor: 300, share: { to: 50 } }));
  await Promise.all(running);
  budgetOf(await edit);
  const expectSame = async () => {
    const { standings } = await look(world, 't/a');
    const unused = standings.map(
      ({ counter }) => 300n - counter.heldMicros - counter.settledMicros - counter.overrunMicros,
    );
    expect(new Set(unused).size).toBeGreaterThan(1);
    expect(await flooredOf(world)).toEqual(unused);
  };
  await expectSame();
  await expectAudited(world);
  lane.reset();
  await expectSame();
  world.nowMs += HOUR_MS * 2;
  await expectSame();
});

it('what a child uses is known although the child is not in memory', async () => {
  const world = await family();
  const { lane, make } = world;
  budgetOf(await lane.submit(make.update('t/a', { floor: 700 })));
  granted(await lane.submit(make.settle(granted(await lane.submit(make.reserve('t/a', 40))).reservation.id, 40)));
  await world.project();
  lane.reset();
  world.loads.length = 0;
  expect(refused(await lane.submit(make.reserve('t/b', 101)))).toMatchObject({
    reason: 'EXCEEDS_LIMIT',
    limit: 'hour',
  });
  granted(await lane.submit(make.reserve('t/b', 100)));
  const state = lane.cache.peek('t' as never)?.state;
  expect([state?.budgetAt('t/b' as never) !== undefined, state?.budgetAt('t/a' as never)]).toEqual([true, undefined]);
  expect(refused(await lane.submit(make.reserve('t/b', 1))).reason).toBe('CAPACITY_HELD');
  // None of it asked the store for the sibling.
  expect(world.loads.flatMap(({ paths }) => paths)).toEqual(['t/b']);
  await expectAudited(world);
});

it('a late settlement has what siblings used in its own day brought back', async () => {
  const world = await new LaneWorld().open(['t'], 1_000);
  const { lane, make } = world;
  budgetOf(await lane.submit(make.update('t', { limits: { day: per('day', 100) } })));
  budgetOf(await lane.submit(make.create('t/a', { floor: 30 })));
  budgetOf(await lane.submit(make.create('t/b')));
  const late = granted(await lane.submit(make.reserve('t/b', 60, { ttlMs: 1_000 }))).reservation.id;
  const { id } = granted(await lane.submit(make.reserve('t/a', 25))).reservation;
  granted(await lane.submit(make.settle(id, 25)));
  world.nowMs = START_MS + DAY_MS;
  granted(await lane.submit(make.settle(granted(await lane.submit(make.reserve('t/a', 1))).reservation.id, 1)));
  await world.project();
  lane.reset();
  // 25 of the floor were used on that day: 5 are kept of the 75 that are left.
  const { figures } = granted(await lane.submit(make.settle(late, 90))).reservation;
  expect(figures).toMatchObject({ settledMicros: 70n, overrunMicros: 20n, late: true });
  await expectAudited(world);
});

it('a settlement in an earlier day asks once for what a sibling used there, where that was nothing', async () => {
  const world = await new LaneWorld().open(['t'], 1_000);
  const { lane, make } = world;
  budgetOf(await lane.submit(make.update('t', { limits: { day: per('day', 100) } })));
  budgetOf(await lane.submit(make.create('t/a', { floor: 30 })));
  budgetOf(await lane.submit(make.create('t/b')));
  const { id } = granted(await lane.submit(make.reserve('t/b', 60, { ttlMs: 2 * DAY_MS }))).reservation;
  world.nowMs = START_MS + DAY_MS;
  granted(await lane.submit(make.reserve('t/a', 1)));
  world.loads.length = 0;
  granted(await lane.submit(make.settle(id, 40, { keepOpen: true })));
  // Nothing of the floor was used on that day: 10 are left beside it.
  const { figures } = granted(await lane.submit(make.settle(id, 50))).reservation;
  expect(figures).toMatchObject({ settledMicros: 70n, overrunMicros: 20n });
  expect(world.loads.map(({ periods }) => periods?.length)).toEqual([1]);
  await expectAudited(world);
});

it('what a template makes is listed in the commit that makes it, and after a restart', async () => {
  const world = await new LaneWorld().open(['t'], 100);
  const { lane, make } = world;
  const template = make.terms({ floor: 30, share: 60 });
  budgetOf(await lane.submit(make.update('t', { template: { to: template } })));
  const firsts = ['t/r1', 't/r2'].map((path) => lane.submit(make.reserve(path, 10)));
  for (const first of await Promise.all(firsts)) granted(first);
  lane.reset();
  expect(await flooredOf(world)).toEqual([40n]);
  expect(refused(await lane.submit(make.reserve('t', 41)))).toMatchObject({ reason: 'EXCEEDS_LIMIT' });
  budgetOf(await lane.submit(make.close('t/r1')));
  granted(await lane.submit(make.reserve('t', 41)));
  await expectAudited(world);
});
