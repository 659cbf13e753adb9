// WatchEvents on the real service over gRPC: every change once and in order, from any cursor on, over restarts, kills and other
// replicas.
import { setTimeout as delay } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BudgetSchema, BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import {
  type Event,
  EventKind,
  EventService,
  type WatchEventsRequestSchema,
  type WatchEventsResponse,
} from '../../src/gen/budgetd/v1/event_pb.ts';
import {
  type Reservation,
  ReservationService,
  type ReserveRequestSchema,
} from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { Mode, OnExhaustion } from '../../src/gen/budgetd/v1/terms_pb.ts';
import { isServiceError } from '../scenarios/runner/refusal.ts';
import { createRpcClient, type RpcClient } from '../scenarios/runner/rpc-client.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { ServiceUnderTest } from '../support/service-under-test.ts';

type Init<Schema> = Schema extends { readonly $typeName?: never } ? Schema : never;
type Request = Init<MessageInitShape<typeof WatchEventsRequestSchema>>;

const START_MS = Date.parse('2026-03-02T09:00:00Z');
const FROM_BEGINNING = { case: 'fromBeginning', value: true } as const;

let database: TestDatabase;
let service: ServiceUnderTest;
let rpc: RpcClient;
let keyCount = 0;

async function connect(): Promise<void> {
  rpc = createRpcClient(service.grpcPort);
  while ((await rpc.health()) !== 'SERVING') await delay(20);
}

