// What time alone does to several that wait at one instant: whoever is judged first of them need not come first.
import { beforeEach, expect, test } from 'vitest';
import { QueueDriver } from '../../support/queue-driver.ts';
import { DAY_MS } from '../../support/windows.ts';

let driver: QueueDriver;

beforeEach(() => {
  driver = new QueueDriver();
});

test('of two that rise at once the more urgent one goes on coming first', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  const a = driver.hold('t', 50, { ttlMs: DAY_MS });
  const b = driver.hold('t', 50, { ttlMs: DAY_MS });
  const low = driver.wait('t', 10, { priority: 'background', waitMs: DAY_MS });
  const big = driver.wait('t', 60, { waitMs: DAY_MS });
  driver.settle(a, 0);
  // As urgent as the other one was until now, and here for longer.
  driver.advance(60_000);
  driver.look();
  expect(driver.told()).toEqual({});
  driver.settle(b, 0);
  expect(driver.told()).toEqual({ [big]: 60, [low]: 10 });
});

test('one for which a rate fills when what another child has had fades does not slip past that child', () => {
  const { make } = driver;
  driver.queue = { ...driver.queue, ageMs: DAY_MS };
  driver.run(make.create('t', { limits: 100, rates: [{ kind: 'tokens', count: 1, perMs: 1_000, burst: 400 }] }));
  driver.run(make.create('t/c', { limits: 70 }));
  for (const path of ['t/c/x', 't/c/y', 't/d']) driver.run(make.create(path, {}));
  // Of t/c 10 are left, and of t 40.
  driver.settle(driver.hold('t/c/x', 20), 20);
  driver.hold('t/c/y', 15, { ttlMs: DAY_MS });
  driver.hold('t/c', 25, { ttlMs: DAY_MS, tokens: 400 });
  // Behind the first, whose child has had less until 210 s from now.
  driver.wait('t/c/y', 35, { waitMs: DAY_MS, priority: 'critical' });
  const urgent = driver.wait('t/c/x', 10, { waitMs: DAY_MS, priority: 'critical' });
  const late = driver.wait('t/d', 35, { waitMs: DAY_MS, tokens: 210 });
  driver.advance(209_000);
  driver.look();
  expect(driver.told()).toEqual({});
  driver.advance(1_000);
  driver.look();
  expect(driver.told()).toEqual({ [urgent]: 10 });
  driver.run(make.topUp('t', 20));
  expect(driver.told()).toEqual({ [late]: 35 });
});
