// Calls that wait, through both servers and over a coordinator that answers when it is told: whose signal aborts when, what a
// deadline does to a wait, and how calls end that may not wait any longer.

import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { create, toBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { type CallOptions, Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TRANSPORT_LIMITS } from '../../src/api/transport-bounds.ts';
import { ReservationService, ReservationState, ReserveRequestSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import type { Answer } from '../../src/kernel/answer.ts';
import type { Reserve } from '../../src/kernel/command.ts';
import { PlaceKept } from '../../src/lane/place-kept.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { fakeWaiting, path, reservationShown, succeed } from '../support/fake-coordinator.ts';

const PATH = '/budgetd.v1.ReservationService/Reserve';
const JSON_TYPE = { 'content-type': 'application/json' };
const WAIT_LIMITS = { perConnectionMax: 2, ageMs: 60_000, keptMs: 60_000 };
const POLL = { interval: 5, timeout: 5_000 };

let servers: Awaited<ReturnType<typeof startApiServers>>;
let answers: ((answer?: Answer) => void)[];
const closers: (() => void)[] = [];

async function start(waits: Partial<typeof WAIT_LIMITS> = {}): Promise<void> {
  servers = await startApiServers({ limits: { ...TRANSPORT_LIMITS, waits: { ...WAIT_LIMITS, ...waits } } });
  answers = [];
  servers.coordinator.answer = (command) =>
    new Promise((resolve) => answers.push((answer = succeed(command)) => resolve(answer)));
}

beforeEach(() => start());
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await servers.stop();
});

const body = (key: string, maxWait = '30s') =>
  JSON.stringify({ budget: 'acme', idempotencyKey: key, maxMicros: '5', maxWait });
const arrived = (count: number) => expect.poll(() => servers.coordinator.commands.length, POLL).toBe(count);
const waitMsOf = (at: number) => (servers.coordinator.commands[at] as Reserve).waitMs;
const signalOf = (at: number) => servers.coordinator.signals[at];
const gone = (at: number) => expect.poll(() => signalOf(at)?.aborted, POLL).toBe(true);

/** A Reserve over gRPC that can be given up. */
function reserveOn(client: Client, key: string, options: CallOptions = {}) {
  const request = create(ReserveRequestSchema, {
    budget: 'acme',
    idempotencyKey: key,
    maxMicros: 5n,
    maxWait: { seconds: 30n },
  });
  const bytes = Buffer.from(toBinary(ReserveRequestSchema, request));
  const same = (each: Buffer) => each;
  const { promise, resolve } = Promise.withResolvers<ServiceError | undefined>();
  const call = client.makeUnaryRequest(PATH, same, same, bytes, new Metadata(), options, (error) =>
    resolve(error ?? undefined),
  );
  return { call, ended: promise };
}

function grpcClient(port = servers.grpc.port): Client {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  closers.push(() => client.close());
  return client;
}

/** A JSON Reserve over HTTP/1.1 on a connection of its own. */
function post(key: string, headers: Record<string, string> = {}) {
  const { promise, resolve } = Promise.withResolvers<{ readonly status: number; readonly text: string } | undefined>();
  const request = httpRequest(
    { port: servers.connect.port, path: PATH, method: 'POST', headers: { ...JSON_TYPE, ...headers }, agent: false },
    (response: IncomingMessage) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    },
  );
  request.on('error', () => resolve(undefined));
  request.end(body(key));
  closers.push(() => request.destroy());
  return { request, ended: promise };
}

