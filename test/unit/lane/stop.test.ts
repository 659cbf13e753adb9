// How a coordinator stops, by real timers: whatever is under way then is finished, in order, and nothing spins meanwhile.
import { setTimeout as sleepMs } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startCoordinator } from '../../../src/lane/create-coordinator.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { AppendResult, Store } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { granted, refused, START_MS } from '../../support/kernel-driver.ts';
import { type Fate, held } from '../../support/lane-world.ts';

/** Longer than a turn of the event loop, so that a loop that spins would be caught at it: a timer would never fire. */
const MOMENT_MS = 30;

async function open(reaper: boolean) {
  const world = { nowMs: START_MS };
  const memory = createMemoryStore({ nowMs: () => world.nowMs });
  const calls: string[] = [];
  let fate: Fate<AppendResult> | undefined;
  const store: Store = {
    ...memory,
    append: (epoch, batch) => {
      const real = () => memory.append(epoch, batch);
      if (batch.length > 0) calls.push(`append ${batch[0]?.entries[0]?.type}`);
      return batch.length === 0 || fate === undefined ? real() : fate(real);
    },
    project: (batch) => {
      if (calls.at(-1) !== 'project') calls.push('project');
      return memory.project(batch);
    },
    releaseWriterLease: (holder, epoch) => {
      calls.push('release');
      return memory.releaseWriterLease(holder, epoch);
    },
  };
  const coordinator = await startCoordinator({
    store,
    log: () => undefined,
    address: 'here:1',
    graceMs: 0,
    reaper,
    clock: { nowMs: () => world.nowMs },
  });
  const make = new Commands('t');
  await coordinator.submit(make.create('t', { limits: 1_000_000 }));
  const hold = () => {
    const gate = held<AppendResult>();
    fate = gate.fate;
    return gate.letGo;
  };
  return { world, memory, coordinator, make, calls, hold };
}

describe('a stop', () => {
  it('with an append under way and nothing left to project waits for it, projects it, and then lets go of the lease', async () => {
    const { coordinator, make, calls, hold, memory } = await open(false);
    await coordinator.catchUp(undefined);
    const letGo = hold();
    const answer = coordinator.submit(make.reserve('t', 10));
    await expect.poll(() => calls.at(-1)).toBe('append Granted');
    const stopped = coordinator.stop();
    expect(coordinator.stop()).toBe(stopped);
    await sleepMs(MOMENT_MS);
    expect(calls.at(-1)).toBe('append Granted');
    expect(refused(await coordinator.submit(make.reserve('t', 10))).reason).toBe('NOT_LEADER');
    letGo();
    granted(await answer);
    await stopped;
    expect(calls.slice(-3)).toEqual(['append Granted', 'project', 'release']);
    expect(memory.database.tree('t' as never).projectedSeq).toBe(2);
  });

  it('in a round of the reaper finishes what the round has submitted, and leaves the rest of it to the next leader', async () => {
    const { world, coordinator, calls, hold, memory } = await open(true);
    const treeIds = Array.from({ length: 450 }, (_, i) => `t${i}`);
    for (const treeId of treeIds) {
      const make = new Commands(treeId);
      await coordinator.submit(make.create(treeId, { limits: 10 }));
      await coordinator.submit(make.reserve(treeId, 1, { id: `${treeId}-first000`, ttlMs: 1_000 }));
    }
    await coordinator.catchUp(undefined);
    const letGo = hold();
    world.nowMs += 1_000;
    await expect.poll(() => calls.at(-1), { timeout: 3_000 }).toBe('append Expired');
    const stopped = coordinator.stop();
    await sleepMs(MOMENT_MS);
    letGo();
    await stopped;
    expect(calls.at(-1)).toBe('release');
    const trees = treeIds.map((treeId) => memory.database.tree(treeId as never));
    // A page of the search.
    expect(trees.filter(({ head }) => head.seq === 3)).toHaveLength(200);
    expect(trees.filter(({ head, projectedSeq }) => head.seq !== projectedSeq)).toEqual([]);
  });
});
