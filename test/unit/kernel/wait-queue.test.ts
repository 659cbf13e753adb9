// The queue from the kernel's side: who waits, in which order what comes back is offered, who leaves and what they are told.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Priority } from '../../../src/kernel/enforcement.ts';
import type { Entry } from '../../../src/kernel/entry.ts';
import type { Refusal } from '../../../src/kernel/refusal.ts';
import { granted, KernelDriver, refused } from '../../support/kernel-driver.ts';

let driver: KernelDriver;
let seen: number;
let keyCount = 0;

beforeEach(() => {
  driver = new KernelDriver();
  seen = 0;
});

interface Asking {
  readonly min?: number;
  readonly waitMs?: number;
  readonly priority?: Priority;
  readonly tokens?: number;
  readonly key?: string;
}

/** Has a request wait and returns its id. */
function wait(budget: string, max: number, options: Asking = {}): string {
  const answer = driver.run(driver.make.reserve(budget, max, { waitMs: 60_000, key: `w${++keyCount}`, ...options }));
  if (answer.kind !== 'queued')
    throw new Error(`does not wait: ${answer.kind === 'refusal' ? answer.message : answer.kind}`);
  return answer.id;
}

/** What was written since this was asked last: who was granted how much, and who was told what. */
function told(): Record<string, number | string> {
  const found: Record<string, number | string> = {};
  for (const entry of driver.journal.slice(seen)) {
    if (entry.type === 'Granted' && entry.enqueuedSeq !== undefined) {
      found[entry.reservation.id] = Number(entry.reservation.figures.grantedMicros);
    } else if (entry.type === 'LeftQueue') for (const { id, refusal } of entry.leaves) found[id] = refusal.reason;
  }
  seen = driver.journal.length;
  return found;
}

function refusalOf(id: string): Refusal {
  const all = driver.journal.flatMap((entry: Entry) => (entry.type === 'LeftQueue' ? entry.leaves : []));
  const left = all.find((each) => each.id === id);
  if (left === undefined) throw new Error(`${id} did not leave`);
  return left.refusal;
}

function settle(id: string, actual: number): void {
  granted(driver.run(driver.make.settle(id, actual)));
}

describe('waiting for room', () => {
  test('what comes back is offered in the same decision, and no more than asked is granted', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 80);
    const b = wait('t', 50);
    expect(told()).toEqual({});
    settle(a, 40);
    expect(told()).toEqual({ [b]: 50 });
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
    const b = wait('t', 60, { waitMs: 600_000 });
    expect(told()).toEqual({});
    act(a);
    driver.look();
    expect(told()).toEqual({ [b]: 60 });
  });

  test('a rate that fills is offered when it holds enough, and not before', () => {
    driver.run(
      driver.make.create('t', { uncapped: true, rates: [{ kind: 'tokens', count: 100, perMs: 1_000, burst: 100 }] }),
    );
    granted(driver.run(driver.make.reserve('t', 1, { tokens: 100 })));
    const b = wait('t', 1, { tokens: 50 });
    driver.advance(499);
    driver.look();
    expect(told()).toEqual({});
    driver.advance(1);
    driver.look();
    expect(told()).toEqual({ [b]: 1 });
  });

  test('a slot that comes free is offered', () => {
    driver.run(driver.make.create('t', { uncapped: true, shape: { maxActive: 1 } }));
    const a = driver.hold('t', 1);
    const b = wait('t', 1);
    settle(a, 1);
    expect(told()).toEqual({ [b]: 1 });
  });

  test('a window that turns is offered, in the period that begins', () => {
    driver.run(
      driver.make.create('t', {
        limits: { daily: { amount: 100, rule: { kind: 'calendar', unit: 'day', timeZone: 'UTC' } } },
      }),
    );
    settle(driver.hold('t', 100), 100);
    const b = wait('t', 100, { waitMs: 86_400_000 });
    const day = 86_400_000;
    driver.advance(day - (driver.nowMs % day));
    driver.look();
    expect(told()).toEqual({ [b]: 100 });
  });
});

