// The projection behind the answers: it comes forward in rounds, takes up what others left, and one bad tree holds back no
// other.
import { describe, expect, it } from 'vitest';
import { Projector } from '../../../src/lane/projector.ts';
import {
  ProjectionMismatchError,
  StoreTimeoutError,
  StoreUnavailableError,
  type TreeEntries,
} from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { ManualTime } from '../../support/manual-time.ts';

async function withProjector(world: LaneWorld, onProject: (page: readonly TreeEntries[]) => void = () => undefined) {
  const time = new ManualTime();
  const pages: (readonly TreeEntries[])[] = [];
  const corrupt: string[] = [];
  const store = {
    ...world.memory,
    project: async (page: readonly TreeEntries[]) => {
      pages.push(page);
      onProject(page);
      return world.memory.project(page);
    },
  };
  const projector = new Projector({
    store,
    cache: world.lane.cache,
    log: () => undefined,
    onCorrupt: (treeId) => corrupt.push(treeId),
    monotonicMs: time.nowMs,
    sleep: time.sleep,
  });
  const projectedSeq = (treeId: string) => world.memory.database.tree(treeId as never).projectedSeq;
  return { projector, store, time, pages, corrupt, projectedSeq };
}

const reserve = (world: LaneWorld, treeId: string) =>
  world.lane.submit(new Commands(treeId).reserve(treeId, 1, { id: `${treeId}-first000` }));

describe('rounds', () => {
  it('bring forward what was noted, once', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    const { projector, time, pages, projectedSeq } = await withProjector(world);
    projector.start();
    await time.elapse(300);
    expect([projectedSeq('t'), projectedSeq('u')]).toEqual([1, 1]);
    await reserve(world, 't');
    projector.note('t' as never, 1);
    await time.elapse(200);
    expect(projector.lagMs).toBe(200);
    await time.elapse(100);
    expect([projectedSeq('t'), projector.lagMs]).toEqual([2, 0]);
    const { length } = pages;
    await time.elapse(3_000);
    expect(pages).toHaveLength(length);
    const stopped = projector.stop();
    await time.elapse(300);
    await stopped;
  });

  it('take up what another process left, when told', async () => {
    const world = await new LaneWorld().open(['t']);
    const { projector, time, projectedSeq } = await withProjector(world);
    projector.start();
    await time.elapse(300);
    // Another process appends, and ends before it projects.
    await reserve(world, 't');
    world.lane.reset();
    await time.elapse(3_000);
    expect(projectedSeq('t')).toBe(1);
    projector.takeUpLeftOver();
    await time.elapse(300);
    expect(projectedSeq('t')).toBe(2);
  });

  it('try again after an outage', async () => {
    const world = await new LaneWorld().open(['t']);
    let isDown = true;
    const { projector, time, projectedSeq } = await withProjector(world, () => {
      if (isDown) throw new StoreUnavailableError('cut');
    });
    projector.start();
    await time.elapse(900);
    expect(projectedSeq('t')).toBe(0);
    isDown = false;
    await time.elapse(1_000);
    expect(projectedSeq('t')).toBe(1);
  });
});

describe('catching up', () => {
  it('takes every tree, however many were left over', async () => {
    const treeIds = Array.from({ length: 2_300 }, (_, i) => `t${i}`);
    const world = await new LaneWorld().open(treeIds);
    world.lane.reset();
    const { projector, projectedSeq } = await withProjector(world);
    await projector.catchUp(undefined);
    expect(treeIds.filter((treeId) => projectedSeq(treeId) !== 1)).toEqual([]);
  });

  it('writes a long tail in pages, in order', async () => {
    const world = await new LaneWorld().open(['t'], 1_000_000);
    const make = new Commands('t');
    for (let i = 0; i < 9; i++) {
      await Promise.all(Array.from({ length: 1_000 }, () => world.lane.submit(make.reserve('t', 1))));
    }
    const { projector, pages, projectedSeq } = await withProjector(world);
    projector.note('t' as never, 9_001);
    await projector.catchUp('t' as never);
    expect(projectedSeq('t')).toBe(9_001);
    expect(pages.map(([part]) => part?.entries.length)).toEqual([4_096, 4_096, 809]);
    expect(world.lane.cache.peek('t' as never)?.tail).toEqual([]);
  });

  it('reads the journal where the cache does not know the tree', async () => {
    const world = await new LaneWorld().open(['t']);
    await reserve(world, 't');
    world.lane.reset();
    const { projector, projectedSeq } = await withProjector(world);
    await projector.catchUp('t' as never);
    expect(projectedSeq('t')).toBe(2);
  });

  it('says so where the store does not answer', async () => {
    const world = await new LaneWorld().open(['t']);
    const { projector } = await withProjector(world);
    world.memory.faults.isDown = true;
    await expect(projector.catchUp(undefined)).rejects.toThrow(StoreUnavailableError);
  });
});

