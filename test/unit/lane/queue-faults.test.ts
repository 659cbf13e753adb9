// A fault in the queue of a tree: Settle, Release and all else of the tree go on, and what came back is offered later. Where it is what
// is in memory of the tree that is wrong, it is read anew.
import { describe, expect, test, vi } from 'vitest';
import type { BudgetDef } from '../../../src/kernel/budget.ts';
import { InvariantError } from '../../../src/kernel/invariant.ts';
import { TreeState } from '../../../src/kernel/tree-state.ts';
import { WaitQueue } from '../../../src/kernel/wait-queue.ts';
import { PlaceKept } from '../../../src/lane/place-kept.ts';
import { Commands } from '../../support/commands.ts';
import { granted } from '../../support/kernel-driver.ts';
import { settle } from '../../support/manual-time.ts';
import { type WaitingWorld, worldForEach } from '../../support/waiting-world.ts';

let world: WaitingWorld;
worldForEach((made) => {
  world = made;
});

const faultLines = (): number =>
  world.logged.filter((line) => line.includes('those who wait could not be judged')).length;

test('commands go on, the tree stays in memory, and those who wait are served once it is over', async () => {
  const [first, second] = [await world.hold(60), await world.hold(40)];
  const caller = await world.wait(50);
  const loads = world.loads.length;
  const broken = vi.spyOn(WaitQueue.prototype, 'nextUnjudged').mockImplementation(() => {
    throw new InvariantError('a fault');
  });
  granted(await world.lane.submit(world.make.settle(first, 10)));
  granted(await world.release(second));
  await world.elapse(0);
  expect(caller.answer).toBeUndefined();
  expect([faultLines(), world.loads.length]).toEqual([1, loads]);
  // Tried again at a bounded pace.
  for (let second = 0; second < 30; second += 1) await world.elapse(1_000);
  expect([faultLines(), broken.mock.calls.length]).toEqual([4, 4]);
  broken.mockRestore();
  for (let second = 0; second < 10; second += 1) await world.elapse(1_000);
  expect(granted(await caller.answering).reservation.figures.grantedMicros).toBe(50n);
  expect(await world.typesWritten()).toEqual(['Granted', 'Granted', 'Enqueued', 'Settled', 'Released', 'Granted']);
});

test('a wait that is over while the queue rests ends in its time', async () => {
  const hold = await world.hold(100);
  const caller = await world.wait(50, { waitMs: 5_000 });
  const broken = vi.spyOn(WaitQueue.prototype, 'nextUnjudged').mockImplementation(() => {
    throw new InvariantError('a fault');
  });
  granted(await world.release(hold));
  broken.mockRestore();
  for (let second = 0; second < 6; second += 1) await world.elapse(1_000);
  expect(caller.answer).toMatchObject({ kind: 'refusal', reason: 'QUEUE_TIMEOUT' });
  expect(faultLines()).toBe(1);
});

const linesOf = (text: string): number => world.logged.filter((line) => line.includes(text)).length;

/** What is in memory of the tree. */
function inMemory(): TreeState {
  const tree = world.lane.cache.peek('t' as never);
  if (tree === undefined) throw new Error('the tree is not in memory');
  return tree.state;
}

const fault = (): never => {
  throw new TypeError('a fault');
};

/** Spoils the one that waits, in memory alone: whoever reads a field of what it is judged with fails. */
function spoilWaiting(field: 'ttlMs' | 'blockedBy'): void {
  const [waiting] = inMemory().queue?.waiting() ?? [];
  if (waiting === undefined) throw new Error('nobody waits');
  const queued = Object.defineProperty({ ...waiting.queued }, field, { get: fault, enumerable: true });
  inMemory().putReservation({ ...waiting, queued });
  inMemory().commit();
}

/** Spoils the tree's root, in memory alone. */
function spoilAlerts(): void {
  const root = inMemory().budgetAt('t' as never);
  if (root === undefined) throw new Error('there is no root');
  const def: BudgetDef = Object.defineProperty({ ...root.def }, 'alertAt', { get: fault, enumerable: true });
  inMemory().putBudget({ ...root, def });
  inMemory().commit();
}

async function elapseSeconds(count: number): Promise<void> {
  for (let second = 0; second < count; second += 1) await world.elapse(1_000);
}

