// The grpc-js server through a real client over a fake coordinator: every method's way in and out, every reason once, who
// may come in, and how it stops.
import { toBinary } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { REASON_CODES } from '../../src/api/errors/reason-codes.ts';
import { startGrpcServer } from '../../src/api/grpc/start-grpc-server.ts';
import { PortInUseError } from '../../src/api/running-server.ts';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../src/gen/budgetd/v1/server_info_pb.ts';
import { BadRequestSchema, QuotaFailureSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { ApiClient, findDetail, startApiServers } from '../support/api-servers.ts';
import { budgetShown, fakeReservation, path, reservationShown, succeed } from '../support/fake-coordinator.ts';

const ID = 'acme:06fk2xw8q40000000001';
const { reserve, extend, settle, release, renew, batchRenew, getReservation } = ReservationService.method;
const { createBudget, getBudget, updateBudget, closeBudget, suspendBudget, resumeBudget, topUp } = BudgetService.method;
const on = { reservationId: ID, idempotencyKey: 'k' };

let servers: Awaited<ReturnType<typeof startApiServers>>;
let client: ApiClient;
const clients: ApiClient[] = [];

const connect = (token?: string): ApiClient => {
  const opened = new ApiClient(servers.grpc.port, token);
  clients.push(opened);
  return opened;
};

const start = async (options: Parameters<typeof startApiServers>[0] = {}): Promise<void> => {
  servers = await startApiServers(options);
  client = connect();
};

afterEach(async () => {
  for (const opened of clients.splice(0)) opened.close();
  await servers.stop();
});

describe('without tokens', () => {
  beforeEach(() => start());

  it('serves every method', async () => {
    const limit = { amountMicros: 5n };
    const replies = [
      await client.call(reserve, { budget: 'acme', idempotencyKey: 'k', maxMicros: 5n }),
      await client.call(extend, { ...on, addMicros: 5n }),
      await client.call(settle, { ...on, cost: { case: 'actualMicros', value: 5n } }),
      await client.call(release, { ...on, reason: 'done' }),
      await client.call(renew, on),
      await client.call(batchRenew, { renewals: [{ reservationId: ID }] }),
      await client.call(getReservation, { reservationId: ID }),
      await client.call(createBudget, { budget: { budget: 'acme', limits: [limit] }, idempotencyKey: 'k' }),
      await client.call(getBudget, { budget: 'acme' }),
      await client.call(updateBudget, {
        budget: { budget: 'acme', owner: 'kim' },
        updateMask: { paths: ['owner'] },
        idempotencyKey: 'k',
      }),
      await client.call(closeBudget, { budget: 'acme', idempotencyKey: 'k' }),
      await client.call(suspendBudget, { budget: 'acme', idempotencyKey: 'k' }),
      await client.call(resumeBudget, { budget: 'acme', idempotencyKey: 'k' }),
      await client.call(topUp, { budget: 'acme', idempotencyKey: 'k', addMicros: 1n }),
    ];
    expect(replies.filter((reply) => 'code' in reply)).toEqual([]);
    expect(servers.coordinator.commands.map(({ kind }) => kind)).toEqual([
      'Reserve',
      'Extend',
      'Settle',
      'Release',
      'Renew',
      'Renew',
      'GetReservation',
      'CreateBudget',
      'GetBudget',
      'UpdateBudget',
      'CloseBudget',
      'SuspendBudget',
      'ResumeBudget',
      'TopUp',
    ]);
  });

  it('shows a reservation with all it has', async () => {
    const base = fakeReservation('06fk2xw8q40000000001');
    const ended = { state: 'SETTLED', endMs: base.createMs + 1_234, outcome: 'failed', late: true } as const;
    const figures = { ...base.figures, ...ended, estimated: true, started: true, releaseReason: 'why' };
    const labels = [['a', 'b']] as const;
    servers.coordinator.answer = () =>
      reservationShown('acme', { ...base, holder: 'w', actingFor: 'kim', labels, figures });
    expect(await client.call(getReservation, { reservationId: ID })).toMatchObject({
      reservation: {
        reservationId: ID,
        budget: 'acme/triage',
        state: 2,
        requestedMicros: 500n,
        grantedMicros: 400n,
        heldMicros: 300n,
        settledMicros: 70n,
        releasedMicros: 30n,
        overrunMicros: 5n,
        createTime: { seconds: 1_772_442_000n, nanos: 0 },
        expireTime: { seconds: 1_772_442_060n },
        endTime: { seconds: 1_772_442_001n, nanos: 234_000_000 },
        late: true,
        estimated: true,
        started: true,
        holder: 'w',
        actingFor: 'kim',
        labels: { a: 'b' },
        outcome: 2,
        releaseReason: 'why',
        unit: 'USD',
      },
      availability: { availableMicros: 9_500n, budget: 'acme', limit: 'lifetime', unit: 'USD' },
    });
  });

  it('names renew_after halfway through a live lease only, and no id or state in a dry run', async () => {
    const live = await client.call(getReservation, { reservationId: ID });
    expect(live).toMatchObject({ reservation: { renewAfter: { seconds: 1_772_442_030n } } });
    const dry = await client.call(reserve, { budget: 'acme', maxMicros: 5n, validateOnly: true });
    expect(dry).toMatchObject({ reservation: { reservationId: '', state: 0 } });
    expect(servers.coordinator.commands.at(-1)).toMatchObject({ dryRun: true, key: undefined });
  });

  it.each([
    [{}, 1],
    [{ suspendedBy: 'acme' }, 2],
    [{ closedBy: 'acme' }, 3],
    [{ closedBy: 'acme', suspendedBy: 'acme' }, 3],
    [{ closedBy: 'acme', activeCount: 0 }, 4],
  ])('shows a budget that is %j in state %i', async (changes, state) => {
    servers.coordinator.answer = () => budgetShown(path('acme'), changes);
    expect(await client.call(getBudget, { budget: 'acme' })).toMatchObject({
      budget: {
        budget: 'acme',
        state,
        revision: 7n,
        etag: 'r7',
        labels: { team: 'blue' },
        balances: [{ limit: 'lifetime', heldMicros: 400n, settledMicros: 100n, availableMicros: 9_500n }],
        totals: { heldMicros: 400n, settledMicros: 100n },
      },
    });
  });

  it('answers every renewal of a batch, tree by tree', async () => {
    servers.coordinator.answer = (command) =>
      command.treeId === 'other'
        ? { kind: 'refusal', reason: 'TREE_QUARANTINED', message: 'out of service' }
        : succeed(command);
    const other = ID.replace('acme', 'other');
    const reply = await client.call(batchRenew, {
      renewals: [{ reservationId: ID }, { reservationId: other }, { reservationId: ID.replace('0001', '0002') }],
    });
    expect(reply).toMatchObject({
      results: [
        { result: { case: 'renewed', value: { reservation: { reservationId: ID } } } },
        { result: { case: 'error', value: { code: 14 } } },
        { result: { case: 'renewed', value: { reservation: { reservationId: ID.replace('0001', '0002') } } } },
      ],
    });
    expect(servers.coordinator.commands).toHaveLength(2);
  });

  it.each([
    [{ renewals: [] }, ['renewals']],
    [{ renewals: Array(1_001).fill({ reservationId: ID }) }, ['renewals']],
    [
      { renewals: [{ reservationId: ID }, { reservationId: 'x', ttl: {}, idempotencyKey: 'k' }] },
      ['renewals[1].idempotency_key', 'renewals[1].reservation_id', 'renewals[1].ttl'],
    ],
  ])('refuses a batch for its fields, case %#', async (request, fields) => {
    const failed = await client.call(batchRenew, request);
    expect(failed).toMatchObject({ code: 3, reason: 'INVALID_FIELD' });
    if (!('status' in failed)) throw new Error('answered');
    const violations = findDetail(failed.status, BadRequestSchema)?.fieldViolations ?? [];
    expect(violations.map(({ field }) => field)).toEqual(fields);
    expect(servers.coordinator.commands).toEqual([]);
  });

  const kernelReasons = Object.keys(REASON_CODES).filter((reason) => !/FORBIDDEN|UNAUTHENTICATED/.test(reason));
  it.each(kernelReasons as Refusal['reason'][])('sends %s with its details', async (reason) => {
    const failing = [{ budget: 'acme', limit: 'day', amountMicros: 9n, availableMicros: 2n }];
    servers.coordinator.answer = () => ({
      kind: 'refusal',
      reason,
      message: `because of ${reason} ✓`,
      budget: 'acme',
      limit: 'day',
      availableMicros: 2n,
      requestedMicros: 5n,
      retryAfterMs: 250,
      failing,
    });
    const failed = await client.call(reserve, { budget: 'acme', idempotencyKey: 'k', maxMicros: 5n });
    if (!('status' in failed)) throw new Error('answered');
    expect(failed).toMatchObject({
      code: REASON_CODES[reason],
      message: encodeURI(`because of ${reason} ✓`) && expect.stringContaining(reason),
      reason,
      metadata: { budget: 'acme', limit: 'day', available: '2', requested: '5' },
    });
    expect(failed.status).toMatchObject({ code: REASON_CODES[reason], message: `because of ${reason} ✓` });
    expect(findDetail(failed.status, QuotaFailureSchema)?.violations[0]).toMatchObject({ subject: 'acme:day' });
    expect(findDetail(failed.status, RetryInfoSchema)?.retryDelay).toMatchObject({ nanos: 250_000_000 });
    if (failed.status === undefined) throw new Error('no status');
    expect(toBinary(StatusSchema, failed.status).length).toBeLessThan(4_096);
  });

  it('tells nothing of a fault', async () => {
    servers.coordinator.answer = () => Promise.reject(new Error('secret'));
    const failed = await client.call(getBudget, { budget: 'acme' });
    expect(failed).toMatchObject({ code: 13, message: 'internal error', status: undefined });
    servers.coordinator.answer = () => ({ kind: 'expired', count: 1, more: false });
    expect(await client.call(getReservation, { reservationId: ID })).toMatchObject({
      code: 13,
      message: 'internal error',
    });
    expect(servers.errors).toHaveLength(2);
  });

  it('answers bytes that are no message, and goes on', async () => {
    const failed = await client.raw('/budgetd.v1.ReservationService/Reserve', Buffer.from([0xff, 0xff, 0xff]));
    expect(failed).toMatchObject({ code: 3, reason: 'INVALID_FIELD' });
    const badUtf8 = Buffer.from([0x0a, 0x01, 0xff]);
    expect(await client.raw('/budgetd.v1.ReservationService/Reserve', badUtf8)).toMatchObject({ code: 3 });
    expect(await client.raw('/budgetd.v1.ReservationService/Nothing', Buffer.alloc(0))).toMatchObject({ code: 12 });
    const large = await client.raw('/budgetd.v1.ReservationService/Reserve', Buffer.alloc(1024 * 1024 + 1));
    expect(large).toMatchObject({ code: 8 });
    expect('code' in (await client.call(getBudget, { budget: 'acme' }))).toBe(false);
  });

  it('names the port that is taken', async () => {
    const { services, authenticate, log, grpc } = servers;
    const starting = startGrpcServer({ host: '127.0.0.1', port: grpc.port, services, authenticate, log });
    await expect(starting).rejects.toThrow(PortInUseError);
    await expect(starting).rejects.toMatchObject({ port: grpc.port });
  });

  it('says SERVING per service and overall, and NOT_SERVING when told', async () => {
    const check = async (service: string) => {
      const name = Buffer.from(service);
      const request = service === '' ? name : Buffer.concat([Buffer.from([0x0a, name.length]), name]);
      return client.raw('/grpc.health.v1.Health/Check', request);
    };
    const names = ['', ...[ReservationService, BudgetService, ServerInfoService].map(({ typeName }) => typeName)];
    for (const name of names) expect(await check(name)).toEqual(Buffer.from([0x08, 1]));
    servers.grpc.setServing(false);
    for (const name of names) expect(await check(name)).toEqual(Buffer.from([0x08, 2]));
    expect(await check('nobody')).toMatchObject({ code: 5 });
  });

  it('finishes what is outstanding when it stops, although somebody watches health', async () => {
    const watcher = new Client(`127.0.0.1:${servers.grpc.port}`, credentials.createInsecure());
    const asIs = (bytes: Buffer): Buffer => bytes;
    const watch = watcher.makeServerStreamRequest('/grpc.health.v1.Health/Watch', asIs, asIs, Buffer.alloc(0));
    const seen: Buffer[] = [];
    const watchEnded = new Promise<number>((resolve) =>
      watch.on('error', (error) => resolve(Reflect.get(error, 'code'))),
    );
    await new Promise<void>((resolve) => {
      watch.on('data', (bytes: Buffer) => {
        seen.push(bytes);
        resolve();
      });
    });
    let answer: () => void = () => undefined;
    const submitted = new Promise<void>((resolve) => {
      servers.coordinator.answer = (command) => {
        resolve();
        return new Promise((settled) => {
          answer = () => settled(succeed(command));
        });
      };
    });
    const calling = client.call(getBudget, { budget: 'acme' });
    await submitted;
    const stopped = servers.grpc.stop({ graceMs: 10_000 });
    expect(await watchEnded).toBe(14);
    expect(seen).toEqual([Buffer.from([0x08, 1]), Buffer.from([0x08, 2])]);
    answer();
    expect('code' in (await calling)).toBe(false);
    await stopped;
    expect(await client.call(getBudget, { budget: 'acme' })).toMatchObject({ code: 14 });
    watcher.close();
  });

  it('cuts what does not end in time', async () => {
    const submitted = new Promise<void>((resolve) => {
      servers.coordinator.answer = () => {
        resolve();
        return new Promise(() => undefined);
      };
    });
    const calling = client.call(getBudget, { budget: 'acme' });
    await submitted;
    await servers.grpc.stop({ graceMs: 20 });
    expect(await calling).toHaveProperty('code');
  });
});