describe('the order', () => {
  test('the urgent first, then the child that has had least for its weight, then first come', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/hog', {}));
    driver.run(driver.make.create('t/quiet', {}));
    const hog = driver.hold('t/hog', 100);
    const first = wait('t/hog', 50);
    const quiet = wait('t/quiet', 50);
    const urgent = wait('t/hog', 50, { priority: 'critical' });
    settle(hog, 50);
    expect(told()).toEqual({ [urgent]: 50 });
    driver.run(driver.make.topUp('t', 50));
    expect(told()).toEqual({ [quiet]: 50 });
    driver.run(driver.make.topUp('t', 50));
    expect(told()).toEqual({ [first]: 50 });
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
    const ids = { heavy: wait('t/heavy', 50), light: wait('t/light', 50) };
    driver.run(driver.make.topUp('t', 50));
    expect(told()).toEqual({ [ids[next as keyof typeof ids]]: 50 });
    settle(a, 0);
    expect(Object.values(told())).toEqual([50]);
  });

  test('what was had long ago counts less and less', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/a', {}));
    driver.run(driver.make.create('t/b', {}));
    settle(driver.hold('t/a', 40), 40);
    driver.advance(1_200_000);
    settle(driver.hold('t/b', 30), 30);
    driver.hold('t', 30, { ttlMs: 3_600_000 });
    const a = wait('t/a', 10);
    const b = wait('t/b', 10);
    driver.run(driver.make.topUp('t', 10));
    // 40 of two half-lives ago are 10.
    expect(told()).toEqual({ [a]: 10 });
    driver.run(driver.make.topUp('t', 10));
    expect(told()).toEqual({ [b]: 10 });
  });

  test('nobody slips past one that waits, but for who comes first', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 60);
    const b = driver.hold('t', 40);
    const big = wait('t', 100);
    driver.run(driver.make.release(b));
    expect(refused(driver.run(driver.make.reserve('t', 10)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 't',
      limit: 'lifetime',
      availableMicros: 0n,
      retryAfterMs: 1_000,
    });
    const small = wait('t', 10);
    const urgent = driver.hold('t', 10, { priority: 'critical' });
    driver.run(driver.make.release(a));
    expect(told()).toEqual({});
    driver.run(driver.make.release(urgent));
    expect(told()).toEqual({ [big]: 100 });
    driver.run(driver.make.topUp('t', 10));
    expect(told()).toEqual({ [small]: 10 });
  });

  test('nothing is available to who comes behind, and an amount of nothing is granted all the same', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.hold('t', 60);
    wait('t', 100);
    expect(granted(driver.run(driver.make.reserve('t', 40, { min: 0 }))).reservation.figures.grantedMicros).toBe(0n);
    expect(granted(driver.run(driver.make.reserve('t', 0))).reservation.figures.grantedMicros).toBe(0n);
  });

  test('an Extend is not held back', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 60);
    wait('t', 100);
    expect(granted(driver.run(driver.make.extend(a, 40))).reservation.figures.heldMicros).toBe(100n);
  });

  test('one that waits for its own budget holds back no sibling', () => {
    driver.run(driver.make.create('t', { limits: 1_000 }));
    driver.run(driver.make.create('t/a', { limits: 10 }));
    driver.run(driver.make.create('t/b', { limits: 500 }));
    const a = driver.hold('t/a', 10);
    const waiting = wait('t/a', 10);
    expect(driver.run(driver.make.reserve('t/b', 10, { waitMs: 60_000, key: 'b' })).kind).toBe('reservation');
    expect(refused(driver.run(driver.make.reserve('t/a', 1)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 't/a',
    });
    settle(a, 0);
    expect(told()).toEqual({ [waiting]: 10 });
  });

  test('one that waits for a rate that another does not use does not hold it back', () => {
    driver.run(
      driver.make.create('t', { limits: 100, rates: [{ kind: 'tokens', count: 1, perMs: 60_000, burst: 10 }] }),
    );
    granted(driver.run(driver.make.reserve('t', 1, { tokens: 10 })));
    wait('t', 1, { tokens: 1, waitMs: 600_000 });
    expect(refused(driver.run(driver.make.reserve('t', 1, { tokens: 1 }))).reason).toBe('RATE_LIMITED');
    expect(driver.run(driver.make.reserve('t', 1)).kind).toBe('reservation');
  });

  test('where a rate has filled for one but not for the first, the one waits', () => {
    driver.run(
      driver.make.create('t', { uncapped: true, rates: [{ kind: 'tokens', count: 10, perMs: 1_000, burst: 100 }] }),
    );
    granted(driver.run(driver.make.reserve('t', 1, { tokens: 100 })));
    const big = wait('t', 1, { tokens: 100 });
    driver.advance(2_000);
    expect(refused(driver.run(driver.make.reserve('t', 1, { tokens: 10 })))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 't',
    });
    driver.advance(8_000);
    driver.look();
    expect(told()).toEqual({ [big]: 1 });
  });

  test('after a while one that waits counts as more urgent, and is not starved', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 100, { ttlMs: 86_400_000 });
    const old = wait('t', 100, { priority: 'background', waitMs: 86_400_000 });
    driver.advance(60_000);
    const normal = wait('t', 100, { waitMs: 86_400_000 });
    driver.advance(120_000);
    // The first counts as critical, the second as critical only a minute from now.
    wait('t', 100, { priority: 'interactive', waitMs: 86_400_000 });
    settle(a, 0);
    expect(told()).toEqual({ [old]: 100 });
    driver.run(driver.make.release(old));
    expect(told()).toEqual({ [normal]: 100 });
  });
});