describe('a fault in ending waits', () => {
  test.each(['hasEnded', 'ended'] as const)(
    'in %s is tried again at a bounded pace, and others are granted meanwhile',
    async (method) => {
      const hold = await world.hold(100);
      const over = await world.wait(90, { waitMs: 5_000 });
      const other = await world.wait(20, { waitMs: 600_000 });
      const broken = vi.spyOn(WaitQueue.prototype, method);
      broken.mockImplementation(fault);
      await elapseSeconds(8);
      const count = faultLines();
      expect([count, over.answer, other.answer]).toEqual([1, undefined, undefined]);
      for (let no = 0; no < 20; no += 1) await world.lane.submit(world.make.getBudget('t'));
      expect(faultLines()).toBe(count);
      granted(await world.lane.submit(world.make.settle(hold, 70)));
      expect(granted(await other.answering).reservation.figures.grantedMicros).toBe(20n);
      await elapseSeconds(8);
      expect(faultLines()).toBe(2);
      broken.mockRestore();
      await elapseSeconds(10);
      expect(over.answer).toMatchObject({ kind: 'refusal', reason: 'QUEUE_TIMEOUT' });
      expect([faultLines(), world.lane.quarantinedTrees]).toEqual([2, []]);
    },
  );

  test.each(['hasEnded', 'ended'] as const)('in %s keeps nobody behind one that is over', async (method) => {
    await world.hold(50);
    const over = await world.wait(90, { waitMs: 5_000 });
    const behind = await world.wait(20, { waitMs: 600_000 });
    await elapseSeconds(2);
    expect(behind.answer).toBeUndefined();
    vi.spyOn(WaitQueue.prototype, method).mockImplementation(fault);
    await elapseSeconds(6);
    expect([faultLines(), over.answer]).toEqual([1, undefined]);
    expect(granted(await behind.answering).reservation.figures.grantedMicros).toBe(20n);
  });

  test('of one is its own: the others leave in time, it is tried again, and leaves when the tree is read anew', async () => {
    await world.hold(100);
    const bad = await world.wait(50, { waitMs: 5_000 });
    const others = [await world.wait(50, { waitMs: 5_000 }), await world.wait(50, { waitMs: 6_000 })];
    const [spoiled] = inMemory().queue?.waiting() ?? [];
    if (spoiled === undefined) throw new Error('nobody waits');
    const figures = Object.defineProperty({ ...spoiled.figures }, 'lapsedHeldMicros', { get: fault, enumerable: true });
    inMemory().putReservation({ ...spoiled, figures });
    inMemory().commit();
    await elapseSeconds(7);
    for (const { answer } of others) expect(answer).toMatchObject({ kind: 'refusal', reason: 'QUEUE_TIMEOUT' });
    expect([faultLines(), bad.answer]).toEqual([1, undefined]);
    await elapseSeconds(10);
    expect([faultLines(), bad.answer, linesOf('read anew')]).toEqual([2, undefined, 0]);
    await elapseSeconds(22);
    expect([faultLines(), linesOf('read anew')]).toEqual([3, 1]);
    expect(bad.answer).toMatchObject({ kind: 'refusal', reason: 'QUEUE_TIMEOUT' });
  });
});

describe('memory of a tree that is what is wrong', () => {
  test('is read anew after the third fault of one that waits, which is granted then', async () => {
    const hold = await world.hold(100);
    const caller = await world.wait(50);
    const loads = world.loads.length;
    spoilWaiting('ttlMs');
    granted(await world.release(hold));
    await elapseSeconds(19);
    expect([faultLines(), world.loads.length - loads, caller.answer]).toEqual([2, 0, undefined]);
    await elapseSeconds(3);
    expect(granted(await caller.answering).reservation.figures.grantedMicros).toBe(50n);
    expect([faultLines(), world.loads.length - loads, linesOf('read anew')]).toEqual([3, 1, 1]);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Released', 'Granted']);
  });

  test('and is not: then it is read once in so many faults and no oftener, and nobody is held up', async () => {
    const hold = await world.hold(100);
    await world.wait(50, { waitMs: 600_000 });
    const loads = world.loads.length;
    vi.spyOn(WaitQueue.prototype, 'nextUnjudged').mockImplementation(fault);
    granted(await world.release(hold));
    await elapseSeconds(64);
    const readCount = world.loads.length - loads;
    expect([readCount, linesOf('read anew')]).toEqual([3, 3]);
    expect(faultLines()).toBeLessThanOrEqual(readCount * 3 + 1);
    granted(await world.lane.submit(world.make.reserve('t', 100)));
    expect(world.lane.quarantinedTrees).toEqual([]);
  });

  test('fails no command in whose company it shows', async () => {
    await world.lane.submit(world.make.update('t', { alertAt: [50] }));
    const hold = await world.hold(10);
    spoilAlerts();
    const answers = await Promise.all([
      world.lane.submit(world.make.reserve('t', 20)),
      world.lane.submit(world.make.settle(hold, 10)),
      world.lane.submit(world.make.reserve('t', 30)),
    ]);
    for (const answer of answers) granted(answer);
    expect(linesOf('a batch failed')).toBe(1);
    expect(await world.lane.submit(world.make.getBudget('t'))).toMatchObject({ lifetime: { heldMicros: 50n } });
  });

  test('puts no tree out of service by a fault of the program in recording lapses', async () => {
    await world.lane.submit(world.make.update('t', { alertAt: [50], onExpiry: 'charge' }));
    granted(await world.lane.submit(world.make.reserve('t', 10, { ttlMs: 1_000 })));
    spoilAlerts();
    world.nowMs += 1_000;
    await expect(world.lane.submit(world.make.getBudget('t'))).rejects.toThrow('a fault');
    const budget = await world.lane.submit(world.make.getBudget('t'));
    expect(budget).toMatchObject({ lifetime: { heldMicros: 0n, settledMicros: 10n } });
    expect(world.lane.quarantinedTrees).toEqual([]);
  });
});

