// The reaper makes quiet trees move, a page at a time, and a tree that fails hides no other.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import type { Command } from '../../../src/kernel/command.ts';
import { Reaper } from '../../../src/lane/reaper.ts';
import { treeQuarantined } from '../../../src/lane/refusals.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { type DueTree, StoreUnavailableError } from '../../../src/store/port.ts';
import { ManualTime } from '../../support/manual-time.ts';

const DONE: Answer = { kind: 'expired', count: 0, more: false };

function withDue(treeIds: readonly string[], answer: (treeId: string) => Answer = () => DONE) {
  const time = new ManualTime();
  const submitted: string[] = [];
  const asked: (DueTree | undefined)[] = [];
  const world = { isLeader: true, isDown: false };
  const due = treeIds.map((treeId, i): DueTree => ({ treeId: treeId as never, reclaimMs: i }));
  const store = {
    ...createMemoryStore(),
    dueTrees: async (_: number, after: DueTree | undefined, countMax: number) => {
      if (world.isDown) throw new StoreUnavailableError('cut');
      asked.push(after);
      return due.filter(({ reclaimMs }) => reclaimMs > (after?.reclaimMs ?? -1)).slice(0, countMax);
    },
  };
  const reaper = new Reaper({
    store,
    clock: { nowMs: time.nowMs },
    log: () => undefined,
    submit: async ({ treeId }: Command) => {
      submitted.push(treeId);
      return answer(treeId);
    },
    isLeader: () => world.isLeader,
    sleep: time.sleep,
  });
  return { reaper, time, submitted, asked, world };
}

describe('a round', () => {
  it('asks for every due tree, page after page', async () => {
    const treeIds = Array.from({ length: 450 }, (_, i) => `t${i}`);
    const { reaper, submitted, asked } = withDue(treeIds);
    expect(await reaper.round()).toBe(450);
    expect(submitted).toEqual(treeIds);
    expect(asked.map((after) => after?.treeId)).toEqual([undefined, 't199', 't399']);
  });

  it('goes on with a tree until no more is due', async () => {
    const answers: Answer[] = [
      { kind: 'expired', count: 9, more: true },
      { kind: 'expired', count: 9, more: true },
    ];
    const { reaper, submitted } = withDue(['t', 'u'], () => answers.shift() ?? DONE);
    await reaper.round();
    expect(submitted).toEqual(['t', 't', 't', 'u']);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('poisoned');
      },
    ],
    ['is out of service', () => treeQuarantined('bad' as never, 'corrupt')],
  ])('passes over a tree that %s, and leaves it alone for a minute', async (_, fail) => {
    const { reaper, time, submitted } = withDue(['bad', 'good'], (treeId) => (treeId === 'bad' ? fail() : DONE));
    expect(await reaper.round()).toBe(1);
    expect(await reaper.round()).toBe(1);
    expect(submitted).toEqual(['bad', 'good', 'good']);
    await time.elapse(60_000);
    await reaper.round();
    expect(submitted.filter((treeId) => treeId === 'bad')).toHaveLength(2);
  });
});

describe('rounds', () => {
  it('come once a second, only from the writer, and outlive an outage', async () => {
    const { reaper, time, submitted, world } = withDue(['t']);
    reaper.start();
    reaper.start();
    await time.elapse(999);
    expect(submitted).toHaveLength(0);
    await time.elapse(1);
    expect(submitted).toHaveLength(1);
    world.isLeader = false;
    await time.elapse(3_000);
    expect(submitted).toHaveLength(1);
    Object.assign(world, { isLeader: true, isDown: true });
    await time.elapse(3_000);
    world.isDown = false;
    await time.elapse(1_000);
    expect(submitted).toHaveLength(2);
    const stopped = reaper.stop();
    await time.elapse(1_000);
    await stopped;
    expect(submitted).toHaveLength(2);
  });
});
