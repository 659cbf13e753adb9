// Leaving the queue: who leaves, when, and what they are told; the keys of those who wait, and how many may.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Command } from '../../../src/kernel/command.ts';
import type { ReservationId } from '../../../src/kernel/names.ts';
import { leaveQueueCommand } from '../../../src/lane/leave-queue-command.ts';
import { type Commands, personalFields } from '../../support/commands.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { QueueDriver } from '../../support/queue-driver.ts';
import { callOf, testBook, testPricing, testRow } from '../../support/test-prices.ts';

let driver: QueueDriver;

beforeEach(() => {
  driver = new QueueDriver();
});

describe('leaving', () => {
  beforeEach(() => {
    driver.run(driver.make.create('t', { limits: 100 }));
  });

  test('when the wait is over, with what stood in the way', () => {
    driver.hold('t', 100, { ttlMs: 600_000 });
    const b = driver.wait('t', 50, { waitMs: 5_000 });
    driver.advance(4_999);
    driver.look();
    expect(driver.told()).toEqual({});
    driver.advance(1);
    driver.look();
    expect(driver.told()).toEqual({ [b]: 'QUEUE_TIMEOUT' });
    expect(driver.refusalOf(b)).toMatchObject({
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
    driver.settle(driver.hold('t', 100), 100);
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
    const ids = [
      driver.wait('t', 50),
      driver.wait('t', 50),
      driver.wait('t/a', 10),
      driver.wait('t/a', 100, { priority: 'critical' }),
    ];
    driver.run(make());
    expect(driver.told()).toEqual(Object.fromEntries(ids.map((id) => [id, reason])));
    expect(driver.state.queue).toBeUndefined();
  });

  test('when it can not fit any more', () => {
    driver.hold('t', 100);
    const b = driver.wait('t', 80);
    driver.run(driver.make.update('t', { limits: 50 }));
    expect(driver.told()).toEqual({ [b]: 'EXCEEDS_LIMIT' });
  });

  test('when it is released by its id', () => {
    driver.hold('t', 100);
    const b = driver.wait('t', 50);
    const release = driver.make.release(b, { key: 'r' });
    expect(granted(driver.run(release)).reservation.figures.state).toBe('RELEASED');
    expect(driver.told()).toEqual({ [b]: 'RESERVATION_RELEASED' });
    expect(granted(driver.run(release))).toMatchObject({ replayed: true });
  });

  test('other ends of it are refused while it waits', () => {
    driver.hold('t', 100);
    const b = driver.wait('t', 50);
    const { make } = driver;
    for (const command of [make.settle(b, 1), make.extend(b, 1), make.renew(b, 60_000)]) {
      expect(refused(driver.run(command)).reason).toBe('NOT_ACTIVE');
    }
  });

  test('whoever was behind it is looked at', () => {
    driver.hold('t', 60);
    const big = driver.wait('t', 100, { waitMs: 1_000 });
    const small = driver.wait('t', 40);
    driver.advance(1_000);
    driver.look();
    expect(driver.told()).toEqual({ [big]: 'QUEUE_TIMEOUT', [small]: 40 });
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
    driver.settle(a, 0);
    const { id } = first as { readonly id: string };
    expect(driver.told()).toEqual({ [id]: 50 });
    expect(granted(driver.run(driver.make.again(make)))).toMatchObject({ replayed: true, reservation: { id } });
  });

  const most = (micros: bigint) => (make: Commands) => make.update('t', { shape: { maxReservationMicros: micros } });
  const edits: [string, (make: Commands) => Command, (make: Commands) => Command][] = [
    ['EXCEEDS_LIMIT', (make) => make.update('t', { limits: 50 }), (make) => make.update('t', { limits: 300 })],
    ['MAX_RESERVATION_EXCEEDED', most(50n), most(500n)],
    ['BUDGET_CLOSED', (make) => make.close('t'), (make) => make.topUp('t', 200)],
  ];

  test.each(edits)('%s out of the queue is remembered as it is at once, whatever cures it', (reason, edit, cure) => {
    const ask = (own: QueueDriver) => own.make.reserve('t', 80, { waitMs: 60_000, key: 'k' });
    driver.run(driver.make.create('t', { limits: 100 }));
    const held = driver.hold('t', 100);
    const waiting = ask(driver);
    const { id } = driver.run(waiting) as { readonly id: string };
    driver.run(edit(driver.make));
    const told = driver.refusalOf(id);
    driver.run(driver.make.release(held));
    driver.run(cure(driver.make));
    expect(driver.run(driver.make.again(waiting))).toEqual(told);
    const other = driver.make.reserve('t', 1, { key: 'k' });
    expect(refused(driver.run(other)).reason).toBe('IDEMPOTENCY_KEY_REUSED');

    const direct = new QueueDriver();
    direct.run(direct.make.create('t', { limits: 100 }));
    direct.run(edit(direct.make));
    const atOnce = ask(direct);
    const first = refused(direct.run(atOnce));
    direct.run(cure(direct.make));
    expect(direct.run(direct.make.again(atOnce))).toEqual(first);
    expect([told.reason, first.reason]).toEqual([reason, reason]);
  });

  test('what is personal of one that is refused out of the queue is compared by its commitment', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.hold('t', 100);
    const asked = (actingFor: string) =>
      driver.make.reserve('t', 80, { waitMs: 60_000, key: 'k', personal: personalFields(actingFor) });
    driver.run(asked('ann'));
    driver.run(driver.make.update('t', { limits: 50 }));
    expect(refused(driver.run(asked('ann'))).reason).toBe('EXCEEDS_LIMIT');
    expect(refused(driver.run(asked('bob'))).reason).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  test('a Release of one that waits is remembered by both keys', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const held = driver.hold('t', 100);
    const waiting = driver.make.reserve('t', 80, { waitMs: 60_000, key: 'k', personal: personalFields('ann') });
    const { id } = driver.run(waiting) as { readonly id: string };
    const release = driver.make.release(id, { key: 'r' });
    driver.run(release);
    const told = driver.refusalOf(id);
    expect(told).toMatchObject({ reason: 'RESERVATION_RELEASED', reservationId: `t:${id}` });
    driver.settle(held, 0);
    expect(driver.run(driver.make.again(waiting))).toEqual(told);
    const other = driver.make.reserve('t', 81, { waitMs: 60_000, key: 'k', personal: personalFields('ann') });
    expect(refused(driver.run(other)).reason).toBe('IDEMPOTENCY_KEY_REUSED');
    const again = granted(driver.run(driver.make.again(release)));
    expect(again).toMatchObject({ replayed: true, reservation: { figures: { state: 'RELEASED' } } });
    expect(driver.balances('t')).toMatchObject({ held: 0n });
  });

  test('an end that says nothing of the request leaves the key free', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    const held = driver.hold('t', 100);
    const waiting = driver.make.reserve('t', 80, { waitMs: 60_000, key: 'k' });
    const { id } = driver.run(waiting) as { readonly id: string };
    driver.run(driver.make.suspend('t'));
    expect(driver.told()).toEqual({ [id]: 'BUDGET_SUSPENDED' });
    driver.run(driver.make.resume('t'));
    const gone = driver.run(driver.make.again(waiting)) as { readonly id: string };
    driver.queue = { ...driver.queue, isAttached: () => false };
    driver.run(leaveQueueCommand(driver.state.treeId, gone.id as ReservationId));
    expect(driver.told()).toEqual({ [gone.id]: 'RESERVATION_RELEASED' });
    driver.settle(held, 0);
    expect(granted(driver.run(driver.make.again(waiting))).replayed).toBe(false);
  });

  test('as many wait on a budget and below it as may', () => {
    driver.queue = { ...driver.queue, countMax: 2 };
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/a', {}));
    driver.hold('t', 100);
    driver.wait('t/a', 1);
    driver.wait('t', 1);
    const full = refused(driver.run(driver.make.reserve('t/a', 1, { waitMs: 60_000, key: 'full' })));
    expect(full).toMatchObject({ reason: 'QUEUE_FULL', budget: 't', retryAfterMs: 1_000 });
  });

  test('and large ones are counted as several, until they leave', () => {
    driver.queue = { ...driver.queue, countMax: 10 };
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.hold('t', 100);
    const labels = Array.from({ length: 32 }, (_, no) => [`k${no}`, 'v'.repeat(250)] as const);
    const large = (key: string) =>
      driver.make.reserve('t', 1, { waitMs: 60_000, key, personal: { ...personalFields(''), labels } });
    const first = driver.run(large('a')) as { readonly id: string };
    driver.run(large('b'));
    const third = large('c');
    expect(refused(driver.run(third))).toMatchObject({
      reason: 'QUEUE_FULL',
      bound: { name: 'queue_length', max: 10, observed: 10 },
    });
    driver.run(driver.make.release(first.id));
    expect(driver.run(third)).toMatchObject({ kind: 'queued' });
    driver.run(driver.make.release((driver.run(driver.make.again(third)) as { readonly id: string }).id));
    for (let no = 0; no < 5; no += 1) driver.wait('t', 1);
    expect(refused(driver.run(driver.make.reserve('t', 1, { waitMs: 1_000, key: 'full' }))).reason).toBe('QUEUE_FULL');
  });

  test('and those that charge many budgets are counted as several, made or not', () => {
    driver.queue = { ...driver.queue, countMax: 20 };
    driver.run(driver.make.create('t', { limits: 100 }));
    const [budget = '', ...also] = 'abcdefghi'.split('').map((name) => {
      let path = 't';
      for (let depth = 2; depth < 16; depth += 1) {
        path += `/${name}`;
        driver.run(driver.make.create(path, { uncapped: true, template: driver.make.terms({ uncapped: true }) }));
      }
      return `${path}/new`;
    });
    driver.hold('t', 100);
    for (let no = 0; no < 4; no += 1) driver.wait(budget, 1, { also });
    const full = { reason: 'QUEUE_FULL', budget: 't', bound: { name: 'queue_length', max: 20, observed: 20 } };
    expect(refused(driver.run(driver.make.reserve('t', 1, { waitMs: 60_000, key: 'full' })))).toMatchObject(full);
  });

  test('and one alone waits whatever it weighs, unless none may', () => {
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.hold('t', 100);
    const labels = [['k', 'v'.repeat(250 * 32)]] as const;
    const large = (key: string) =>
      driver.make.reserve('t', 1, { waitMs: 60_000, key, personal: { ...personalFields(''), labels } });
    driver.queue = { ...driver.queue, countMax: 0 };
    expect(refused(driver.run(large('a'))).reason).toBe('QUEUE_FULL');
    driver.queue = { ...driver.queue, countMax: 2 };
    expect(driver.run(large('b'))).toMatchObject({ kind: 'queued' });
    expect(refused(driver.run(large('c'))).reason).toBe('QUEUE_FULL');
  });

  test('at the door a request weighs what it does once it waits, with the pins of its price', () => {
    const candidates = Array.from({ length: 32 }, (_, no) => ({ provider: 'openai', model: `gpt-${no}` }));
    const rows = candidates.flatMap(({ model }) =>
      Array.from({ length: 8 }, (_, tier) =>
        testRow(`openai/${model}`, { input: 2_500_000n, output: 10_000_000n }, { aboveInputTokens: tier * 1_000 }),
      ),
    );
    const book = testBook(rows);
    driver.pricing = testPricing(() => book);
    driver.run(driver.make.create('t', { limits: 10_000_000 }));
    driver.hold('t', 10_000_000);
    const large = (key: string) =>
      driver.make.reserve('t', 0, { waitMs: 60_000, key, call: callOf('openai/gpt-0', { candidates }) });
    expect(driver.run(large('a'))).toMatchObject({ kind: 'queued' });
    const weight = driver.state.queue?.weightAt('t' as never) ?? 0;
    expect(weight).toBeGreaterThan(8);
    driver.queue = { ...driver.queue, countMax: 2 * weight - 1 };
    expect(refused(driver.run(large('b'))).reason).toBe('QUEUE_FULL');
    driver.queue = { ...driver.queue, countMax: 2 * weight };
    expect(driver.run(large('b'))).toMatchObject({ kind: 'queued' });
    expect(driver.state.queue?.weightAt('t' as never)).toBe(2 * weight);
  });

  test('nobody who is gone is granted anything, and keeps the place', () => {
    const gone = new Set<string>();
    driver.queue = { ...driver.queue, isAttached: (id) => !gone.has(id) };
    driver.run(driver.make.create('t', { limits: 100 }));
    const a = driver.hold('t', 100);
    const make = driver.make.reserve('t', 50, { waitMs: 60_000, key: 'k' });
    const { id } = driver.run(make) as { readonly id: string };
    const behind = driver.wait('t', 60);
    gone.add(id);
    driver.settle(a, 0);
    expect(driver.told()).toEqual({});
    gone.delete(id);
    driver.run(driver.make.again(make));
    expect(driver.told()).toEqual({ [id]: 50 });
    driver.run(driver.make.topUp('t', 10));
    expect(driver.told()).toEqual({ [behind]: 60 });
  });

  test('a run that its grant makes waits like any other', () => {
    driver.run(driver.make.create('t', { limits: 100, template: driver.make.terms({ limits: 50 }) }));
    const a = driver.hold('t', 100);
    const b = driver.wait('t/run-1', 50);
    expect(driver.state.budgetAt('t/run-1' as never)).toBeUndefined();
    driver.settle(a, 10);
    expect(driver.told()).toEqual({ [b]: 50 });
    expect(driver.balances('t/run-1')).toMatchObject({ held: 50n, available: 0n });
  });
});

test('a budget that is waited for is not idle', () => {
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/a', { shape: { closeAfterMs: 1_000 } }));
  driver.hold('t', 100, { ttlMs: 600_000 });
  const a = driver.wait('t/a', 50, { waitMs: 600_000 });
  driver.advance(2_000);
  driver.run(driver.make.closeIdle('t/a'));
  expect(driver.told()).toEqual({});
  granted(driver.run(driver.make.release(a)));
  driver.run(driver.make.closeIdle('t/a'));
  expect(driver.state.budgetAt('t/a' as never)?.def.closed).toBe(true);
});
