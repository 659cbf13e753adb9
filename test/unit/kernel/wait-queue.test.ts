// The queue from the kernel's side: who waits, and in which order what comes back is offered.
import { beforeEach, describe, expect, test } from 'vitest';
import { granted, refused } from '../../support/kernel-driver.ts';
import { QueueDriver } from '../../support/queue-driver.ts';
import { DAY_MS, per, range, rolling } from '../../support/windows.ts';

let driver: QueueDriver;

beforeEach(() => {
  driver = new QueueDriver();
});

describe('waiting for room', () => {
  test('what comes back is offered in the same decision, and no more than asked is granted', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 80);
    const b = driver.wait('t', 50);
    expect(driver.told()).toEqual({});
    driver.settle(a, 40);
    expect(driver.told()).toEqual({ [b]: 50 });
    expect(driver.balances('t')).toMatchObject({ held: 50n, settled: 40n, available: 10n });
  });

  test('what can never fit is refused at once', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    expect(refused(driver.run(driver.make.reserve('t', 200, { waitMs: 60_000 })))).toMatchObject({
      reason: 'EXCEEDS_LIMIT',
    });
  });

  test('a request that fits does not wait, and a dry run never does', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    expect(driver.run(driver.make.reserve('t', 100, { waitMs: 1 })).kind).toBe('reservation');
    const dry = driver.run(driver.make.reserve('t', 1, { waitMs: 60_000, dryRun: true }));
    expect(refused(dry)).toMatchObject({ reason: 'CAPACITY_HELD' });
  });

  test.each([
    ['settle', (id: string) => driver.run(driver.make.settle(id, 0))],
    ['release', (id: string) => driver.run(driver.make.release(id))],
    ['a lapse', () => driver.advance(60_000)],
    ['a top-up', () => driver.run(driver.make.topUp('t', 60))],
    ['a raised limit', () => driver.run(driver.make.update('t', { limits: 200 }))],
    ['a mode that only watches', () => driver.run(driver.make.update('t', { enforcement: { mode: 'observe' } }))],
  ])('is offered after %s', (_, act) => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 90);
    const b = driver.wait('t', 60, { waitMs: 600_000 });
    expect(driver.told()).toEqual({});
    act(a);
    driver.look();
    expect(driver.told()).toEqual({ [b]: 60 });
  });

  test('a rate that fills is offered when it holds enough, and not before', () => {
    driver.run(
      driver.make.create('t', { uncapped: true, rates: [{ kind: 'tokens', count: 100, perMs: 1_000, burst: 100 }] }),
    );
    granted(driver.run(driver.make.reserve('t', 1, { tokens: 100 })));
    const b = driver.wait('t', 1, { tokens: 50 });
    driver.advance(499);
    driver.look();
    expect(driver.told()).toEqual({});
    driver.advance(1);
    driver.look();
    expect(driver.told()).toEqual({ [b]: 1 });
  });

  test('a slot that comes free is offered', () => {
    driver.run(driver.make.create('t', { uncapped: true, shape: { maxActive: 1 } }));
    const a = driver.hold('t', 1);
    const b = driver.wait('t', 1);
    driver.settle(a, 1);
    expect(driver.told()).toEqual({ [b]: 1 });
  });

  test('a window that turns is offered, in the period that begins', () => {
    driver.run(
      driver.make.create('t', {
        limits: { daily: { amount: 100, rule: { kind: 'calendar', unit: 'day', timeZone: 'UTC' } } },
      }),
    );
    driver.settle(driver.hold('t', 100), 100);
    const b = driver.wait('t', 100, { waitMs: 86_400_000 });
    const day = 86_400_000;
    driver.advance(day - (driver.nowMs % day));
    driver.look();
    expect(driver.told()).toEqual({ [b]: 100 });
  });
});

