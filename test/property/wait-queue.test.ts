// The queue against the naive one: who is granted what after every command, who is told what, and that nobody who could be granted
// something waits. What is held is conserved, what was written down makes the same queue again, and a request of the lowest class is
// granted in time however urgent those are that go on coming.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apply } from '../../src/kernel/apply.ts';
import { decide } from '../../src/kernel/decide.ts';
import { decideQueue } from '../../src/kernel/decide-queue.ts';
import type { Entry } from '../../src/kernel/entry.ts';
import type { Reservation } from '../../src/kernel/reservation.ts';
import { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryQueueStory, type QueueStory, QueueTeller } from '../support/arbitrary-queue.ts';
import { CheckedQueue } from '../support/checked-queue.ts';
import type { KernelDriver } from '../support/kernel-driver.ts';
import { pictureOf } from '../support/picture-of.ts';
import { QueueDriver } from '../support/queue-driver.ts';
import { charges } from '../support/sum-history.ts';

function tell(story: QueueStory): CheckedQueue {
  const queue = new CheckedQueue();
  const teller = new QueueTeller(queue);
  teller.open(story);
  for (const step of story.steps) teller.tell(step);
  return queue;
}

function expectConserved({ state }: KernelDriver): void {
  const all = [...state.reservations()];
  for (const { def, counters, activeCount } of state.budgets()) {
    const active = all.filter((each) => each.figures.state === 'ACTIVE' && charges(each, def.path));
    expect(activeCount).toBe(active.length);
    expect(counters[0]?.heldMicros).toBe(active.reduce((sum, { figures }) => sum + figures.heldMicros, 0n));
  }
  for (const { figures } of all) if (figures.state === 'QUEUED') expect(figures.heldMicros).toBe(0n);
}

it('does after every command what the naive one would', () => {
  const total = { verdicts: 0, open: 0, grants: 0, leaves: 0 };
  fc.assert(
    fc.property(arbitraryQueueStory(60), (story) => {
      const queue = tell(story);
      expectConserved(queue);
      total.verdicts += queue.verdictCount;
      total.open += queue.openCount;
      total.grants += queue.grantCount;
      total.leaves += queue.leaveCount;
    }),
    { numRuns: 1_200 },
  );
  expect(total.grants).toBeGreaterThan(400);
  expect(total.leaves).toBeGreaterThan(400);
  // The text leaves two ways open for one in twenty at the most.
  expect(total.open * 20).toBeLessThan(total.verdicts);
});

it('what was written down makes the same tree again, with the same ones waiting', () => {
  fc.assert(
    fc.property(arbitraryQueueStory(40), (story) => {
      const { journal, state } = tell(story);
      const rebuilt = new TreeState(state.treeId, { seq: 0, atMs: 0, budgetCount: 0 });
      for (const entry of journal) apply(rebuilt, entry);
      rebuilt.commit();
      expect(pictureOf(rebuilt)).toEqual(pictureOf(state));
      expect(rebuilt.queue?.count).toBe(state.queue?.count);
    }),
    { numRuns: 150 },
  );
});

it('a batch that is taken back leaves the tree as it was', () => {
  fc.assert(
    fc.property(arbitraryQueueStory(30), arbitraryQueueStory(10), (story, { steps }) => {
      const queue = tell(story);
      const before = pictureOf(queue.state);
      const teller = new QueueTeller(queue);
      for (const step of steps) teller.tellInVain(step);
      expect(pictureOf(queue.state)).toEqual(before);
      queue.look();
    }),
    { numRuns: 150 },
  );
});

const AGE_MS = 60_000;

const stream = fc.record({
  everyMs: fc.integer({ min: 400, max: 4_000 }),
  holdMs: fc.integer({ min: 500, max: 30_000 }),
  amounts: fc.array(fc.integer({ min: 5, max: 60 }), { minLength: 1, maxLength: 5 }),
  waits: fc.boolean(),
  // Through its own child, or through others: what has had nothing is behind nobody for its share.
  paths: fc.constantFrom(['t/own'], ['t/a', 't/b'], ['t/a', 't'], ['t/own/x', 't/own']),
  asked: fc.integer({ min: 1, max: 100 }),
});

it('one of the lowest class is granted once it has risen to the highest, and what is held has come back', () => {
  fc.assert(
    fc.property(stream, ({ everyMs, holdMs, amounts, waits, paths, asked }) => {
      const driver = new QueueDriver();
      const { make } = driver;
      driver.run(make.create('t', { limits: 100 }));
      for (const path of ['t/own', 't/own/x', 't/a', 't/b']) driver.run(make.create(path, {}));
      driver.hold('t', 100, { ttlMs: everyMs });
      const sinceMs = driver.nowMs;
      const old = driver.wait('t/own', asked, { priority: 'background', waitMs: 10 * AGE_MS });
      const boundMs = 3 * AGE_MS + Math.max(holdMs, everyMs) + everyMs;
      let count = 0;
      while (driver.state.reservation(old as never)?.figures.state === 'QUEUED') {
        expect(driver.nowMs - sinceMs).toBeLessThanOrEqual(boundMs);
        const amount = amounts[count % amounts.length] as number;
        const options = { priority: 'critical' as const, ttlMs: holdMs, waitMs: waits ? 30_000 : 0, key: `c${count}` };
        driver.run(make.reserve(paths[count % paths.length] as string, amount, options));
        count += 1;
        driver.advance(everyMs);
        driver.look();
      }
      expect(driver.state.reservation(old as never)?.figures.grantedMicros).toBe(BigInt(asked));
    }),
    { numRuns: 60 },
  );
});

it('records that are loaded in any order make the same queue', () => {
  let told = 0;
  fc.assert(
    fc.property(arbitraryQueueStory(40), fc.infiniteStream(fc.nat()), (story, places) => {
      const queue = tell(story);
      const reservations = [...queue.state.reservations()];
      const mixed = reservations.map((each) => ({ each, at: places.next().value as number }));
      const orders = [reservations, mixed.sort((a, b) => a.at - b.at).map(({ each }) => each)];
      const [first, other] = orders.map((order) => offeredIn(queue, order));
      expect(other).toEqual(first);
      told += first?.length ?? 0;
    }),
    { numRuns: 150 },
  );
  expect(told).toBeGreaterThan(50);
});

/** What those who wait are told from now on, once the records of a tree are loaded, and all that is held is free. */
function offeredIn(queue: CheckedQueue, reservations: readonly Reservation[]): readonly Entry[] {
  const { state } = queue;
  const loaded = new TreeState(state.treeId, state.position);
  for (const budget of state.budgets()) loaded.putBudget(budget);
  for (const reservation of reservations) loaded.putReservation(reservation);
  loaded.commit();
  const told: Entry[] = [];
  const write = (entries: readonly Entry[]): void => {
    for (const entry of entries) apply(loaded, entry);
    told.push(...entries);
  };
  const offer = (): void => {
    for (let next = decideQueue(loaded, queue.context()); next.length > 0; ) {
      write(next);
      next = decideQueue(loaded, queue.context());
    }
  };
  offer();
  for (const { id, figures } of state.reservations()) {
    if (figures.state !== 'ACTIVE') continue;
    write(decide(loaded, queue.make.release(id), queue.context()).entries);
    offer();
  }
  return told;
}
