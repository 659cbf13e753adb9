// Faults in the index that a queue is, in two places of a queue, and of very many that wait: all else of the tree goes on, at a bounded
// pace, and no tree is put out of service for what is no fault of its records.
import { describe, expect, test, vi } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import { InvariantError } from '../../../src/kernel/invariant.ts';
import type { TreeState } from '../../../src/kernel/tree-state.ts';
import { WaitQueue } from '../../../src/kernel/wait-queue.ts';
import { granted } from '../../support/kernel-driver.ts';
import { settle } from '../../support/manual-time.ts';
import { type WaitingWorld, worldForEach } from '../../support/waiting-world.ts';

let world: WaitingWorld;
worldForEach((made) => {
  world = made;
});

const faultLines = (): number =>
  world.logged.filter((line) => line.includes('those who wait could not be judged')).length;

/** What is in memory of the tree. */
function inMemory(): TreeState {
  const tree = world.lane.cache.peek('t' as never);
  if (tree === undefined) throw new Error('the tree is not in memory');
  return tree.state;
}

const fault = (): never => {
  throw new TypeError('a fault');
};

async function elapseSeconds(count: number): Promise<void> {
  for (let second = 0; second < count; second += 1) await world.elapse(1_000);
}

describe('a fault in keeping the queue up, which is an index of the records', () => {
  const broken = (method: 'remove' | 'budgetMoved' | 'add', times: number) => {
    const mock = vi.spyOn(WaitQueue.prototype, method);
    for (let no = 0; no < times; no += 1) {
      mock.mockImplementationOnce(() => {
        throw new InvariantError('a self-check of the queue');
      });
    }
    return mock;
  };

  test('in taking one out keeps the grant, and puts no tree out of service', async () => {
    const hold = await world.hold(100);
    const [first, second] = [await world.wait(50), await world.wait(40)];
    const loads = world.loads.length;
    broken('remove', 1);
    granted(await world.lane.submit(world.make.settle(hold, 10)));
    expect(granted(await first.answering).reservation.figures.grantedMicros).toBe(50n);
    expect([faultLines(), world.loads.length - loads, second.answer]).toEqual([1, 0, undefined]);
    await elapseSeconds(9);
    expect(second.answer).toBeUndefined();
    await elapseSeconds(2);
    expect(granted(await second.answering).reservation.figures.grantedMicros).toBe(40n);
    expect([faultLines(), world.lane.quarantinedTrees]).toEqual([1, []]);
    expect(await world.lane.submit(world.make.getBudget('t'))).toMatchObject({
      lifetime: { heldMicros: 90n, settledMicros: 10n },
    });
  });

  test('with what a command does is not its fault, and where it stays the tree is read anew once in 20 s', async () => {
    const holds = [await world.hold(60), await world.hold(40)];
    const caller = await world.wait(90, { waitMs: 600_000 });
    const loads = world.loads.length;
    const mock = vi.spyOn(WaitQueue.prototype, 'budgetMoved').mockImplementation(() => {
      throw new InvariantError('a self-check of the queue');
    });
    granted(await world.lane.submit(world.make.settle(holds[0] ?? '', 10)));
    for (let no = 0; no < 50; no += 1) {
      const { id } = granted(await world.lane.submit(world.make.reserve('t', 1))).reservation;
      granted(await world.release(id));
      await world.elapse(1_000);
    }
    expect([world.loads.length - loads, world.lane.quarantinedTrees]).toEqual([2, []]);
    mock.mockRestore();
    granted(await world.release(holds[1] ?? ''));
    await elapseSeconds(11);
    expect(granted(await caller.answering).reservation.figures.grantedMicros).toBe(90n);
  });

  test('while the tree is read is none of its records: it is served', async () => {
    const hold = await world.hold(100);
    await world.wait(50, { waitMs: 600_000 });
    world.lane.cache.drop('t' as never);
    broken('add', 1);
    granted(await world.lane.submit(world.make.settle(hold, 10)));
    expect([inMemory().queue?.count, faultLines(), world.lane.quarantinedTrees]).toEqual([1, 1, []]);
  });

  test('that can not be mended fails what it is about, and puts no tree out of service either', async () => {
    const hold = await world.hold(100);
    await world.wait(50, { waitMs: 600_000 });
    world.lane.cache.drop('t' as never);
    const mock = broken('add', 2);
    await expect(world.lane.submit(world.make.getBudget('t'))).rejects.toThrow("can't be made anew");
    mock.mockRestore();
    granted(await world.lane.submit(world.make.settle(hold, 10)));
    expect(world.lane.quarantinedTrees).toEqual([]);
  });
});

