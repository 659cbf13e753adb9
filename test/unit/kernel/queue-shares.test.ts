// Waiting where a budget keeps capacity for some: nobody is held back by one who could not use it anyway, and what is kept is offered
// to those it is kept for.
import { beforeEach, expect, test } from 'vitest';
import { granted, refused } from '../../support/kernel-driver.ts';
import { QueueDriver } from '../../support/queue-driver.ts';

let driver: QueueDriver;

beforeEach(() => {
  driver = new QueueDriver();
});

function grants(budget: string, max: number, options: { readonly priority?: 'critical' | 'interactive' } = {}): string {
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
