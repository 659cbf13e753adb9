// Waiting where a budget keeps capacity for some: nobody is held back by one who could not use it anyway, and what is kept is offered
// to those it is kept for.
import { beforeEach, expect, test } from 'vitest';
import type { BudgetPath } from '../../../src/kernel/names.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { QueueDriver } from '../../support/queue-driver.ts';
import { DAY_MS, rolling } from '../../support/windows.ts';

let driver: QueueDriver;

beforeEach(() => {
  driver = new QueueDriver();
});

function grants(budget: string, max: number, options: Parameters<QueueDriver['make']['reserve']>[2] = {}): string {
  return granted(driver.run(driver.make.reserve(budget, max, options))).reservation.id;
}

test('a child has its floor though a sibling waits that came first', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/a', {}));
  driver.run(driver.make.create('t/b', { floor: 30 }));
  const held = driver.hold('t/a', 70);
  const a = driver.wait('t/a', 10);
  expect(grants('t/b', 20)).toBeDefined();
  // Of what is left 10 are the floor's.
  expect(refused(driver.run(driver.make.reserve('t/b', 20)))).toMatchObject({
    reason: 'CAPACITY_HELD',
    availableMicros: 10n,
  });
  driver.settle(held, 60);
  expect(driver.told()).toEqual({ [a]: 10 });
});

test.each([true, false])('a child has its floor, a sibling that has one itself in memory: %s', (isLoaded) => {
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/s', { floor: 40 }));
  driver.run(driver.make.create('t/b', { floor: 30 }));
  driver.run(driver.make.create('t/a', {}));
  driver.hold('t', 30);
  driver.wait('t/a', 10);
  const sibling = driver.state.budgetAt('t/s' as BudgetPath)?.def.no ?? 0;
  if (!isLoaded) expect(driver.state.evictBudget(sibling)).toBe(true);
  expect(grants('t/b', 20)).toBeDefined();
  expect(refused(driver.run(driver.make.reserve('t/b', 20)))).toMatchObject({
    reason: 'CAPACITY_HELD',
    availableMicros: 10n,
  });
});

test('what comes back to a floor is offered to its child, past a sibling that came first', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/a', {}));
  driver.run(driver.make.create('t/b', { floor: 30 }));
  driver.hold('t/a', 70);
  const own = driver.hold('t/b', 30);
  const a = driver.wait('t/a', 10);
  const b = driver.wait('t/b', 30);
  driver.settle(own, 0);
  expect(driver.told()).toEqual({ [b]: 30 });
  driver.run(driver.make.topUp('t', 10));
  expect(driver.told()).toEqual({ [a]: 10 });
});

test('what is kept for a class is offered to it, past one of a lower class that has risen by waiting', () => {
  driver.run(
    driver.make.create('t', { limits: 100, enforcement: { kept: [{ priority: 'interactive', micros: 30n }] } }),
  );
  const normal = driver.hold('t', 70, { ttlMs: 86_400_000 });
  const kept = driver.hold('t', 30, { priority: 'interactive', ttlMs: 86_400_000 });
  const old = driver.wait('t', 10, { waitMs: 86_400_000 });
  driver.advance(300_000);
  const late = driver.wait('t', 30, { priority: 'interactive', waitMs: 86_400_000 });
  driver.settle(kept, 0);
  expect(driver.told()).toEqual({ [late]: 30 });
  driver.settle(normal, 30);
  expect(driver.told()).toEqual({ [old]: 10 });
});

test('one that waits for its share of a limit holds back no sibling, and those behind it in its budget', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/a', { share: 50 }));
  driver.run(driver.make.create('t/b', {}));
  const own = driver.hold('t/a', 50);
  const a = driver.wait('t/a', 20);
  expect(grants('t/b', 50)).toBeDefined();
  driver.settle(own, 40);
  expect(driver.told()).toEqual({});
  // Its share leaves 10.
  expect(refused(driver.run(driver.make.reserve('t/a', 5)))).toMatchObject({
    reason: 'CAPACITY_HELD',
    budget: 't',
    availableMicros: 0n,
  });
  driver.run(driver.make.topUp('t', 20));
  expect(driver.told()).toEqual({ [a]: 20 });
});

test('one that waits for the limit itself holds back siblings as well as its own', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/a', { share: 90 }));
  driver.run(driver.make.create('t/b', {}));
  driver.hold('t/b', 60);
  const a = driver.wait('t/a', 50);
  expect(refused(driver.run(driver.make.reserve('t/b', 10))).reason).toBe('CAPACITY_HELD');
  driver.run(driver.make.topUp('t', 10));
  expect(driver.told()).toEqual({ [a]: 50 });
});

test('a child has its floor past a sibling with another floor that came first', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/b', { floor: 20 }));
  driver.run(driver.make.create('t/c', { floor: 30 }));
  driver.hold('t', 20);
  const c = driver.wait('t/c', 70);
  expect(refused(driver.run(driver.make.reserve('t/b', 21)))).toMatchObject({ availableMicros: 20n });
  grants('t/b', 20);
  driver.run(driver.make.topUp('t', 9));
  expect(driver.told()).toEqual({});
  // It took nothing that the first could have had.
  driver.run(driver.make.topUp('t', 1));
  expect(driver.told()).toEqual({ [c]: 70 });
});