describe('what time alone brings', () => {
  test('a day that begins is offered though holds of the day before are still there', () => {
    driver.run(driver.make.create('t', { limits: { daily: per('day', 100) } }));
    driver.hold('t', 100, { ttlMs: 2 * DAY_MS });
    // As high as it can rise, so that it is not looked at for that.
    const b = driver.wait('t', 100, { waitMs: DAY_MS, priority: 'critical' });
    driver.advance(DAY_MS - (driver.nowMs % DAY_MS));
    driver.look();
    expect(driver.told()).toEqual({ [b]: 100 });
  });

  test('spend that leaves a rolling window is offered beside holds, and as soon as it is enough', () => {
    driver.run(driver.make.create('t', { limits: { rolling: rolling(10_000, 100) } }));
    const a = driver.hold('t', 100, { ttlMs: DAY_MS });
    const b = driver.wait('t', 50);
    granted(driver.run(driver.make.settle(a, 30, { keepOpen: true })));
    driver.advance(5_000);
    granted(driver.run(driver.make.settle(a, 30, { keepOpen: true })));
    driver.advance(9_000);
    driver.look();
    expect(driver.told()).toEqual({});
    driver.advance(1_999);
    driver.look();
    expect(driver.told()).toEqual({});
    driver.advance(1);
    driver.look();
    expect(driver.told()).toEqual({ [b]: 50 });
  });

  test('one whose range is over leaves', () => {
    driver.run(driver.make.create('t', { limits: { sale: range(0, driver.nowMs + 5_000, 100) } }));
    driver.hold('t', 100);
    const b = driver.wait('t', 50, { waitMs: DAY_MS });
    expect(driver.state.queueDueMs).toBe(driver.nowMs + 5_000);
    driver.advance(5_000);
    driver.look();
    expect(driver.told()).toEqual({ [b]: 'WINDOW_CLOSED' });
  });

  test('who has had less by now comes first, though nothing comes back', () => {
    driver.run(driver.make.create('t', { limits: 1_000 }));
    for (const path of ['t/a', 't/b']) driver.run(driver.make.create(path, {}));
    driver.settle(driver.hold('t/a', 200), 200);
    driver.hold('t/b', 120, { ttlMs: DAY_MS });
    driver.hold('t', 640, { ttlMs: DAY_MS });
    const asked = { waitMs: DAY_MS, priority: 'critical' } as const;
    driver.wait('t/b', 100, asked);
    const a = driver.wait('t/a', 40, asked);
    expect(driver.told()).toEqual({});
    // 200 of half an hour ago are 25, and 120 are held still.
    driver.advance(1_800_000);
    driver.run(driver.make.reserve('t', 1));
    expect(driver.told()).toEqual({ [a]: 40 });
  });

  describe('among two of whom one has spent', () => {
    const asked = { waitMs: DAY_MS, priority: 'critical' } as const;
    let b: string;

    beforeEach(() => {
      driver.run(driver.make.create('t', { limits: 1_000 }));
      for (const path of ['t/a', 't/b']) driver.run(driver.make.create(path, {}));
      driver.settle(driver.hold('t/b', 600), 600);
      driver.hold('t/a', 390, { ttlMs: DAY_MS });
      driver.wait('t/a', 100, asked);
      b = driver.wait('t/b', 10, asked);
      expect(driver.told()).toEqual({});
    });

    test('there is a look in time for who comes first by time alone', () => {
      const sinceMs = driver.nowMs;
      let lookCount = 0;
      for (; driver.state.reservation(b as never)?.figures.state === 'QUEUED'; lookCount += 1) {
        driver.nowMs = driver.state.queueDueMs;
        driver.look();
      }
      // 600 count as much as 390 after 323 s.
      expect(driver.nowMs - sinceMs).toBeLessThanOrEqual(330_000);
      expect(lookCount).toBeLessThanOrEqual(34);
    });

    test('there is none once nothing fades', () => {
      driver.advance(11 * 600_000);
      driver.look();
      // What is left of it then is nothing, and the next thing to happen is that the lease ends.
      expect(driver.state.queueDueMs - driver.nowMs).toBe(60_000);
    });

    test('a clock that is behind the last look is none to look by', () => {
      driver.look();
      expect(driver.state.queue?.isDue(driver.nowMs)).toBe(false);
      expect(driver.state.queue?.isDue(driver.nowMs - 10_001)).toBe(false);
      expect(driver.state.queue?.isDue(driver.nowMs + 10_000)).toBe(true);
    });
  });

  test('nobody is looked at for the time that passes where only one child waits', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/a', {}));
    driver.settle(driver.hold('t/a', 50), 50);
    driver.hold('t', 50, { ttlMs: DAY_MS });
    driver.wait('t/a', 10, { waitMs: DAY_MS, priority: 'critical' });
    expect(driver.state.queueDueMs - driver.nowMs).toBe(DAY_MS);
  });
});

