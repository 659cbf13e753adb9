// Waiting for room on the real service, over every protocol: grants out of the queue, ends of waits, callers that go and come back,
// restarts and stops, and what lists, events and the verifier say of it. The clock stands still, so only what a test does makes room.
import { setTimeout as delay } from 'node:timers/promises';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runVerify } from '../../src/app/verify.ts';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { type Event, EventKind, EventService } from '../../src/gen/budgetd/v1/event_pb.ts';
import {
  type Reservation,
  ReservationService,
  ReservationState,
  ReserveRequestSchema,
  ReserveResponseSchema,
} from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { Priority } from '../../src/gen/budgetd/v1/terms_pb.ts';
import { decodeRefusal, isServiceError } from '../scenarios/runner/refusal.ts';
import { createRpcClient, type RpcClient } from '../scenarios/runner/rpc-client.ts';
import { ApiClient } from '../support/api-servers.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { ServiceUnderTest } from '../support/service-under-test.ts';

const START_MS = Date.parse('2026-03-02T09:00:00Z');
const POLL = { interval: 10, timeout: 10_000 };
const { method } = ReservationService;

let database: TestDatabase;
let service: ServiceUnderTest;
let rpc: RpcClient;
let treeCount = 0;
let tree = '';
let holder: Reservation;
const closers: (() => void)[] = [];

async function connect(): Promise<void> {
  rpc = createRpcClient(service.grpcPort);
  while ((await rpc.health()) !== 'SERVING') await delay(20);
}

beforeAll(async () => {
  database = await createDatabase();
  const environment = { BUDGETD_GRACE: '0s', BUDGETD_QUEUE_MAX: '3', BUDGETD_SHUTDOWN_GRACE: '10s' };
  service = await ServiceUnderTest.start({ databaseUrl: database.url, clockMs: START_MS, environment });
  await connect();
});

afterAll(async () => {
  rpc.close();
  await service.kill();
  const { differences } = await runVerify({ databaseUrl: database.url, log: () => undefined });
  await database.drop();
  expect(differences).toEqual([]);
});

/** A tree of 100 of which 80 are held. */
beforeEach(async () => {
  treeCount += 1;
  tree = `t${treeCount}`;
  const budget = { budget: tree, limits: [{ amountMicros: 100n }], childTemplate: { kind: 'run' } };
  await rpc.call(BudgetService.method.createBudget, { budget, idempotencyKey: 'create' });
  const ttl = { seconds: 86_400n };
  const granted = await rpc.call(method.reserve, { budget: tree, idempotencyKey: 'holder', maxMicros: 80n, ttl });
  holder = granted.reservation as Reservation;
});

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const request = (key: string, budget = tree) => ({
  budget,
  idempotencyKey: key,
  maxMicros: 50n,
  maxWait: { seconds: 3_600n },
  holder: `holder of ${key}`,
  actingFor: `user of ${key}`,
});

/** What a call ended with: its grant, or the reason why there is none. */
type Ended = { readonly reservation: Reservation | undefined } | { readonly reason: string; readonly id: string };

/** A Reserve that may wait, and can be given up. */
class Waiter {
  readonly #client: Client;
  readonly #call: { cancel(): void };
  readonly ended: Promise<Ended>;

  constructor(init: ReturnType<typeof request> & { priority?: Priority }, deadlineMs?: number) {
    this.#client = new Client(`127.0.0.1:${service.grpcPort}`, credentials.createInsecure());
    closers.push(() => this.#client.close());
    const { promise, resolve } = Promise.withResolvers<Ended>();
    this.ended = promise;
    this.#call = this.#client.makeUnaryRequest(
      `/budgetd.v1.ReservationService/Reserve`,
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => fromBinary(ReserveResponseSchema, bytes),
      Buffer.from(toBinary(ReserveRequestSchema, create(ReserveRequestSchema, init))),
      new Metadata(),
      deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
      (error, reply) => {
        if (error === null) resolve({ reservation: reply?.reservation });
        else {
          const { reason = status[error.code] ?? '', metadata } = decodeRefusal(error);
          resolve({ reason, id: metadata['reservation_id'] ?? '' });
        }
      },
    );
  }