it('a tree whose entries do not fit is reported, and the others come forward', async () => {
  const world = await new LaneWorld().open(['t', 'u', 'v']);
  const { projector, corrupt, projectedSeq } = await withProjector(world, (page) => {
    if (page.some(({ treeId }) => treeId === ('u' as never))) throw new ProjectionMismatchError('does not fit');
  });
  await projector.catchUp(undefined);
  expect(corrupt).toEqual(['u']);
  expect([projectedSeq('t'), projectedSeq('u'), projectedSeq('v')]).toEqual([1, 0, 1]);
});

describe('a fault that says nothing of records', () => {
  const missingFunction = () => {
    throw Object.assign(new Error('function budgetd.project_batch does not exist'), { code: '42883' });
  };

  it('and meets every tree puts none out of service, costs few tries, holds new work up, and is over when it is', async () => {
    const treeIds = Array.from({ length: 50 }, (_, i) => `t${i}`);
    const world = await new LaneWorld().open(treeIds);
    let isUpgrading = true;
    const { projector, time, pages, corrupt, projectedSeq } = await withProjector(world, () => {
      if (isUpgrading) missingFunction();
    });
    projector.start();
    await time.elapse(300);
    expect(pages.length).toBeLessThanOrEqual(4);
    await time.elapse(31_000);
    expect(corrupt).toEqual([]);
    expect(projector.overload()).toMatch(/behind/);
    await expect(projector.catchUp(undefined)).rejects.toThrow('does not exist');
    isUpgrading = false;
    await time.elapse(1_000);
    expect(treeIds.map(projectedSeq)).toEqual(Array(50).fill(1));
    expect([projector.lagMs, projector.overload()]).toEqual([0, undefined]);
    await projector.stop();
  });

  it('and meets one tree holds up that one alone, and its readers are told', async () => {
    const world = await new LaneWorld().open(['t', 'u', 'v', 'w', 'x']);
    let isOdd = true;
    const odd = (treeId: string) => isOdd && ['t', 'u', 'v', 'w'].includes(treeId);
    const { projector, time, corrupt, projectedSeq } = await withProjector(world, (page) => {
      if (page.some(({ treeId }) => odd(treeId))) throw new Error('odd');
    });
    projector.start();
    await time.elapse(30_000);
    await reserve(world, 'x');
    projector.note('x' as never, 1);
    await time.elapse(10_000);
    expect([projectedSeq('t'), projectedSeq('x'), corrupt]).toEqual([0, 2, []]);
    expect([projector.lagMs, projector.overload()]).toEqual([0, undefined]);
    await expect(projector.catchUp('t' as never)).rejects.toThrow('odd');
    await projector.catchUp('x' as never);
    isOdd = false;
    await time.elapse(1_000);
    expect(['t', 'u', 'v', 'w'].map(projectedSeq)).toEqual([1, 1, 1, 1]);
    await projector.stop();
  });

  it('but that a journal could not be read in time holds up no other tree', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    world.lane.reset();
    const { projector, store, projectedSeq } = await withProjector(world);
    store.readEntries = (treeId, ...rest) =>
      treeId === ('t' as never)
        ? Promise.reject(new StoreTimeoutError('too slow'))
        : world.memory.readEntries(treeId, ...rest);
    await expect(projector.catchUp(undefined)).rejects.toThrow(StoreTimeoutError);
    expect(projectedSeq('u')).toBe(1);
  });
});

it('a tree that was put back into service is found within a minute', async () => {
  const world = await new LaneWorld().open(['t']);
  await world.memory.quarantine('t' as never, 'a person said so');
  world.lane.reset();
  const { projector, time, projectedSeq } = await withProjector(world);
  projector.start();
  await time.elapse(300);
  world.memory.database.tree('t' as never).quarantine = undefined;
  await time.elapse(60_300);
  expect(projectedSeq('t')).toBe(1);
  await projector.stop();
});

it('past its bounds new work is asked to wait', async () => {
  const world = await new LaneWorld().open(['t']);
  const { projector, time } = await withProjector(world);
  projector.note('t' as never, 1);
  await time.elapse(30_000);
  expect(projector.overload()).toBeUndefined();
  await time.elapse(1);
  expect(projector.overload()).toMatch(/behind/);
  await projector.catchUp('t' as never);
  expect(projector.overload()).toBeUndefined();
  projector.note('t' as never, 200_001);
  expect(projector.overload()).toMatch(/behind/);
});