describe('a caller that goes', () => {
  it('over gRPC, by cancelling, gives its place up', async () => {
    const { call, ended } = reserveOn(grpcClient(), 'a');
    await arrived(1);
    expect([waitMsOf(0), signalOf(0)?.aborted]).toEqual([30_000, false]);
    call.cancel();
    await gone(0);
    expect(await ended).toMatchObject({ code: status.CANCELLED });
  });

  it('over gRPC, by dropping its connection, gives its place up', async () => {
    const session = connectHttp2(`http://127.0.0.1:${servers.grpc.port}`);
    const message = toBinary(
      ReserveRequestSchema,
      create(ReserveRequestSchema, { budget: 'acme', idempotencyKey: 'a', maxMicros: 5n, maxWait: { seconds: 30n } }),
    );
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    const stream = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => undefined);
    stream.end(frame);
    await arrived(1);
    session.destroy();
    await gone(0);
  });

  it('over HTTP/1.1 gives its place up', async () => {
    const { request } = post('a');
    await arrived(1);
    request.destroy();
    await gone(0);
  });

  it('over Connect and HTTP/2, by aborting, gives its place up', async () => {
    const transport = createConnectTransport({ baseUrl: `http://127.0.0.1:${servers.connect.port}`, httpVersion: '2' });
    const caller = new AbortController();
    const { reserve } = createClient(ReservationService, transport);
    const request = { budget: 'acme', idempotencyKey: 'a', maxMicros: 5n, maxWait: { seconds: 30n } };
    const reserving = reserve(request, { signal: caller.signal }).catch(() => undefined);
    await arrived(1);
    caller.abort();
    await gone(0);
    await reserving;
  });

  it('of a session that is cut gives its places up; of one that is half-closed none', async () => {
    const client = new ApiClient(servers.grpc.port);
    closers.push(() => client.close());
    const value = { budget: 'acme', maxMicros: 5n, maxWait: { seconds: 30n } };
    const [open, half] = [client.session(), client.session()];
    open.send({ commandId: 1n, command: { case: 'reserve', value: { ...value, idempotencyKey: 'a' } } });
    await arrived(1);
    half.send({ commandId: 1n, command: { case: 'reserve', value: { ...value, idempotencyKey: 'b' } } });
    half.stream.end();
    await arrived(2);
    open.stream.cancel();
    await gone(0);
    expect(signalOf(1)?.aborted).toBe(false);
    answers[1]?.();
    expect(await half.until(1)).toMatchObject([{ commandId: 1n, result: { case: 'reserve' } }]);
    expect(await half.ended).toMatchObject({ code: status.OK });
  });

  it('once it is answered has no place to give up', async () => {
    const { ended } = reserveOn(grpcClient(), 'a');
    const { ended: endedJson } = post('b');
    await arrived(2);
    for (const answer of answers) answer();
    expect(await ended).toBeUndefined();
    expect((await endedJson)?.status).toBe(200);
    for (const close of closers.splice(0)) close();
    await servers.stop();
    expect([signalOf(0)?.aborted, signalOf(1)?.aborted]).toEqual([false, false]);
  });
});

describe('the deadline of a call', () => {
  it('shortens the wait, and is no part of the request', async () => {
    const { call } = reserveOn(grpcClient(), 'a', { deadline: Date.now() + 20_000 });
    const { request } = post('a', { 'connect-timeout-ms': '10000' });
    await arrived(2);
    const [first, second] = servers.coordinator.commands as Reserve[];
    const waits = [first?.waitMs, second?.waitMs].sort((a, b) => (a ?? 0) - (b ?? 0));
    expect(waits[0]).toSatisfy((ms: number) => ms > 5_000 && ms <= 10_000);
    expect(waits[1]).toSatisfy((ms: number) => ms > 15_000 && ms <= 20_000);
    expect(first?.key).toEqual(second?.key);
    call.cancel();
    request.destroy();
  });

  it('that is longer than the wait leaves it as it is, and a call without a wait has no signal', async () => {
    const { call } = reserveOn(grpcClient(), 'a', { deadline: Date.now() + 3_600_000 });
    await arrived(1);
    expect(waitMsOf(0)).toBe(30_000);
    call.cancel();
    const client = new ApiClient(servers.grpc.port);
    closers.push(() => client.close());
    const plain = client.call(ReservationService.method.reserve, {
      budget: 'acme',
      idempotencyKey: 'b',
      maxMicros: 5n,
    });
    await arrived(2);
    expect(signalOf(1)).toBeUndefined();
    answers[1]?.();
    await plain;
  });
});

