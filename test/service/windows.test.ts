// Windows, rates and templates on the real service over gRPC, where scenarios cannot go: edits that take away and bring back,
// what RetryInfo promises to the millisecond, and budgets that close by themselves.
import { setTimeout as delay } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Budget, type BudgetSchema, BudgetService, BudgetState } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { CalendarUnit, type LimitSchema } from '../../src/gen/budgetd/v1/limit_pb.ts';
import { ReservationService, type ReserveRequestSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { RateKind } from '../../src/gen/budgetd/v1/terms_pb.ts';
import { outcomeOf } from '../scenarios/runner/outcome.ts';
import type { RefusalSeen } from '../scenarios/runner/refusal.ts';
import { createRpcClient, type RpcClient } from '../scenarios/runner/rpc-client.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { ServiceUnderTest } from '../support/service-under-test.ts';

type Init<Schema> = Schema extends { readonly $typeName?: never } ? Schema : never;
type BudgetInit = Init<MessageInitShape<typeof BudgetSchema>>;
type LimitInit = MessageInitShape<typeof LimitSchema>;

const START_MS = Date.parse('2026-03-02T09:00:00Z');
const HOUR_MS = 3_600_000;
// The reaper looks about once a second; a machine that runs all tests at once may need ten times that.
const CLOSED_DEADLINE_MS = 20_000;

let database: TestDatabase;
let service: ServiceUnderTest;
let rpc: RpcClient;
let keyCount = 0;

beforeAll(async () => {
  database = await createDatabase();
  const environment = { BUDGETD_GRACE: '0s' };
  service = await ServiceUnderTest.start({ databaseUrl: database.url, clockMs: START_MS, environment });
  rpc = createRpcClient(service.grpcPort);
  while ((await rpc.health()) !== 'SERVING') await delay(20);
});

afterAll(async () => {
  rpc.close();
  await service.kill();
  await database.drop();
});

function key(): { idempotencyKey: string } {
  keyCount += 1;
  return { idempotencyKey: `k${keyCount}` };
}

async function create(budget: BudgetInit): Promise<void> {
  await rpc.call(BudgetService.method.createBudget, { budget, ...key() });
}

async function update(budget: BudgetInit | Budget, ...paths: string[]): Promise<Budget> {
  const reply = await rpc.call(BudgetService.method.updateBudget, { budget, updateMask: { paths }, ...key() });
  return shown(reply.budget);
}

async function get(budget: string): Promise<Budget> {
  return shown((await rpc.call(BudgetService.method.getBudget, { budget })).budget);
}

function shown(budget: Budget | undefined): Budget {
  if (budget === undefined) throw new Error('no budget in the answer');
  return budget;
}

function reserve(budget: string, micros: bigint, more: Init<MessageInitShape<typeof ReserveRequestSchema>> = {}) {
  return rpc.call(ReservationService.method.reserve, { budget, maxMicros: micros, ...key(), ...more });
}

async function spend(budget: string, micros: bigint): Promise<void> {
  const { reservation } = await reserve(budget, micros);
  await settle(reservation?.reservationId ?? '', micros);
}

function settle(reservationId: string, micros: bigint) {
  const cost = { case: 'actualMicros', value: micros } as const;
  return rpc.call(ReservationService.method.settle, { reservationId, cost, ...key() });
}

async function refused(call: Promise<object>): Promise<RefusalSeen> {
  const outcome = await outcomeOf(call);
  if (outcome.kind === 'answered') throw new Error('was not refused');
  return outcome.refusal;
}

/** Held, settled and available of a budget's limits, by their names. */
function balances({ balances: all }: Budget): Record<string, readonly [bigint, bigint, bigint]> {
  return Object.fromEntries(
    all.map(({ limit, heldMicros, settledMicros, availableMicros }) => [
      limit,
      [heldMicros, settledMicros, availableMicros],
    ]),
  );
}

const day = (amountMicros: bigint, timeZone = 'UTC', name = ''): LimitInit => {
  const value = { unit: CalendarUnit.DAY, timeZone };
  return { name, amountMicros, window: { kind: { case: 'calendar', value } } };
};
const rolling = (amountMicros: bigint, ms: number): LimitInit => {
  return { amountMicros, window: { kind: { case: 'rolling', value: { duration: durationFromMs(ms) } } } };
};
const lifetime = (amountMicros: bigint): LimitInit => ({ amountMicros });

describe('edits', () => {
  it('send back what was read, and nothing changes but the revision', async () => {
    const rates = [{ kind: RateKind.REQUESTS, count: 5n, per: durationFromMs(60_000), burst: 7n }];
    const inner = { kind: 'run', limits: [day(3n, 'Asia/Tokyo')], rates, shape: { maxDepth: 0 } };
    const childTemplate = { kind: 'agent', uncapped: true, childTemplate: inner };
    const shape = { maxActive: 9, maxLease: durationFromMs(60_000), closeAfter: durationFromMs(86_400_000) };
    const limits = [lifetime(1_000n), day(100n, 'Europe/Amsterdam'), rolling(90n, HOUR_MS), day(80n, 'UTC', 'tight')];
    await create({ budget: 'same', limits, rates, shape, childTemplate });
    await spend('same', 10n);
    await reserve('same', 5n);
    const before = await get('same');
    expect(balances(before)).toEqual({
      lifetime: [5n, 10n, 985n],
      'day:Europe/Amsterdam': [5n, 10n, 85n],
      'rolling:1h': [5n, 10n, 75n],
      tight: [5n, 10n, 65n],
    });
    const terms = ['limits', 'rates', 'shape', 'overrun', 'child_template', 'on_expiry', 'kind', 'uncapped'];
    const after = await update(before, ...terms);
    const { revision, etag, updateTime } = before;
    expect({ ...after, revision, etag, ...(updateTime && { updateTime }) }).toEqual(before);
    expect(after.revision).toBe(revision + 1n);
    expect(after.rateStandings[0]?.availableCount).toBe(5n);
  });

  it('bring a window back with all that it would have counted', async () => {
    await create({ budget: 'back', limits: [lifetime(1_000n), day(100n), rolling(100n, HOUR_MS)] });
    await spend('back', 10n);
    const { reservation: old } = await reserve('back', 20n, { ttl: durationFromMs(3 * HOUR_MS) });
    await update({ budget: 'back', limits: [lifetime(1_000n)] }, 'limits');
    await spend('back', 30n);
    const { reservation: young } = await reserve('back', 5n, { ttl: durationFromMs(3 * HOUR_MS) });
    await settle(old?.reservationId ?? '', 15n);
    const back = await update(
      { budget: 'back', limits: [day(100n), lifetime(1_000n), rolling(100n, HOUR_MS)] },
      'limits',
    );
    expect(balances(back)).toEqual({
      day: [5n, 55n, 40n],
      lifetime: [5n, 55n, 940n],
      'rolling:1h': [5n, 55n, 40n],
    });
    await settle(young?.reservationId ?? '', 5n);
    expect(balances(await get('back'))).toMatchObject({ day: [0n, 60n, 40n], 'rolling:1h': [0n, 60n, 40n] });
  });

  it('let limits share a window, each with its own amount', async () => {
    await create({ budget: 'two', limits: [day(100n, 'UTC', 'soft'), day(60n, 'UTC', 'hard')] });
    await spend('two', 50n);
    const failed = await refused(reserve('two', 20n));
    expect(failed).toMatchObject({ reason: 'BUDGET_EXHAUSTED', metadata: { limit: 'hard', available: '10' } });
    const { budget } = await rpc.call(BudgetService.method.topUp, {
      budget: 'two',
      limit: 'hard',
      addMicros: 10n,
      ...key(),
    });
    expect(budget?.balances.map(({ amountMicros }) => amountMicros)).toEqual([100n, 70n]);
    expect(budget?.limits.map(({ amountMicros }) => amountMicros)).toEqual([100n, 60n]);
  });

  it('keep what a rate holds, and a lower burst lets go of what is above it', async () => {
    const rate = { kind: RateKind.TOKENS, count: 100n, per: durationFromMs(10_000) };
    await create({ budget: 'rates', uncapped: true, rates: [{ ...rate, burst: 200n }] });
    await reserve('rates', 0n, { tokens: 50n });
    const standing = async (burst: bigint, count = 100n) =>
      (await update({ budget: 'rates', rates: [{ ...rate, count, burst }] }, 'rates')).rateStandings[0]?.availableCount;
    expect(await standing(120n)).toBe(120n);
    expect(await standing(1_000n)).toBe(120n);
    expect(await standing(1_000n, 7n)).toBe(120n);
    const slower = { ...rate, per: durationFromMs(20_000) };
    expect((await update({ budget: 'rates', rates: [slower] }, 'rates')).rateStandings[0]?.availableCount).toBe(100n);
  });

  it('take a bound away, and set another, one at a time', async () => {
    await create({ budget: 'bounds', limits: [lifetime(10n)], shape: { maxActive: 1, maxDepth: 0 } });
    const single = await update(
      { budget: 'bounds', shape: { maxChildren: 2, maxDepth: 9 } },
      'shape.max_children',
      'shape.max_active',
    );
    expect(single.shape).toMatchObject({ maxChildren: 2, maxDepth: 0 });
    expect(single.shape?.maxActive).toBeUndefined();
    expect((await update({ budget: 'bounds' }, 'shape')).shape).toBeUndefined();
  });
});

describe('RetryInfo', () => {
  it('of a day is the rest of it, of a rate the time until it holds enough: then the call passes, and not before', async () => {
    const rates = [{ kind: RateKind.TOKENS, count: 7n, per: durationFromMs(60_000) }];
    await create({ budget: 'wait', limits: [day(10n, 'Asia/Kolkata')], rates });
    await reserve('wait', 0n, { tokens: 7n });
    const braked = await refused(reserve('wait', 1n, { tokens: 3n }));
    // Three tokens at seven a minute: 25,714.28… ms.
    expect(braked).toMatchObject({
      status: 'RESOURCE_EXHAUSTED',
      reason: 'RATE_LIMITED',
      retryAfterMs: 25_715,
      metadata: {
        budget: 'wait',
        rate_kind: 'tokens',
        rate_count: '7',
        rate_per_ms: '60000',
        rate_burst: '7',
        rate_available: '0',
        rate_requested: '3',
      },
    });
    await service.moveClock(service.nowMs + 25_714);
    expect(await refused(reserve('wait', 1n, { tokens: 3n }))).toMatchObject({
      reason: 'RATE_LIMITED',
      retryAfterMs: 1,
    });
    await service.moveClock(service.nowMs + 1);
    await spend('wait', 10n);
    const [period] = (await get('wait')).balances;
    const endMs = period?.periodEndTime === undefined ? 0 : timestampMs(period.periodEndTime);
    expect(new Date(endMs).toISOString()).toBe('2026-03-02T18:30:00.000Z');
    const spent = await refused(reserve('wait', 1n));
    expect(spent).toMatchObject({ reason: 'BUDGET_EXHAUSTED', retryAfterMs: endMs - service.nowMs });
  });
});

describe('budgets made on first use', () => {
  it('close by themselves once they were idle for as long as their template says, and make room', async () => {
    const shape = { closeAfter: durationFromMs(10 * 60_000) };
    const childTemplate = { kind: 'run', limits: [lifetime(10n)], shape };
    await create({ budget: 'idle', limits: [lifetime(100n)], shape: { maxChildren: 2 }, childTemplate });
    await spend('idle/a', 5n);
    const { reservation } = await reserve('idle/b', 5n, { ttl: durationFromMs(2 * HOUR_MS) });
    expect(await get('idle')).toMatchObject({ openChildren: 2n });
    expect(await get('idle/a')).toMatchObject({ kind: 'run', state: BudgetState.ACTIVE });
    expect(await refused(reserve('idle/c', 1n))).toMatchObject({
      reason: 'FAN_OUT_LIMIT',
      metadata: { budget: 'idle', bound: 'max_children', bound_max: '2', bound_observed: '2' },
    });
    await service.moveClock(service.nowMs + 10 * 60_000);
    const deadlineMs = performance.now() + CLOSED_DEADLINE_MS;
    while ((await get('idle/a')).state !== BudgetState.CLOSED && performance.now() < deadlineMs) await delay(50);
    expect(await get('idle/a')).toMatchObject({ state: BudgetState.CLOSED, closedBy: 'idle/a' });
    // One that still holds something is not idle.
    expect(await get('idle/b')).toMatchObject({ state: BudgetState.ACTIVE });
    expect((await reserve('idle/c', 1n)).reservation).toMatchObject({ budget: 'idle/c', grantedMicros: 1n });
    await settle(reservation?.reservationId ?? '', 5n);
    expect(await refused(reserve('idle/a', 1n))).toMatchObject({
      reason: 'BUDGET_CLOSED',
      metadata: { budget: 'idle/a' },
    });
  });
});
