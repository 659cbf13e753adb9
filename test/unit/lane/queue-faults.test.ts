// A fault in the queue of a tree: Settle, Release and all else of the tree go on, and what came back is offered later.
import { expect, test, vi } from 'vitest';
import { InvariantError } from '../../../src/kernel/invariant.ts';
import { WaitQueue } from '../../../src/kernel/wait-queue.ts';
import { granted } from '../../support/kernel-driver.ts';
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