describe('a call that may not wait any longer', () => {
  it('is refused where its server stops, at once, and keeps its place', async () => {
    const { ended } = reserveOn(grpcClient(), 'a');
    const { ended: endedJson } = post('b');
    await arrived(2);
    const startedMs = performance.now();
    await Promise.all([servers.grpc.stop({ graceMs: 20_000 }), servers.connect.stop({ graceMs: 20_000 })]);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(await ended).toMatchObject({ code: status.UNAVAILABLE, details: expect.stringContaining('same key') });
    expect((await endedJson)?.status).toBe(503);
    const kept = new PlaceKept(WAIT_LIMITS.keptMs);
    expect([signalOf(0)?.reason, signalOf(1)?.reason]).toEqual([kept, kept]);
  });

  it('is told so after a while, and keeps its place for a moment', async () => {
    await servers.stop();
    await start({ ageMs: 50, keptMs: 100 });
    const { ended } = reserveOn(grpcClient(), 'a');
    expect(await ended).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: expect.stringContaining('still waits'),
    });
    expect(signalOf(0)?.reason).toEqual(new PlaceKept(100));
  });

  it('over HTTP/1.1 is told so before its connection counts as idle', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { ended } = post('a');
      for (; servers.coordinator.commands.length < 1; ) await new Promise((resolve) => setImmediate(resolve));
      vi.advanceTimersByTime(55_000);
      const answer = await ended;
      expect(answer?.status).toBe(429);
      expect(answer?.text).toContain('still waits');
    } finally {
      vi.useRealTimers();
    }
  });

  it('is refused at once past what one connection may have', async () => {
    const client = grpcClient();
    const waiting = [reserveOn(client, 'a'), reserveOn(client, 'b')];
    await arrived(2);
    expect(await reserveOn(client, 'c').ended).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    expect(servers.coordinator.commands).toHaveLength(2);
    for (const { call } of waiting) call.cancel();
  });

  it.each([
    ['are cancelled', {}],
    ['end by their deadlines', { deadline: 50 }],
  ])('has its places again once those who had them %s', async (_, { deadline }: { readonly deadline?: number }) => {
    const client = grpcClient();
    for (let round = 0; round < 3; round += 1) {
      const options = deadline === undefined ? {} : { deadline: Date.now() + deadline };
      const waiting = [reserveOn(client, `a${round}`, options), reserveOn(client, `b${round}`, options)];
      await arrived(2 * round + 2);
      if (deadline === undefined) for (const { call } of waiting) call.cancel();
      for (const { ended } of waiting) await ended;
      await gone(2 * round);
      await gone(2 * round + 1);
      // Whose caller has gone is answered all the same, later.
      for (const answer of answers) answer();
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
});

it('ListQueue shows what waits as it stands, and of that only what its caller sees', async () => {
  await servers.stop();
  const subtree = path('acme/triage');
  const secret = { plaintext: 'agent-secret-secret-secret' };
  servers = await startApiServers({ tokens: [{ name: 'agent', role: 'agent', subtree, secret }] });
  const refusal = { kind: 'refusal', reason: 'RATE_LIMITED', message: 'no', budget: 'acme/triage' } as const;
  const mine = fakeWaiting('06fk2xw8q4000000000001');
  const other = { ...fakeWaiting('06fk2xw8q4000000000002'), budget: path('acme/other'), also: [subtree] };
  servers.coordinator.answer = ({ treeId }) => ({
    kind: 'queue',
    treeId,
    waiting: [other, mine].map((reservation, aheadCount) => ({ reservation, standing: { refusal, aheadCount } })),
    count: 7,
  });
  const client = new ApiClient(servers.grpc.port, secret.plaintext);
  closers.push(() => client.close());
  const { listQueue } = ReservationService.method;
  const listed = await client.call(listQueue, { budget: 'acme/triage', pageSize: 5 });
  expect(servers.coordinator.commands).toMatchObject([{ kind: 'GetQueue', budget: 'acme/triage', countMax: 5 }]);
  expect(listed).toMatchObject({
    totalCount: 7n,
    reservations: [
      {
        reservationId: 'acme:06fk2xw8q4000000000001',
        state: ReservationState.QUEUED,
        waiting: { reason: 'RATE_LIMITED', budget: 'acme/triage', limit: '', aheadCount: 1 },
      },
    ],
  });
  expect('reservations' in listed && listed.reservations[0]?.expireTime).toBeUndefined();
  expect(await client.call(listQueue, { budget: 'acme' })).toMatchObject({ reason: 'FORBIDDEN' });
});

it('GetReservation shows one that waits, and a list as it came', async () => {
  const waiting = fakeWaiting('06fk2xw8q4000000000001');
  const refusal = { kind: 'refusal', reason: 'CONCURRENCY_LIMIT', message: 'no', budget: 'acme/triage' } as const;
  const answer = { ...reservationShown('acme', waiting), standing: { refusal, aheadCount: 0 } };
  servers.coordinator.answer = () => answer;
  servers.reads.reservations = [waiting];
  const client = new ApiClient(servers.grpc.port);
  closers.push(() => client.close());
  const reservationId = 'acme:06fk2xw8q4000000000001';
  expect(await client.call(ReservationService.method.getReservation, { reservationId })).toMatchObject({
    reservation: { state: ReservationState.QUEUED, waiting: { reason: 'CONCURRENCY_LIMIT', limit: '', aheadCount: 0 } },
  });
  const listed = await client.call(ReservationService.method.listReservations, { budget: 'acme' });
  expect(listed).toMatchObject({
    reservations: [{ reservationId, waiting: { reason: 'CAPACITY_HELD', budget: 'acme', limit: 'lifetime' } }],
  });
  expect('reservations' in listed && listed.reservations[0]?.waiting?.aheadCount).toBeUndefined();
});