describe('those for whom nobody has come back', () => {
  test('are let go though one of them can not be: it is tried again, and commands go on', async () => {
    const hold = await world.hold(100);
    await world.wait(50, { waitMs: 600_000 });
    await world.wait(40, { waitMs: 600_000 });
    world.lane.reset();
    world.lane.noteServing();
    granted(await world.lane.submit(world.make.reserve('t', 0)));
    const [bad] = inMemory().queue?.waiting() ?? [];
    if (bad === undefined) throw new Error('nobody waits');
    const figures = Object.defineProperty({ ...bad.figures }, 'lapsedHeldMicros', { get: fault, enumerable: true });
    inMemory().putReservation({ ...bad, figures });
    inMemory().commit();
    world.nowMs += 10_000;
    granted(await world.lane.submit(world.make.settle(hold, 10)));
    expect(inMemory().queue?.count).toBe(1);
    expect(faultLines()).toBe(1);
    await elapseSeconds(32);
    expect(inMemory().queue).toBeUndefined();
    expect((await world.typesWritten()).filter((type) => type === 'LeftQueue')).toHaveLength(2);
  });
});

/** Has a grant of one that waits fail where it is applied. `count`: how often it did. */
function grantsFail(): { count: number } {
  const seen = { count: 0 };
  const put = TreeState.prototype.putReservation;
  vi.spyOn(TreeState.prototype, 'putReservation').mockImplementation(function (this: TreeState, reservation) {
    const isGrant = reservation.figures.state === 'ACTIVE' && this.queue?.byId(reservation.id) !== undefined;
    if (!isGrant) return put.call(this, reservation);
    seen.count += 1;
    return fault();
  });
  return seen;
}

describe('what was decided of those who wait and can not be applied', () => {
  test('delays nothing else: a place is kept no longer than it was to be, and a lease runs out in its time', async () => {
    const [first, second] = [await world.hold(60), await world.hold(40)];
    await world.wait(50, { waitMs: 600_000 });
    const sentAway = await world.wait(40, { waitMs: 600_000 });
    granted(await world.lane.submit(world.make.reserve('t', 0, { ttlMs: 5_000 })));
    sentAway.gone.abort(new PlaceKept(5_000));
    grantsFail();
    granted(await world.release(first));
    await world.elapse(0);
    expect(linesOf('could not be served')).toBe(1);
    await elapseSeconds(6);
    expect(await world.typesWritten()).toEqual(expect.arrayContaining(['Expired', 'LeftQueue']));
    expect(linesOf('could not be served')).toBe(1);
    granted(await world.release(second));
  });

  test("is nobody's command: all else goes on with the tree read anew, whose queue rests", async () => {
    await world.lane.submit({ ...new Commands('u').create('u', { limits: 100 }) });
    const hold = await world.hold(100);
    const caller = await world.wait(50);
    const loads = world.loads.length;
    const broken = grantsFail();
    const answers = await Promise.all([
      world.lane.submit(world.make.settle(hold, 10)),
      world.lane.submit(world.make.reserve('t', 20)),
      world.lane.submit(new Commands('u').reserve('u', 30)),
    ]);
    for (const answer of answers) granted(answer);
    await settle();
    expect(caller.answer).toBeUndefined();
    expect([linesOf('could not be served'), world.loads.length - loads]).toEqual([1, 1]);
    await elapseSeconds(9);
    expect(broken.count).toBe(1);
    await elapseSeconds(1);
    expect(broken.count).toBe(2);
    vi.restoreAllMocks();
    await elapseSeconds(11);
    expect(granted(await caller.answering).reservation.figures.grantedMicros).toBe(50n);
    expect(world.lane.quarantinedTrees).toEqual([]);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Settled', 'Granted', 'Granted']);
  });
});

test('a queue that can not even be made anew holds up no command', async () => {
  const hold = await world.hold(100);
  const caller = await world.wait(50);
  const [broken, anew] = (['nextUnjudged', 'rest'] as const).map((method) =>
    vi.spyOn(WaitQueue.prototype, method).mockImplementation(fault),
  );
  const answers = [world.lane.submit(world.make.settle(hold, 10)), world.lane.submit(world.make.reserve('t', 20))];
  for (const answer of await Promise.all(answers)) granted(answer);
  expect(linesOf('could not be served')).toBe(1);
  broken?.mockRestore();
  anew?.mockRestore();
  await elapseSeconds(11);
  expect(granted(await caller.answering).reservation.figures.grantedMicros).toBe(50n);
});