  cancel(): void {
    this.#call.cancel();
  }

  /** Resolves once the request has been decided on: another one that came behind it on the same connection is answered. */
  async decided(): Promise<void> {
    const { getBudget } = BudgetService.method;
    const bytes = toBinary(getBudget.input, create(getBudget.input, { budget: tree }));
    const same = (each: Buffer) => each;
    await new Promise<void>((resolve, reject) => {
      this.#client.makeUnaryRequest('/budgetd.v1.BudgetService/GetBudget', same, same, Buffer.from(bytes), (error) =>
        error === null ? resolve() : reject(error),
      );
    });
  }
}

const queue = async () => (await rpc.call(method.listQueue, { budget: tree })).reservations;
const waiting = (count: number) => expect.poll(async () => (await queue()).length, POLL).toBe(count);
const release = ({ reservationId }: Reservation) =>
  rpc.call(method.release, { reservationId, idempotencyKey: 'release' });

/** A waiter that is in the queue. */
async function waits(key: string, more: { priority?: Priority } = {}): Promise<Waiter> {
  const before = (await queue()).length;
  const waiter = new Waiter({ ...request(key), ...more });
  await waiting(before + 1);
  return waiter;
}

describe('a Reserve that waits', () => {
  it('is granted when room comes, in turn, under the id that it waited with', async () => {
    const [normal, urgent] = [await waits('normal'), await waits('urgent', { priority: Priority.CRITICAL })];
    const listed = await queue();
    expect(listed.map((each) => [each.holder, each.state, each.waiting?.aheadCount])).toEqual([
      ['holder of urgent', ReservationState.QUEUED, 0],
      ['holder of normal', ReservationState.QUEUED, 1],
    ]);
    expect(listed[1]).toMatchObject({ actingFor: 'user of normal', requestedMicros: 50n, heldMicros: 0n });
    expect(listed[1]?.waiting).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: tree,
      limit: 'lifetime',
      minMicros: 50n,
    });
    await release(holder);
    const [first, second] = await Promise.all([urgent.ended, normal.ended]);
    const ids = listed.map(({ reservationId }) => reservationId);
    expect([first, second]).toMatchObject(
      ids.map((reservationId) => ({
        reservation: { reservationId, grantedMicros: 50n, state: ReservationState.ACTIVE },
      })),
    );
    expect(await queue()).toEqual([]);
  });

  it('is told QUEUE_TIMEOUT at the end of its wait, with its id', async () => {
    const waiter = await waits('a');
    const [listed] = await queue();
    const until = listed?.waiting?.waitUntil;
    expect(until && timestampMs(until)).toBe(service.nowMs + 3_600_000);
    await service.moveClock(service.nowMs + 3_600_000);
    expect(await waiter.ended).toEqual({ reason: 'QUEUE_TIMEOUT', id: listed?.reservationId });
    const { reservation } = await rpc.call(method.getReservation, { reservationId: listed?.reservationId ?? '' });
    expect(reservation).toMatchObject({ state: ReservationState.RELEASED, releaseReason: 'QUEUE_TIMEOUT' });
    expect([reservation?.waiting, reservation?.expireTime]).toEqual([undefined, undefined]);
  });

  it('is refused at once past what may wait, and where it can never fit', async () => {
    for (const key of ['a', 'b', 'c']) await waits(key);
    expect(await new Waiter(request('d')).ended).toMatchObject({ reason: 'QUEUE_FULL' });
    expect(await new Waiter({ ...request('e'), maxMicros: 101n }).ended).toMatchObject({ reason: 'EXCEEDS_LIMIT' });
  });

  it('leaves the queue when its caller cancels, at its deadline, and by Release', async () => {
    const cancelled = await waits('a');
    cancelled.cancel();
    await waiting(0);
    const late = new Waiter(request('b'), 300);
    expect(await late.ended).toMatchObject({ reason: 'DEADLINE_EXCEEDED' });
    await waiting(0);
    const released = await waits('c');
    const [listed] = await queue();
    await release(listed as Reservation);
    expect(await released.ended).toEqual({ reason: 'RESERVATION_RELEASED', id: listed?.reservationId });
    await release(holder);
    const { budget } = await rpc.call(BudgetService.method.getBudget, { budget: tree });
    expect(budget?.balances[0]).toMatchObject({ heldMicros: 0n });
  });

  it('can be neither extended nor settled nor renewed', async () => {
    await waits('a');
    const [listed] = await queue();
    const reservationId = listed?.reservationId ?? '';
    const named = { reservationId, idempotencyKey: 'k' };
    const calls = [
      () => rpc.call(method.extend, { ...named, addMicros: 1n }),
      () => rpc.call(method.settle, { ...named, cost: { case: 'actualMicros', value: 1n } }),
      () => rpc.call(method.renew, { reservationId }),
    ];
    for (const call of calls) {
      const error: unknown = await call().catch((cause: unknown) => cause);
      expect(isServiceError(error) && decodeRefusal(error)).toMatchObject({
        status: 'FAILED_PRECONDITION',
        reason: 'NOT_ACTIVE',
      });
    }
  });

  it('a repeat of its key waits in the same place, and both are answered', async () => {
    const first = await waits('a');
    const [place] = await queue();
    const second = new Waiter(request('a'));
    await second.decided();
    first.cancel();
    expect(await first.ended).toMatchObject({ reason: 'CANCELLED' });
    const third = new Waiter(request('a'));
    await third.decided();
    expect((await queue()).map(({ reservationId }) => reservationId)).toEqual([place?.reservationId]);
    await release(holder);
    const [one, two] = await Promise.all([second.ended, third.ended]);
    expect(one).toMatchObject({ reservation: { reservationId: place?.reservationId, grantedMicros: 50n } });
    expect(two).toEqual(one);
    expect(await new Waiter({ ...request('a'), maxMicros: 49n }).ended).toMatchObject({
      reason: 'IDEMPOTENCY_KEY_REUSED',
    });
  });

  it('waits for a run that does not exist yet, and makes it with its grant', async () => {
    const waiter = new Waiter(request('a', `${tree}/run-1`));
    await waiting(1);
    const find = (budget: string, state: ReservationState) => rpc.call(method.listReservations, { budget, state });
    const { reservations } = await find(`${tree}/run-1`, ReservationState.QUEUED);
    expect(reservations).toMatchObject([
      { budget: `${tree}/run-1`, waiting: { reason: 'CAPACITY_HELD', budget: tree, minMicros: 50n } },
    ]);
    expect(reservations[0]?.waiting?.aheadCount).toBeUndefined();
    await release(holder);
    expect(await waiter.ended).toMatchObject({ reservation: { budget: `${tree}/run-1` } });
    expect((await find(`${tree}/run-1`, ReservationState.QUEUED)).reservations).toEqual([]);
    expect((await find(`${tree}/run-1`, ReservationState.ACTIVE)).reservations).toMatchObject([
      { reservationId: reservations[0]?.reservationId, actingFor: 'user of a' },
    ]);
  });
});