describe('faults in two places of a queue', () => {
  test('are tried again at a bounded pace, and the tree is read anew once in 20 s', async () => {
    const hold = await world.hold(100);
    await world.wait(90, { waitMs: 5_000 });
    await world.wait(20, { waitMs: 600_000 });
    const loads = world.loads.length;
    const mocks = (['nextUnjudged', 'ended'] as const).map((method) => {
      const mock = vi.spyOn(WaitQueue.prototype, method);
      return mock.mockImplementation(fault);
    });
    granted(await world.lane.submit(world.make.settle(hold, 70)));
    await elapseSeconds(46);
    for (let no = 0; no < 20; no += 1) await world.lane.submit(world.make.getBudget('t'));
    expect(world.loads.length - loads).toBeLessThanOrEqual(2);
    for (const { mock } of mocks) expect(mock.calls.length).toBeLessThanOrEqual(8);
    expect(world.lane.quarantinedTrees).toEqual([]);
  });

  test('go on resting when the tree has left memory for another reason', async () => {
    const hold = await world.hold(100);
    await world.wait(90, { waitMs: 5_000 });
    const mocks = (['nextUnjudged', 'ended'] as const).map((method) => {
      const mock = vi.spyOn(WaitQueue.prototype, method);
      return mock.mockImplementation(fault);
    });
    await elapseSeconds(6);
    granted(await world.lane.submit(world.make.settle(hold, 70)));
    const counts = mocks.map(({ mock }) => mock.calls.length);
    world.lane.cache.drop('t' as never);
    await world.lane.submit(world.make.getBudget('t'));
    await elapseSeconds(2);
    expect(mocks.map(({ mock }) => mock.calls.length)).toEqual(counts);
  });
});

describe('those for whom nobody has come back, where they are many', () => {
  /** So many wait on a budget, and the lane has been reset since. */
  async function wereWaiting(count: number, budget: string): Promise<void> {
    const callers: Promise<Answer>[] = [];
    for (let no = 0; no < count; no += 1) {
      const waits = { waitMs: 600_000, key: `late ${no}` };
      callers.push(world.lane.submit(world.make.reserve(budget, 50, waits), new AbortController().signal));
    }
    await settle();
    world.lane.reset();
    world.lane.noteServing();
    for (const answer of await Promise.all(callers)) expect(answer).toMatchObject({ reason: 'NOT_LEADER' });
    granted(await world.lane.submit(world.make.reserve('t', 0)));
    expect(inMemory().queue?.count).toBe(count);
    world.nowMs += 10_000;
  }

  test('and fail, are tried in several batches, each of them once', async () => {
    const hold = await world.hold(100);
    await wereWaiting(600, 't');
    for (const each of [...(inMemory().queue?.waiting() ?? [])]) {
      const figures = Object.defineProperty({ ...each.figures }, 'lapsedHeldMicros', { get: fault, enumerable: true });
      inMemory().putReservation({ ...each, figures });
    }
    inMemory().commit();
    granted(await world.lane.submit(world.make.settle(hold, 10)));
    expect(world.logFields.flatMap((fields) => fields?.['faults'] ?? [])).toEqual([256, 256, 88]);
    expect(inMemory().queue?.count).toBe(600);
  });

  test('are let go by the work that they are', async () => {
    let budget = 't';
    for (let depth = 1; depth < 9; depth += 1) {
      budget = `${budget}/${depth}`;
      await world.lane.submit(world.make.create(budget));
    }
    const hold = await world.hold(100);
    await wereWaiting(300, budget);
    world.appends.length = 0;
    granted(await world.lane.submit(world.make.settle(hold, 10)));
    const left = world.appends.map(({ batch }) =>
      batch.flatMap(({ entries }) => entries).filter(({ type }) => type === 'LeftQueue'),
    );
    expect(left.map(({ length }) => length)).toEqual([128, 128, 44]);
  });
});