beforeAll(async () => {
  database = await createDatabase();
  const environment = { BUDGETD_GRACE: '0s' };
  service = await ServiceUnderTest.start({ databaseUrl: database.url, clockMs: START_MS, environment });
  await connect();
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

async function create(budget: Init<MessageInitShape<typeof BudgetSchema>>): Promise<void> {
  await rpc.call(BudgetService.method.createBudget, { budget, ...key() });
}

async function reserve(
  budget: string,
  maxMicros: bigint,
  more: Init<MessageInitShape<typeof ReserveRequestSchema>> = {},
): Promise<Reservation> {
  const { reservation } = await rpc.call(ReservationService.method.reserve, { budget, maxMicros, ...key(), ...more });
  if (reservation === undefined) throw new Error('no reservation in the answer');
  return reservation;
}

async function settle({ reservationId }: Reservation, micros: bigint): Promise<void> {
  const cost = { case: 'actualMicros', value: micros } as const;
  await rpc.call(ReservationService.method.settle, { reservationId, cost, ...key() });
}

const watch = (request: Request, client = rpc) => client.stream(EventService.method.watchEvents, request);

/** All that there is from a start on, as responses. */
async function readAll(request: Request, client = rpc): Promise<WatchEventsResponse[]> {
  const responses: WatchEventsResponse[] = [];
  for await (const response of watch(request, client)) {
    responses.push(response);
    if (response.caughtUp) break;
  }
  return responses;
}

const eventsOf = (responses: readonly WatchEventsResponse[]): Event[] => responses.flatMap(({ events }) => events);
const plain = (events: readonly Event[]) => events.map(({ cursor: _, ...event }) => event);

/** Everything that can happen to a tree. */
async function liveALife(tree: string): Promise<void> {
  const enforcement = { mode: Mode.WARN, onExhaustion: OnExhaustion.DEGRADE };
  await create({
    budget: tree,
    limits: [{ amountMicros: 1_000n }],
    childTemplate: { kind: 'run', limits: [{ amountMicros: 50n }] },
  });
  await create({ budget: `${tree}/watched`, limits: [{ amountMicros: 10n }], enforcement });
  const first = await reserve(`${tree}/run-1`, 40n, { holder: 'worker-7', actingFor: 'maya', labels: { a: 'b' } });
  await rpc.call(ReservationService.method.extend, { reservationId: first.reservationId, addMicros: 5n, ...key() });
  await rpc.call(ReservationService.method.renew, { reservationId: first.reservationId, ttl: durationFromMs(90_000) });
  await service.moveClock(service.nowMs + 1_000);
  await settle(first, 45n);
  const loud = await reserve(`${tree}/watched`, 20n);
  await rpc.call(ReservationService.method.release, { reservationId: loud.reservationId, ...key() });
  // Three lapses, which are one entry.
  for (const micros of [1n, 2n, 3n]) await reserve(`${tree}/watched`, micros, { ttl: durationFromMs(1_000) });
  await service.moveClock(service.nowMs + 2_000);
  await rpc.call(BudgetService.method.topUp, { budget: tree, addMicros: 7n, ...key() });
  await rpc.call(BudgetService.method.updateBudget, {
    budget: { budget: tree, owner: 'finance' },
    updateMask: { paths: ['owner'] },
    ...key(),
  });
  await rpc.call(BudgetService.method.suspendBudget, { budget: tree, reason: 'a drill', ...key() });
  await rpc.call(BudgetService.method.resumeBudget, { budget: tree, ...key() });
  await rpc.call(BudgetService.method.closeBudget, { budget: `${tree}/watched`, ...key() });
}

const LIFE: readonly (readonly [EventKind, string])[] = [
  [EventKind.BUDGET_CREATED, ''],
  [EventKind.BUDGET_CREATED, '/watched'],
  [EventKind.BUDGET_CREATED, '/run-1'],
  [EventKind.RESERVATION_GRANTED, '/run-1'],
  [EventKind.RESERVATION_EXTENDED, '/run-1'],
  [EventKind.RESERVATION_RENEWED, '/run-1'],
  [EventKind.RESERVATION_SETTLED, '/run-1'],
  [EventKind.ALERT, '/run-1'],
  [EventKind.RESERVATION_GRANTED, '/watched'],
  [EventKind.WARNING, '/watched'],
  [EventKind.RESERVATION_RELEASED, '/watched'],
  [EventKind.RESERVATION_GRANTED, '/watched'],
  [EventKind.RESERVATION_GRANTED, '/watched'],
  [EventKind.RESERVATION_GRANTED, '/watched'],
  [EventKind.RESERVATION_EXPIRED, '/watched'],
  [EventKind.RESERVATION_EXPIRED, '/watched'],
  [EventKind.RESERVATION_EXPIRED, '/watched'],
  [EventKind.BUDGET_TOPPED_UP, ''],
  [EventKind.BUDGET_UPDATED, ''],
  [EventKind.BUDGET_SUSPENDED, ''],
  [EventKind.BUDGET_RESUMED, ''],
  [EventKind.BUDGET_CLOSED, '/watched'],
];

const named = (events: readonly Event[], tree: string) =>
  events.map(({ kind, budget }) => [kind, budget.slice(tree.length)]);

describe('a watch of a tree', () => {
  it('tells every change once and in order, with what it was', async () => {
    await liveALife('life');
    const events = eventsOf(await readAll({ budget: 'life', start: FROM_BEGINNING }));
    expect(named(events, 'life')).toEqual(LIFE);
    const sequences = events.map(({ sequence }) => sequence);
    expect([...sequences].sort((a, b) => Number(a - b))).toEqual(sequences);
    expect(events.find(({ kind }) => kind === EventKind.RESERVATION_SETTLED)).toMatchObject({
      tree: 'life',
      actor: 'anonymous',
      subject: {
        case: 'reservation',
        value: {
          grantedMicros: 45n,
          settledMicros: 45n,
          heldMicros: 0n,
          holder: 'worker-7',
          actingFor: '',
          labels: {},
        },
      },
    });
    expect(events.find(({ kind }) => kind === EventKind.WARNING)?.subject.value).toMatchObject({
      shadow: { mode: Mode.WARN, reason: 'EXCEEDS_LIMIT', budget: 'life/watched' },
    });
    expect(events.find(({ kind }) => kind === EventKind.BUDGET_TOPPED_UP)).toMatchObject({ addMicros: 7n });
    expect(events.find(({ kind }) => kind === EventKind.BUDGET_SUSPENDED)).toMatchObject({ reason: 'a drill' });
    const alert = events.find(({ kind }) => kind === EventKind.ALERT);
    expect(alert).toMatchObject({
      actor: 'budgetd',
      subject: {
        case: 'alert',
        value: {
          budget: 'life/run-1',
          limit: 'lifetime',
          percent: 80,
          usedMicros: 45n,
          amountMicros: 50n,
          unit: 'USD',
        },
      },
    });
    if (alert?.subject.case !== 'alert' || alert.subject.value.exhaustTime === undefined) throw new Error('no time');
    // 45 in a second: 5 more in the ninth part of one.
    expect(timestampMs(alert.subject.value.exhaustTime)).toBe(START_MS + 1_000 + 111);
  });

  it('goes on after any event, and tells the rest', async () => {
    const events = eventsOf(await readAll({ budget: 'life', start: FROM_BEGINNING }));
    expect(events).toHaveLength(LIFE.length);
    for (const [index, { cursor }] of events.entries()) {
      const rest = eventsOf(await readAll({ budget: 'life', start: { case: 'cursor', value: cursor } }));
      expect(plain(rest)).toEqual(plain(events.slice(index + 1)));
    }
  });

  it('leaves out what is not of the subtree or not of the kinds', async () => {
    const below = eventsOf(await readAll({ budget: 'life/watched', start: FROM_BEGINNING }));
    expect(named(below, 'life')).toEqual(LIFE.filter(([, path]) => path === '/watched'));
    const kinds: EventKind[] = [EventKind.ALERT, EventKind.BUDGET_CLOSED];
    const some = eventsOf(await readAll({ budget: 'life', kinds, start: FROM_BEGINNING }));
    expect(named(some, 'life')).toEqual(LIFE.filter(([kind]) => kinds.includes(kind)));
  });

  it('begins now unless told otherwise, also on a budget that is not there yet', async () => {
    const stream = watch({ budget: 'young' });
    expect((await stream.next()).value).toMatchObject({ events: [], caughtUp: true });
    await create({ budget: 'young', limits: [{ amountMicros: 5n }] });
    const told = (await stream.next()).value as WatchEventsResponse;
    expect(named(told.events, 'young')).toEqual([[EventKind.BUDGET_CREATED, '']]);
    await stream.return(undefined);
  });

  it('takes no cursor of another tree, or from past the end', async () => {
    const [first] = await readAll({ budget: 'life' });
    const cursor = first?.cursor ?? '';
    const refusedWith = async (request: Request): Promise<unknown> =>
      readAll(request).catch((error: unknown) => isServiceError(error) && error.code);
    expect(await refusedWith({ budget: 'young', start: { case: 'cursor', value: cursor } })).toBe(
      status.INVALID_ARGUMENT,
    );
    expect(await refusedWith({ start: { case: 'cursor', value: cursor } })).toBe(status.INVALID_ARGUMENT);
    expect(await refusedWith({ budget: 'life', start: { case: 'cursor', value: 'made-up' } })).toBe(
      status.INVALID_ARGUMENT,
    );
    const late = Buffer.from('t,young,900,0').toString('base64url');
    expect(await refusedWith({ budget: 'young', start: { case: 'cursor', value: late } })).toBe(
      status.INVALID_ARGUMENT,
    );
  });
});

describe('a watch of all trees', () => {
  it('tells of each tree what a watch of it tells, from any response on', async () => {
    await liveALife('other');
    // So that some is old enough to be known by its time alone.
    await service.moveClock(service.nowMs + 120_000);
    await liveALife('third');
    const responses = await readAll({ start: FROM_BEGINNING });
    const all = eventsOf(responses);
    const trees = ['life', 'young', 'other', 'third'];
    expect(new Set(all.map(({ tree }) => tree))).toEqual(new Set(trees));
    const own = new Map<string, Event[]>();
    for (const tree of trees) {
      const alone = eventsOf(await readAll({ budget: tree, start: FROM_BEGINNING }));
      own.set(tree, alone);
      expect(plain(all.filter((event) => event.tree === tree))).toEqual(plain(alone));
    }
    for (const [index, { cursor }] of responses.entries()) {
      const told = [
        ...eventsOf(responses.slice(0, index + 1)),
        ...eventsOf(await readAll({ start: { case: 'cursor', value: cursor } })),
      ];
      for (const tree of trees) {
        expect(plain(told.filter((event) => event.tree === tree))).toEqual(plain(own.get(tree) ?? []));
      }
    }
  });

  it('goes on for long with cursors that stay short', async () => {
    let [last] = (await readAll({})).slice(-1);
    const told: Event[] = [];
    for (let round = 0; round < 5; round += 1) {
      const tree = `round-${round}`;
      await create({ budget: tree, limits: [{ amountMicros: 5n }] });
      await service.moveClock(service.nowMs + 60_000);
      const more = await readAll({ start: { case: 'cursor', value: last?.cursor ?? '' } });
      told.push(...eventsOf(more));
      [last] = more.slice(-1);
    }
    expect(told.map(({ tree }) => tree)).toEqual([0, 1, 2, 3, 4].map((round) => `round-${round}`));
    expect(Buffer.from(last?.cursor ?? '', 'base64url').toString()).not.toContain('round-0');
  });

  it('tells at once of what is committed here', async () => {
    const stream = watch({});
    expect((await stream.next()).value).toMatchObject({ caughtUp: true });
    for (const tree of ['at-once-b', 'at-once-a', 'at-once-c']) {
      await create({ budget: tree, limits: [{ amountMicros: 5n }] });
      const { events } = (await stream.next()).value as WatchEventsResponse;
      expect(events.map((event) => event.tree)).toEqual([tree]);
    }
    await stream.return(undefined);
  });
});

describe('another replica', () => {
  it('tells the same, and of what the leader commits within moments', async () => {
    const environment = { BUDGETD_GRACE: '0s' };
    const standby = await ServiceUnderTest.start({ databaseUrl: database.url, clockMs: service.nowMs, environment });
    const client = createRpcClient(standby.grpcPort);
    try {
      const here = eventsOf(await readAll({ budget: 'life', start: FROM_BEGINNING }));
      expect(eventsOf(await readAll({ budget: 'life', start: FROM_BEGINNING }, client))).toEqual(here);
      for (const request of [{ budget: 'news' }, {}]) {
        const stream = watch(request, client);
        await stream.next();
        const count = request.budget === undefined ? 2 : 1;
        if (count === 1) await create({ budget: 'news', limits: [{ amountMicros: 5n }] });
        else await create({ budget: 'news/below' });
        const { events } = (await stream.next()).value as WatchEventsResponse;
        expect(events.map(({ kind }) => kind)).toEqual([EventKind.BUDGET_CREATED]);
        await stream.return(undefined);
      }
    } finally {
      client.close();
      await standby.kill();
    }
  });
});

describe('a service that is killed', () => {
  // Twice the lease of a writer that is gone, with all that a busy machine adds.
  it('tells the rest after its restart, nothing twice', { timeout: 60_000 }, async () => {
    await create({ budget: 'busy', limits: [{ amountMicros: 1_000_000n }] });
    const told: Event[] = [];
    let isOver = false;
    const watching = (async () => {
      for (let cursor = ''; !isOver; ) {
        const start = cursor === '' ? FROM_BEGINNING : ({ case: 'cursor', value: cursor } as const);
        const client = createRpcClient(service.grpcPort);
        try {
          for await (const response of watch({ budget: 'busy', start }, client)) {
            told.push(...response.events);
            ({ cursor } = response);
            if (isOver) break;
          }
        } catch (error) {
          if (!isServiceError(error)) throw error;
          await delay(50);
        } finally {
          client.close();
        }
      }
    })();
    const work = (count: number): Promise<unknown> =>
      Promise.all(Array.from({ length: count }, async () => settle(await reserve('busy', 3n), 2n)));
    await work(50);
    const unanswered = work(200).catch(() => 'cut off');
    await delay(30);
    await service.kill();
    expect(await unanswered).toBe('cut off');
    rpc.close();
    await service.restart();
    await connect();
    await work(50);
    const all = eventsOf(await readAll({ budget: 'busy', start: FROM_BEGINNING }));
    const deadline = performance.now() + 20_000;
    while (told.length < all.length && performance.now() < deadline) await delay(20);
    // Ends the watch, which looks whether it is over once something has come.
    isOver = true;
    await create({ budget: 'busy/end' });
    await watching;
    expect(plain(told.slice(0, all.length))).toEqual(plain(all));
    expect(all.length).toBeGreaterThan(200);
  });
});
