// What the queue costs whatever happens in its tree: steps, counted and not timed.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import { decideQueue } from '../../../src/kernel/decide-queue.ts';
import { IndexedHeap } from '../../../src/kernel/indexed-heap.ts';
import { TreeState } from '../../../src/kernel/tree-state.ts';
import { WaitQueue } from '../../../src/kernel/wait-queue.ts';
import { granted } from '../../support/kernel-driver.ts';
import { QueueDriver } from '../../support/queue-driver.ts';

let driver: QueueDriver;

beforeEach(() => {
  driver = new QueueDriver();
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** A list that counts how often one of its items was read. */
function counted<T>(items: readonly T[]): { readonly items: readonly T[]; readonly count: () => number } {
  let count = 0;
  const proxy = new Proxy(items, {
    get(target, name, receiver) {
      if (typeof name === 'string' && /^\d+$/.test(name)) count += 1;
      return Reflect.get(target, name, receiver);
    },
  });
  return { items: proxy, count: () => count };
}

test('an effect goes through the windows of a budget once, however many of them it moves', () => {
  const { make } = driver;
  driver.run(make.create('t', { limits: { a: 1_000, b: 1_000, c: 1_000 } }));
  for (let at = 0; at < 60; at += 1) driver.run(make.create(`t/f${at}`, { floor: 1 }));
  driver.hold('t/f1', 500);
  driver.hold('t/f2', 400);
  driver.wait('t', 500);
  const { answer, entries } = driver.decide(make.reserve('t/f1', 10, { priority: 'critical' }));
  granted(answer);
  const state = new TreeState(make.treeId, driver.state.position);
  const root = driver.state.budgetAt('t' as never);
  if (root === undefined) throw new Error('there is a root');
  const windows = counted(root.def.windows);
  for (const each of driver.state.budgets()) {
    state.putBudget(each === root ? { ...root, def: { ...root.def, windows: windows.items } } : each);
  }
  for (const each of driver.state.reservations()) state.putReservation(each);
  state.commit();
  const moved = vi.spyOn(WaitQueue.prototype, 'budgetMoved');
  const before = windows.count();
  for (const entry of entries) apply(state, entry);
  expect(moved.mock.calls.map(([{ path }]) => path).sort()).toEqual(['t', 't/f1']);
  // Once for who stands behind which floor, and once for each window that it moves itself.
  expect(windows.count() - before).toBeLessThan(12 * root.def.windows.length);
});

test('one whose wait is over is taken out with a look at the next, not at a page of others', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.settle(driver.hold('t', 100), 100);
  for (let at = 0; at < 150; at += 1) driver.wait(`t`, 1, { waitMs: 1_000 + at });
  driver.advance(2_000);
  const takenOut = vi.spyOn(IndexedHeap.prototype, 'remove');
  const entries = decideQueue(driver.state, driver.context());
  expect(entries).toHaveLength(1);
  const left = entries.flatMap((entry) => (entry.type === 'LeftQueue' ? entry.leaves : []));
  expect(takenOut.mock.calls.length).toBeLessThanOrEqual(left.length + 1);
  // All of them go in the end, in the order in which their waits were over.
  vi.restoreAllMocks();
  driver.look();
  expect(Object.values(driver.told())).toEqual(Array.from({ length: 150 }, () => 'QUEUE_TIMEOUT'));
});