it('waits within a session, which goes on meanwhile, and over JSON', async () => {
  const client = new ApiClient(service.grpcPort);
  closers.push(() => client.close());
  const session = client.session();
  session.send({ commandId: 1n, command: { case: 'reserve', value: request('a') } });
  await waiting(1);
  const json = fetch(`http://127.0.0.1:${service.connectPort}/budgetd.v1.ReservationService/Reserve`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ budget: tree, idempotencyKey: 'b', maxMicros: '50', maxWait: '60s' }),
  });
  await waiting(2);
  const { reservationId } = holder;
  session.send({ commandId: 2n, command: { case: 'release', value: { reservationId, idempotencyKey: 'r' } } });
  const results = await session.until(2);
  expect(results.map(({ commandId, result }) => [commandId, result.case]).sort()).toEqual([
    [1n, 'reserve'],
    [2n, 'release'],
  ]);
  expect(await (await json).json()).toMatchObject({
    reservation: { grantedMicros: '50', state: 'RESERVATION_STATE_ACTIVE' },
  });
  const cut = client.session();
  cut.send({ commandId: 1n, command: { case: 'reserve', value: request('c') } });
  await waiting(1);
  cut.stream.cancel();
  await waiting(0);
});

it('events tell who came to wait, who was granted and who left', async () => {
  const [granted, left] = [await waits('a'), await waits('b')];
  const [first, second] = await queue();
  left.cancel();
  await waiting(1);
  await release(holder);
  await granted.ended;
  const events: Event[] = [];
  const start = { case: 'fromBeginning', value: true } as const;
  for await (const response of rpc.stream(EventService.method.watchEvents, { budget: tree, start })) {
    events.push(...response.events);
    if (response.caughtUp) break;
  }
  const told = events.map(({ kind, reason, subject }) => [
    kind,
    subject.case === 'reservation' ? subject.value.reservationId : '',
    reason,
  ]);
  const [a, b] = [first?.reservationId, second?.reservationId];
  expect(told).toEqual([
    [EventKind.BUDGET_CREATED, '', ''],
    [EventKind.RESERVATION_GRANTED, holder.reservationId, ''],
    [EventKind.RESERVATION_QUEUED, a, ''],
    [EventKind.RESERVATION_QUEUED, b, ''],
    [EventKind.RESERVATION_LEFT_QUEUE, b, 'RESERVATION_RELEASED'],
    [EventKind.RESERVATION_RELEASED, holder.reservationId, ''],
    [EventKind.RESERVATION_GRANTED, a, ''],
  ]);
  const cameToWait = events[2]?.subject;
  expect(cameToWait?.case === 'reservation' && cameToWait.value).toMatchObject({
    state: ReservationState.QUEUED,
    actingFor: '',
    waiting: { reason: 'CAPACITY_HELD', budget: tree, limit: 'lifetime' },
  });
});