describe('leaving', () => {
  beforeEach(() => {
    driver.run(driver.make.create('t', { limits: 100 }));
  });

  test('when the wait is over, with what stood in the way', () => {
    driver.hold('t', 100, { ttlMs: 600_000 });
    const b = wait('t', 50, { waitMs: 5_000 });
    driver.advance(4_999);
    driver.look();
    expect(told()).toEqual({});
    driver.advance(1);
    driver.look();
    expect(told()).toEqual({ [b]: 'QUEUE_TIMEOUT' });
    expect(refusalOf(b)).toMatchObject({
      budget: 't',
      limit: 'lifetime',
      reservationId: `t:${b}`,
      retryAfterMs: 1_000,
    });
    expect(driver.reservation(b).figures).toMatchObject({
      state: 'RELEASED',
      releaseReason: 'QUEUE_TIMEOUT',
      heldMicros: 0n,
    });
  });

  test('a wait in vain that waiting can not cure is remembered by its key', () => {
    settle(driver.hold('t', 100), 100);
    const make = driver.make.reserve('t', 50, { waitMs: 5_000, key: 'k' });
    expect(driver.run(make).kind).toBe('queued');
    driver.advance(5_000);
    const again = refused(driver.run(driver.make.again(make)));
    expect(again).toMatchObject({ reason: 'QUEUE_TIMEOUT' });
    expect(again.retryAfterMs).toBeUndefined();
    driver.run(driver.make.topUp('t', 100));
    expect(refused(driver.run(driver.make.again(make)))).toEqual(again);
  });

  test('a wait in vain for holds may be begun once more with the same key', () => {
    driver.hold('t', 100, { ttlMs: 600_000 });
    const make = driver.make.reserve('t', 50, { waitMs: 5_000, key: 'k' });
    driver.run(make);
    driver.advance(5_000);
    expect(driver.run(driver.make.again(make)).kind).toBe('queued');
  });

  test.each([
    ['suspended', 'BUDGET_SUSPENDED', () => driver.make.suspend('t')],
    ['closed', 'BUDGET_CLOSED', () => driver.make.close('t')],
  ])('at once, all of them, when the budget is %s', (_, reason, make) => {
    driver.run(driver.make.create('t/a', {}));
    driver.hold('t', 100);
    const ids = [wait('t', 50), wait('t', 50), wait('t/a', 10), wait('t/a', 100, { priority: 'critical' })];
    driver.run(make());
    expect(told()).toEqual(Object.fromEntries(ids.map((id) => [id, reason])));
    expect(driver.state.queue).toBeUndefined();
  });

  test('when it can not fit any more', () => {
    driver.hold('t', 100);
    const b = wait('t', 80);
    driver.run(driver.make.update('t', { limits: 50 }));
    expect(told()).toEqual({ [b]: 'EXCEEDS_LIMIT' });
  });

  test('when it is released by its id', () => {
    driver.hold('t', 100);
    const b = wait('t', 50);
    const release = driver.make.release(b, { key: 'r' });
    expect(granted(driver.run(release)).reservation.figures.state).toBe('RELEASED');
    expect(told()).toEqual({ [b]: 'RESERVATION_RELEASED' });
    expect(granted(driver.run(release))).toMatchObject({ replayed: true });
  });

  test('other ends of it are refused while it waits', () => {
    driver.hold('t', 100);
    const b = wait('t', 50);
    const { make } = driver;
    for (const command of [make.settle(b, 1), make.extend(b, 1), make.renew(b, 60_000)]) {
      expect(refused(driver.run(command)).reason).toBe('NOT_ACTIVE');
    }
  });

  test('whoever was behind it is looked at', () => {
    driver.hold('t', 60);
    const big = wait('t', 100, { waitMs: 1_000 });
    const small = wait('t', 40);
    driver.advance(1_000);
    driver.look();
    expect(told()).toEqual({ [big]: 'QUEUE_TIMEOUT', [small]: 40 });
  });
});