test('a floor is there in full for a child that has a share as well', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/a', {}));
  driver.run(driver.make.create('t/b', { floor: 30, share: 30 }));
  driver.hold('t', 20);
  driver.wait('t/a', 60);
  expect(grants('t/b', 30)).toBeDefined();
});

test('one that waits for something else holds nothing of a limit that has room for it', () => {
  driver.run(driver.make.create('t', { limits: 100, rates: [{ kind: 'tokens', count: 1, perMs: DAY_MS, burst: 10 }] }));
  driver.run(driver.make.create('t/a', {}));
  driver.run(driver.make.create('t/b', { floor: 30 }));
  driver.hold('t', 60, { tokens: 10 });
  driver.wait('t/a', 50);
  driver.wait('t/b', 10, { tokens: 10 });
  expect(grants('t/b', 30)).toBeDefined();
});

test('one behind who waits for a share holds nothing of the limit', () => {
  driver.run(driver.make.create('t', { limits: 200 }));
  driver.run(driver.make.create('t/a', { share: 25 }));
  for (const path of ['t/a/x', 't/b']) driver.run(driver.make.create(path, {}));
  driver.hold('t/a', 40);
  driver.hold('t/b', 50);
  driver.wait('t/a', 20);
  driver.wait('t/a/x', 5);
  expect(grants('t/b', 105)).toBeDefined();
});

test('the place of one whose caller has gone is kept in its share too', () => {
  const gone = new Set<string>();
  driver.queue = { ...driver.queue, isAttached: (id) => !gone.has(id) };
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/a', { share: 50 }));
  driver.run(driver.make.create('t/b', { floor: 30 }));
  const own = driver.hold('t/a', 50);
  const a = driver.wait('t/a', 40);
  gone.add(a);
  driver.settle(own, 0);
  const other = driver.make.reserve('t/a', 20, { also: ['t/b'] });
  expect(refused(driver.run(other))).toMatchObject({ availableMicros: 0n });
});

test('a share that comes back with time is offered, whatever became of the hold', () => {
  driver.run(driver.make.create('t', { limits: { rolling: rolling(10_000, 40) } }));
  driver.run(driver.make.create('t/a', { share: 50 }));
  const own = driver.hold('t/a', 20, { ttlMs: DAY_MS });
  const a = driver.wait('t/a', 8);
  granted(driver.run(driver.make.settle(own, 25, { keepOpen: true })));
  driver.advance(12_000);
  driver.look();
  expect(driver.told()).toEqual({ [a]: 8 });
});

test('a floor that comes back with time is offered, past one that could have the rest', () => {
  const gone = new Set<string>();
  driver.queue = { ...driver.queue, isAttached: (id) => !gone.has(id) };
  driver.run(driver.make.create('t', { limits: { rolling: rolling(10_000, 100) } }));
  driver.run(driver.make.create('t/a', {}));
  driver.run(driver.make.create('t/b', { floor: 30 }));
  driver.settle(driver.hold('t/b', 30), 30);
  const own = driver.hold('t/a', 70, { ttlMs: DAY_MS });
  const a = driver.wait('t/a', 40);
  gone.add(a);
  driver.run(driver.make.release(own));
  const b = driver.wait('t/b', 20);
  expect(driver.told()).toEqual({});
  // Nobody looks but when it is due: before the spend goes, for the order alone.
  const goneMs = driver.nowMs + 11_000;
  while (driver.state.queueDueMs <= goneMs) {
    driver.nowMs = driver.state.queueDueMs;
    driver.look();
  }
  expect(driver.told()).toEqual({ [b]: 20 });
});

test('what a hold through two children with floors leaves to others is offered at once', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  for (const path of ['t/b', 't/c']) driver.run(driver.make.create(path, { floor: 30 }));
  driver.run(driver.make.create('t/a', {}));
  driver.hold('t/a', 40);
  const a = driver.wait('t/a', 20);
  expect(driver.told()).toEqual({});
  // Of the limit 20 are gone, of the floors 40.
  grants('t/b', 20, { also: ['t/c'] });
  expect(driver.told()).toEqual({ [a]: 20 });
});

test('one that fitted only because of a hold through two children with floors leaves when that has gone', () => {
  driver.run(driver.make.create('t', { limits: { rolling: rolling(10_000, 100) } }));
  for (const path of ['t/b', 't/c']) driver.run(driver.make.create(path, { floor: 30 }));
  driver.run(driver.make.create('t/a', { limits: 60 }));
  driver.settle(granted(driver.run(driver.make.reserve('t/b', 30, { also: ['t/c'] }))).reservation.id, 30);
  driver.hold('t/a', 1, { ttlMs: DAY_MS });
  // t has 69 for it, and 40 of all that it has once its floors are not used.
  const a = driver.wait('t/a', 60);
  driver.advance(12_000);
  driver.look();
  expect(driver.told()).toEqual({ [a]: 'EXCEEDS_LIMIT' });
});