describe('over a restart', () => {
  it.each(['kill', 'stop'] as const)('by %s, places are kept for who comes back with their key', async (how) => {
    const [first, second] = [await waits('a'), await waits('b')];
    const before = await queue();
    rpc.close();
    await service[how]();
    expect(await Promise.all([first.ended, second.ended])).toMatchObject(
      [1, 2].map(() => ({ reason: expect.stringMatching(how === 'stop' ? 'NOT_LEADER' : 'UNAVAILABLE') })),
    );
    await service.restart();
    await connect();
    const back = new Waiter(request('b'));
    expect((await queue()).map(({ reservationId }) => reservationId)).toEqual(
      before.map(({ reservationId }) => reservationId),
    );
    await release(holder);
    // Nobody comes back for the first one: once its time to do so is over, its turn goes to the next.
    await service.moveClock(service.nowMs + 11_000);
    expect(await back.ended).toMatchObject({ reservation: { reservationId: before[1]?.reservationId } });
    await waiting(0);
    const { reservation } = await rpc.call(method.getReservation, { reservationId: before[0]?.reservationId ?? '' });
    expect(reservation).toMatchObject({ state: ReservationState.RELEASED, heldMicros: 0n });
  });

  it('waits that ended meanwhile are over, in a tree that nobody asks for', async () => {
    await waits('a');
    const [listed] = await queue();
    rpc.close();
    await service.kill();
    await service.restart();
    await connect();
    await service.moveClock(service.nowMs + 3_600_000);
    const request = { budget: tree, state: ReservationState.RELEASED };
    await expect.poll(async () => (await rpc.call(method.listReservations, request)).reservations.length, POLL).toBe(1);
    const [left] = (await rpc.call(method.listReservations, request)).reservations;
    expect(left).toMatchObject({ reservationId: listed?.reservationId, holder: 'holder of a' });
  });
});
