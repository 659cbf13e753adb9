// Loads run beside the lane: what they bring is as old as their snapshot, and the lane must not believe more of it.
import { describe, expect, it } from 'vitest';
import type { Loaded } from '../../../src/store/port.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { type Fate, held, LaneWorld } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';

/** A load that reads at once and arrives when it is let go. */
function readNowArriveLater(): { readonly fate: Fate<Loaded>; readonly letGo: () => void } {
  const gate = held<void>();
  return {
    letGo: gate.letGo,
    fate: async (real) => {
      const loaded = await real();
      await gate.fate(() => Promise.resolve());
      return loaded;
    },
  };
}

async function withChild(): Promise<LaneWorld> {
  const world = await new LaneWorld().open();
  await world.lane.submit(world.make.create('t/c', { limits: 50 }));
  await world.project();
  world.lane.reset();
  world.loads.length = 0;
  await world.lane.submit(world.make.getBudget('t'));
  return world;
}

describe('a load of more of a tree', () => {
  it('holds up only those who need it', async () => {
    const world = await withChild();
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const waiting = world.lane.submit(world.make.reserve('t/c', 10));
    granted(await world.lane.submit(world.make.reserve('t', 90)));
    load.letGo();
    expect(granted(await waiting).headroom).toMatchObject({ micros: 0n, budget: 't' });
    expect(world.loads.map(({ withTail }) => withTail)).toEqual([true, false]);
  });

  it('that raced with commits and their projection is done again, and nothing is counted twice or lost', async () => {
    const world = await withChild();
    const load = readNowArriveLater();
    world.loadFates.push(load.fate);
    const waiting = world.lane.submit(world.make.getBudget('t/c'));
    await settle();
    // Behind the snapshot's back: a hold below, seen by the lane through its reservation's own load, then projected.
    granted(await world.lane.submit(world.make.reserve('t', 30)));
    await world.project();
    load.letGo();
    expect(await waiting).toMatchObject({ headroom: { micros: 50n } });
    expect(world.loads).toHaveLength(3);
    const after = granted(await world.lane.submit(world.make.reserve('t/c', 50)));
    expect(after.headroom).toMatchObject({ micros: 0n, budget: 't/c' });
    expect(await world.lane.submit(world.make.getBudget('t'))).toMatchObject({ lifetime: { heldMicros: 80n } });
  });

  it('that finds somebody else ahead starts the tree afresh', async () => {
    const world = await withChild();
    // Another writer appends and projects: this lane knows nothing of it.
    const { memory, make } = world;
    const other = await new LaneWorld().open([]);
    other.memory.database.trees.set('t' as never, memory.database.tree('t' as never));
    granted(await other.lane.submit(other.make.reserve('t', 60, { id: 'other00000' })));
    await world.project();
    world.lane.cache.peek('t' as never);
    expect(refused(await world.lane.submit(make.reserve('t/c', 50)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      availableMicros: 40n,
    });
  });

  it('read before this process lost and regained the lane is not believed', async () => {
    const world = await withChild();
    world.lane.reset();
    const load = readNowArriveLater();
    world.loadFates.push(load.fate);
    const waiting = world.lane.submit(world.make.getBudget('t'));
    await settle();
    const other = await new LaneWorld().open([]);
    other.memory.database.trees.set('t' as never, world.memory.database.tree('t' as never));
    granted(await other.lane.submit(other.make.reserve('t', 60, { id: 'other00000' })));
    world.lane.reset();
    load.letGo();
    expect(await waiting).toMatchObject({ lifetime: { heldMicros: 60n } });
  });
});

describe('a tree that is not in memory', () => {
  it('is loaded once for all who come meanwhile', async () => {
    const world = await new LaneWorld().open();
    world.lane.reset();
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const first = world.lane.submit(world.make.reserve('t', 10));
    await settle();
    const rest = [world.lane.submit(world.make.reserve('t', 20)), world.lane.submit(world.make.reserve('t', 30))];
    await settle();
    expect(world.lane.depth).toBe(3);
    load.letGo();
    for (const answer of await Promise.all([first, ...rest])) granted(answer);
    expect(world.loads).toHaveLength(1);
    expect(world.lane.depth).toBe(0);
  });

  it('does not go back in time though the clock does', async () => {
    const world = await new LaneWorld().open();
    world.nowMs += 60_000;
    granted(await world.lane.submit(world.make.reserve('t', 10)));
    await world.project();
    world.lane.reset();
    world.nowMs -= 30_000;
    granted(await world.lane.submit(world.make.reserve('t', 10)));
    const entries = await world.memory.readEntries('t' as never, 0, 99);
    const times = entries.map(({ atMs }) => atMs);
    expect([...times].sort((a, b) => a - b)).toEqual(times);
  });
});