describe('the order', () => {
  test('one that uses no tokens is not held back by one before it that waits for them', () => {
    driver.run(
      driver.make.create('t', { limits: 100, rates: [{ kind: 'tokens', count: 1, perMs: 60_000, burst: 10 }] }),
    );
    granted(driver.run(driver.make.reserve('t', 0, { tokens: 10 })));
    const a = driver.hold('t', 100);
    driver.wait('t', 10, { tokens: 10, waitMs: 600_000 });
    const plain = driver.wait('t', 10);
    driver.settle(a, 0);
    expect(driver.told()).toEqual({ [plain]: 10 });
  });

  test('whoever is found to fit first waits for who comes before it', () => {
    driver.run(driver.make.create('t', { limits: 40 }));
    for (const path of ['t/a', 't/b']) driver.run(driver.make.create(path, {}));
    driver.run(driver.make.create('t/a/x', { limits: 38 }));
    const held = driver.hold('t/a/x', 13);
    driver.settle(driver.hold('t/b', 3), 3);
    driver.wait('t/b', 27);
    // At t/a/x it is first, and does not fit there as long as something is held.
    driver.wait('t/b', 38, { also: ['t/a/x'] });
    const next = driver.wait('t/a/x', 26);
    driver.run(driver.make.release(held));
    expect(driver.told()).toEqual({ [next]: 26 });
  });

  test('a budget that somebody makes while it is waited for is judged as it is', () => {
    driver.run(driver.make.create('t', { limits: 100, template: driver.make.terms({ limits: 50 }) }));
    const a = driver.hold('t', 100);
    const b = driver.wait('t/run-1', 50);
    driver.run(driver.make.create('t/run-1', { limits: 10 }));
    expect(driver.told()).toEqual({ [b]: 'EXCEEDS_LIMIT' });
    driver.settle(a, 0);
  });

  test('the urgent first, then the child that has had least for its weight, then first come', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/hog', {}));
    driver.run(driver.make.create('t/quiet', {}));
    const hog = driver.hold('t/hog', 100);
    const first = driver.wait('t/hog', 50);
    const quiet = driver.wait('t/quiet', 50);
    const urgent = driver.wait('t/hog', 50, { priority: 'critical' });
    driver.settle(hog, 50);
    expect(driver.told()).toEqual({ [urgent]: 50 });
    driver.run(driver.make.topUp('t', 50));
    expect(driver.told()).toEqual({ [quiet]: 50 });
    driver.run(driver.make.topUp('t', 50));
    expect(driver.told()).toEqual({ [first]: 50 });
  });

  test.each([
    [1, 'light'],
    [3, 'heavy'],
  ])('with a weight of %i what the heavier one has had counts less', (weight, next) => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/heavy', { weight }));
    driver.run(driver.make.create('t/light', {}));
    const a = driver.hold('t/heavy', 60);
    driver.hold('t/light', 40);
    const ids = { heavy: driver.wait('t/heavy', 50), light: driver.wait('t/light', 50) };
    driver.run(driver.make.topUp('t', 50));
    expect(driver.told()).toEqual({ [ids[next as keyof typeof ids]]: 50 });
    driver.settle(a, 0);
    expect(Object.values(driver.told())).toEqual([50]);
  });

  test('what was had long ago counts less and less', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/a', {}));
    driver.run(driver.make.create('t/b', {}));
    driver.settle(driver.hold('t/a', 40), 40);
    driver.advance(1_200_000);
    driver.settle(driver.hold('t/b', 30), 30);
    driver.hold('t', 30, { ttlMs: 3_600_000 });
    const a = driver.wait('t/a', 10);
    const b = driver.wait('t/b', 10);
    driver.run(driver.make.topUp('t', 10));
    // 40 of two half-lives ago are 10.
    expect(driver.told()).toEqual({ [a]: 10 });
    driver.run(driver.make.topUp('t', 10));
    expect(driver.told()).toEqual({ [b]: 10 });
  });

  test('nobody slips past one that waits, but for who comes first', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 60);
    const b = driver.hold('t', 40);
    const big = driver.wait('t', 100);
    driver.run(driver.make.release(b));
    expect(refused(driver.run(driver.make.reserve('t', 10)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 't',
      limit: 'lifetime',
      availableMicros: 0n,
      retryAfterMs: 1_000,
    });
    const small = driver.wait('t', 10);
    const urgent = driver.hold('t', 10, { priority: 'critical' });
    driver.run(driver.make.release(a));
    expect(driver.told()).toEqual({});
    driver.run(driver.make.release(urgent));
    expect(driver.told()).toEqual({ [big]: 100 });
    driver.run(driver.make.topUp('t', 10));
    expect(driver.told()).toEqual({ [small]: 10 });
  });

  test('nothing is available to who comes behind, and an amount of nothing is granted all the same', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.hold('t', 60);
    driver.wait('t', 100);
    expect(granted(driver.run(driver.make.reserve('t', 40, { min: 0 }))).reservation.figures.grantedMicros).toBe(0n);
    expect(granted(driver.run(driver.make.reserve('t', 0))).reservation.figures.grantedMicros).toBe(0n);
  });

  test('an Extend is not held back', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 60);
    driver.wait('t', 100);
    expect(granted(driver.run(driver.make.extend(a, 40))).reservation.figures.heldMicros).toBe(100n);
  });

  test('one that waits for its own budget holds back no sibling', () => {
    driver.run(driver.make.create('t', { limits: 1_000 }));
    driver.run(driver.make.create('t/a', { limits: 10 }));
    driver.run(driver.make.create('t/b', { limits: 500 }));
    const a = driver.hold('t/a', 10);
    const waiting = driver.wait('t/a', 10);
    expect(driver.run(driver.make.reserve('t/b', 10, { waitMs: 60_000, key: 'b' })).kind).toBe('reservation');
    expect(refused(driver.run(driver.make.reserve('t/a', 1)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 't/a',
    });
    driver.settle(a, 0);
    expect(driver.told()).toEqual({ [waiting]: 10 });
  });

  test('one that waits for a rate that another does not use does not hold it back', () => {
    driver.run(
      driver.make.create('t', { limits: 100, rates: [{ kind: 'tokens', count: 1, perMs: 60_000, burst: 10 }] }),
    );
    granted(driver.run(driver.make.reserve('t', 1, { tokens: 10 })));
    driver.wait('t', 1, { tokens: 1, waitMs: 600_000 });
    expect(refused(driver.run(driver.make.reserve('t', 1, { tokens: 1 }))).reason).toBe('RATE_LIMITED');
    expect(driver.run(driver.make.reserve('t', 1)).kind).toBe('reservation');
  });

  test('where a rate has filled for one but not for the first, the one waits', () => {
    driver.run(
      driver.make.create('t', { uncapped: true, rates: [{ kind: 'tokens', count: 10, perMs: 1_000, burst: 100 }] }),
    );
    granted(driver.run(driver.make.reserve('t', 1, { tokens: 100 })));
    const big = driver.wait('t', 1, { tokens: 100 });
    driver.advance(2_000);
    expect(refused(driver.run(driver.make.reserve('t', 1, { tokens: 10 })))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 't',
    });
    driver.advance(8_000);
    driver.look();
    expect(driver.told()).toEqual({ [big]: 1 });
  });

  test('after a while one that waits counts as more urgent, and is not starved', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 100, { ttlMs: 86_400_000 });
    const old = driver.wait('t', 100, { priority: 'background', waitMs: 86_400_000 });
    driver.advance(60_000);
    const normal = driver.wait('t', 100, { waitMs: 86_400_000 });
    driver.advance(120_000);
    // The first counts as critical, the second as critical only a minute from now.
    driver.wait('t', 100, { priority: 'interactive', waitMs: 86_400_000 });
    driver.settle(a, 0);
    expect(driver.told()).toEqual({ [old]: 100 });
    driver.run(driver.make.release(old));
    expect(driver.told()).toEqual({ [normal]: 100 });
  });
});