describe('keys and bounds', () => {
  test('a repeat finds its place, another request with the key is refused', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 100);
    const make = driver.make.reserve('t', 50, { waitMs: 60_000, key: 'k' });
    const first = driver.run(make);
    expect(driver.run(driver.make.again(make))).toEqual(first);
    const other = driver.make.reserve('t', 51, { waitMs: 60_000, key: 'k' });
    expect(refused(driver.run(other)).reason).toBe('IDEMPOTENCY_KEY_REUSED');
    settle(a, 0);
    const { id } = first as { readonly id: string };
    expect(told()).toEqual({ [id]: 50 });
    expect(granted(driver.run(driver.make.again(make)))).toMatchObject({ replayed: true, reservation: { id } });
  });

  test('as many wait on a budget and below it as may', () => {
    driver.queue = { ...driver.queue, countMax: 2 };
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/a', {}));
    driver.hold('t', 100);
    wait('t/a', 1);
    wait('t', 1);
    const full = refused(driver.run(driver.make.reserve('t/a', 1, { waitMs: 60_000, key: 'full' })));
    expect(full).toMatchObject({ reason: 'QUEUE_FULL', budget: 't', retryAfterMs: 1_000 });
  });

  test('nobody who is gone is granted anything, and keeps the place', () => {
    const gone = new Set<string>();
    driver.queue = { ...driver.queue, isAttached: (id) => !gone.has(id) };
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 100);
    const make = driver.make.reserve('t', 50, { waitMs: 60_000, key: 'k' });
    const { id } = driver.run(make) as { readonly id: string };
    const behind = wait('t', 60);
    gone.add(id);
    settle(a, 0);
    expect(told()).toEqual({});
    gone.delete(id);
    driver.run(driver.make.again(make));
    expect(told()).toEqual({ [id]: 50 });
    driver.run(driver.make.topUp('t', 10));
    expect(told()).toEqual({ [behind]: 60 });
  });

  test('a run that its grant makes waits like any other', () => {
    driver.run(driver.make.create('t', { limits: 100, template: driver.make.terms({ limits: 50 }) }));
    const a = driver.hold('t', 100);
    const b = wait('t/run-1', 50);
    expect(driver.state.budgetAt('t/run-1' as never)).toBeUndefined();
    settle(a, 10);
    expect(told()).toEqual({ [b]: 50 });
    expect(driver.balances('t/run-1')).toMatchObject({ held: 50n, available: 0n });
  });
});
