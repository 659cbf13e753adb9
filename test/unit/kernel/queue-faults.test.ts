// One that waits and can't be judged for a fault of the program: it fails alone, those of its line go on without it, and it is tried
// again, or leaves when its time is over.
import { beforeEach, expect, test, vi } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import { decideQueue, type QueueFault } from '../../../src/kernel/decide-queue.ts';
import { InvariantError } from '../../../src/kernel/invariant.ts';
import { QueueIndexError } from '../../../src/kernel/kept-queue.ts';
import type { ReservationId } from '../../../src/kernel/names.ts';
import { WaitQueue } from '../../../src/kernel/wait-queue.ts';
import { QueueDriver } from '../../support/queue-driver.ts';

let driver: QueueDriver;
let isBroken: boolean;
let faults: QueueFault[];
let bad: ReservationId;
let good: ReservationId;

/** Has whoever judges one fail while `isBroken`. */
function breakAt(id: ReservationId): void {
  const waiting = driver.state.queue?.byId(id);
  if (waiting === undefined) throw new Error(`${id} does not wait`);
  const { ttlMs } = waiting.queued;
  const broken = {
    get ttlMs() {
      if (isBroken) throw new InvariantError('a fault');
      return ttlMs;
    },
  };
  const queued = Object.defineProperties({ ...waiting.queued }, Object.getOwnPropertyDescriptors(broken));
  driver.state.putReservation({ ...waiting, queued });
  driver.state.commit();
}

function wait(waitMs: number): ReservationId {
  return driver.wait('t', 10, { waitMs, priority: 'critical' }) as ReservationId;
}

/** What the queue does now. */
function look(): void {
  const heads = { left: 1_000, failed: (fault: QueueFault) => faults.push(fault) };
  for (let next = decideQueue(driver.state, driver.context(), heads); next.length > 0; ) {
    for (const entry of next) apply(driver.state, entry);
    driver.journal.push(...next);
    next = decideQueue(driver.state, driver.context(), heads);
  }
  driver.state.commit();
}

/** Gives back all that is held, in a tree where nobody has looked at the queue yet. */
function free(hold: string): void {
  for (const entry of driver.decide(driver.make.release(hold)).entries) apply(driver.state, entry);
}

let hold: string;

beforeEach(() => {
  isBroken = false;
  faults = [];
  driver = new QueueDriver();
  driver.run(driver.make.create('t', { limits: 100 }));
  hold = driver.hold('t', 100, { ttlMs: 3_600_000 });
  bad = wait(120_000);
  good = wait(1_800_000);
  breakAt(bad);
  driver.look();
  expect(driver.told()).toEqual({});
  isBroken = true;
});

test('the others of its line go on without it', () => {
  free(hold);
  look();
  expect(Object.keys(driver.told())).toEqual([good]);
  expect(faults.map(({ id }) => id)).toEqual([bad]);
  expect(faults[0]?.error).toBeInstanceOf(InvariantError);
});

test('it is tried again every ten seconds, and granted once it can be judged', () => {
  free(hold);
  look();
  driver.told();
  expect(driver.state.queueDueMs).toBe(driver.nowMs + 10_000);
  driver.advance(9_999);
  look();
  expect(faults).toHaveLength(1);
  driver.advance(1);
  look();
  expect(faults).toHaveLength(2);
  isBroken = false;
  driver.nowMs = driver.state.queueDueMs;
  look();
  expect(Object.keys(driver.told())).toEqual([bad]);
  expect(driver.state.queue).toBeUndefined();
});

test('it leaves when its time is over, with all others whose time is', () => {
  const late = wait(120_001);
  driver.advance(120_001);
  look();
  expect(driver.told()).toEqual({ [bad]: 'QUEUE_TIMEOUT', [late]: 'QUEUE_TIMEOUT' });
  expect(driver.refusalOf(bad)).toMatchObject({ budget: 't', limit: 'lifetime' });
});

test('what is taken back while it is set aside leaves it where it was', () => {
  free(hold);
  const heads = { left: 1_000, failed: (fault: QueueFault) => faults.push(fault) };
  for (const entry of decideQueue(driver.state, driver.context(), heads)) apply(driver.state, entry);
  driver.state.rollback();
  isBroken = false;
  free(hold);
  look();
  expect(Object.keys(driver.told())).toEqual([bad, good]);
});

test('without anybody to tell the fault goes on', () => {
  free(hold);
  expect(() => decideQueue(driver.state, driver.context())).toThrow(InvariantError);
});

test('a self-check of the queue that fails is told apart from one of the records', () => {
  const cause = new InvariantError('a fault');
  const broken = vi.spyOn(WaitQueue.prototype, 'budgetMoved').mockImplementation(() => {
    throw cause;
  });
  expect(() => free(hold)).toThrow(QueueIndexError);
  broken.mockRestore();
});
