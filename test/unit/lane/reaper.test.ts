// The reaper makes quiet trees move, a page at a time, and a tree that fails hides no other.
import { describe, expect, it } from 'vitest';
import type { Answer, BudgetAnswer } from '../../../src/kernel/answer.ts';
import type { Command } from '../../../src/kernel/command.ts';
import type { BudgetPath, TreeId } from '../../../src/kernel/names.ts';
import { Reaper } from '../../../src/lane/reaper.ts';
import { contention, treeQuarantined } from '../../../src/lane/refusals.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { type DueTree, type IdleBudget, StoreUnavailableError } from '../../../src/store/port.ts';
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
    expect(await reaper.round()).toMatchObject({ treeCount: 450, refusal: undefined, fault: undefined });
    expect(submitted).toEqual(treeIds);
    expect(asked.map((after) => after?.treeId)).toEqual([undefined, 't199', 't399']);
  });

  it('submits a page at once, so that its trees share batches, and goes on with a tree until no more is due', async () => {
    const left = new Map([['t', 2]]);
    const { reaper, submitted } = withDue(['t', 'u', 'v'], (treeId) => {
      const more = left.get(treeId) ?? 0;
      left.set(treeId, more - 1);
      return { kind: 'expired', count: 9, more: more > 0 };
    });
    expect((await reaper.round()).treeCount).toBe(3);
    expect(submitted).toEqual(['t', 'u', 'v', 't', 't']);
  });

  it('says why a tree was not done, if it is in service, and does the others', async () => {
    const answers = new Map<string, Answer>([
      ['out', treeQuarantined('out' as never, 'corrupt')],
      ['lost', contention()],
    ]);
    const { reaper } = withDue(['out', 'lost', 'fine'], (treeId) => answers.get(treeId) ?? DONE);
    expect(await reaper.round()).toEqual({ treeCount: 1, refusal: contention(), fault: undefined });
    answers.delete('lost');
    expect(await reaper.round()).toEqual({ treeCount: 2, refusal: undefined, fault: undefined });
  });

  it('for somebody who waits tries a tree again that has failed, and says so if it still does', async () => {
    const error = new Error('poisoned');
    let fails = true;
    const { reaper, submitted } = withDue(['bad'], () => {
      if (fails) throw error;
      return DONE;
    });
    await reaper.round();
    expect(await reaper.catchUp()).toEqual({ treeCount: 0, refusal: undefined, fault: { error } });
    fails = false;
    expect(await reaper.catchUp()).toEqual({ treeCount: 1, refusal: undefined, fault: undefined });
    expect(submitted).toHaveLength(3);
  });

  it('that is told to end submits nothing more', async () => {
    const treeIds = Array.from({ length: 450 }, (_, i) => `t${i}`);
    const ending = new AbortController();
    const { reaper, submitted } = withDue(treeIds, () => {
      ending.abort();
      return { kind: 'expired', count: 9, more: true };
    });
    expect((await reaper.round(ending.signal)).treeCount).toBe(200);
    expect(submitted).toHaveLength(200);
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
    expect((await reaper.round()).treeCount).toBe(1);
    expect((await reaper.round()).treeCount).toBe(1);
    expect(submitted).toEqual(['bad', 'good', 'good']);
    await time.elapse(60_000);
    await reaper.round();
    expect(submitted.filter((treeId) => treeId === 'bad')).toHaveLength(2);
  });
});

describe('budgets that are idle', () => {
  function withIdle(count: number, answer: (path: string) => Answer) {
    const time = new ManualTime();
    const submitted: Command[] = [];
    const asked: (IdleBudget | undefined)[] = [];
    const logged: string[] = [];
    const idle = Array.from({ length: count }, (_, i): IdleBudget => {
      const treeId = `t${i % 3}` as TreeId;
      return { treeId, budgetNo: i, path: `${treeId}/${i}` as BudgetPath, lookMs: i };
    });
    const store = {
      ...createMemoryStore(),
      idleBudgets: async (_: number, after: IdleBudget | undefined, countMax: number) => {
        asked.push(after);
        return idle.filter(({ lookMs }) => lookMs > (after?.lookMs ?? -1)).slice(0, countMax);
      },
    };
    const reaper = new Reaper({
      store,
      clock: { nowMs: time.nowMs },
      log: (_, message) => logged.push(message),
      submit: async (command: Command) => {
        submitted.push(command);
        return answer('budget' in command ? command.budget : '');
      },
      isLeader: () => true,
      sleep: time.sleep,
    });
    return { reaper, time, submitted, asked, logged };
  }
  const closed = { kind: 'budget', def: { closed: true } } as BudgetAnswer;
  const open = { kind: 'budget', def: { closed: false } } as BudgetAnswer;

  it('are closed, page after page; those that have moved meanwhile are not counted', async () => {
    const { reaper, submitted, asked } = withIdle(450, (path) => (path.endsWith('9') ? open : closed));
    expect(await reaper.closeIdle()).toBe(405);
    expect(submitted).toHaveLength(450);
    expect(submitted[7]).toEqual({
      kind: 'CloseIdle',
      treeId: 't1',
      budget: 't1/7',
      actor: 'budgetd',
      key: undefined,
      personal: undefined,
    });
    expect(asked.map((after) => after?.budgetNo)).toEqual([undefined, 199, 399]);
  });

  it('of a tree that fails hide no others, and are left alone for a minute', async () => {
    const { reaper, time, submitted, logged } = withIdle(3, (path) => {
      if (path === 't0/0') throw new Error('poisoned');
      return path === 't1/1' ? contention() : closed;
    });
    expect(await reaper.closeIdle()).toBe(1);
    expect(logged).toEqual(['an idle budget could not be closed', 'idle budgets were closed']);
    await reaper.closeIdle();
    expect(submitted.map((command) => 'budget' in command && command.budget)).toEqual([
      't0/0',
      't1/1',
      't2/2',
      't1/1',
      't2/2',
    ]);
    await time.elapse(60_000);
    await reaper.closeIdle();
    expect(submitted).toHaveLength(8);
  });

  it('are looked for in every round', async () => {
    const { reaper, time, submitted } = withIdle(1, () => closed);
    reaper.start();
    await time.elapse(1_000);
    expect(submitted).toHaveLength(1);
    const stopped = reaper.stop();
    await time.elapse(1_000);
    await stopped;
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
