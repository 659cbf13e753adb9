// Waiting on the command line: words in, requests on the wire, text out.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type Reservation,
  ReservationSchema,
  ReservationService,
  ReservationState,
} from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../../src/gen/budgetd/v1/server_info_pb.ts';
import { Priority } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { type FakeCoordinator, NeverAnswer, Refuse, startFakeCoordinator } from './fake-coordinator.ts';
import { availability, ID, nowMs, type Result, reservation, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
  fake.answer(ServerInfoService.method.getServerInfo, () => ({ time: timestampFromMs(nowMs) }));
});

afterEach(() => fake.stop());

const run = (...words: readonly string[]): Promise<Result> => runCli(fake, words);
const { method } = ReservationService;

/** One that has waited for 5 s and may wait 25 s more. */
function waiting(aheadCount?: number, priority: Priority = Priority.CRITICAL): Reservation {
  return create(ReservationSchema, {
    reservationId: ID,
    budget: 'acme/triage',
    state: ReservationState.QUEUED,
    requestedMicros: 300_000n,
    unit: 'USD',
    holder: 'worker-7',
    priority,
    createTime: timestampFromMs(nowMs - 5_000),
    waiting: {
      queueTime: timestampFromMs(nowMs - 5_000),
      waitUntil: timestampFromMs(nowMs + 25_000),
      reason: 'CAPACITY_HELD',
      budget: 'acme',
      limit: 'day',
      ...(aheadCount === undefined ? {} : { aheadCount }),
      minMicros: 100_000n,
    },
  });
}

it('reserve waits as long as it is told to, and longer than other calls may take', async () => {
  fake.answer(method.reserve, () => ({ reservation: reservation(), availability }));
  expect((await run('reserve', 'acme', '0.3', '--max-wait', '1m30s', '--timeout', '10s')).exitCode).toBe(0);
  expect(fake.requestOf(method.reserve).maxWait).toMatchObject({ seconds: 90n, nanos: 0 });
  await run('reserve', 'acme', '0.3');
  expect(fake.received.at(-1)?.request).not.toHaveProperty('maxWait', expect.anything());
});

it('reserve may be told not to wait', async () => {
  fake.answer(method.reserve, () => ({ reservation: reservation(), availability }));
  expect((await run('reserve', 'acme', '0.3', '--max-wait', '0')).exitCode).toBe(0);
  expect(fake.requestOf(method.reserve).maxWait).toMatchObject({ seconds: 0n, nanos: 0 });
});

it('a wait that is interrupted ends with one line, and as programs do that are', async () => {
  const asked = Promise.withResolvers<void>();
  fake.answer(method.reserve, () => {
    asked.resolve();
    throw new NeverAnswer();
  });
  const words = ['src/app/cli/main.ts', 'reserve', 'acme', '0.3', '--max-wait', '1h', '--server', fake.address];
  const budgetctl = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = Promise.all([text(budgetctl.stdout), text(budgetctl.stderr), once(budgetctl, 'close')]);
  await Promise.race([asked.promise, ended]);
  budgetctl.kill('SIGINT');
  const [output, errors, [code]] = await ended;
  expect({ output, code }).toEqual({ output: '', code: 130 });
  expect(errors).toMatch(/^interrupted: the place in the queue is given up;.*\n$/);
}, 20_000);

it.each([
  ['QUEUE_TIMEOUT', 'wait longer (--max-wait)'],
  ['QUEUE_FULL', 'come back later'],
])('%s is no room now, with what to do', async (reason, advice) => {
  fake.answer(method.reserve, () => {
    throw new Refuse(status.RESOURCE_EXHAUSTED, reason, 'the message', { retryAfterMs: 1_000 });
  });
  const { exitCode, stderr } = await run('reserve', 'acme', '0.3', '--max-wait', '30s', '--key', 'k');
  expect(exitCode).toBe(3);
  expect(stderr).toContain(advice);
  expect(stderr).toContain('--key k');
});

it('get shows what one waits for, and no hold', async () => {
  fake.answer(method.getReservation, () => ({ reservation: waiting(2), availability }));
  const { stdout } = await run('get', ID);
  expect(stdout).toContain('state        queued\n');
  expect(stdout).toContain('asked        0.3 USD, 0.1 USD at the least\n');
  expect(stdout).toContain('waits for    acme day (CAPACITY_HELD)\nbefore it    2\n');
  expect(stdout).not.toMatch(/^(granted|held|expires) /m);
});

it('queue lists who comes next, and says where there are more', async () => {
  fake.answer(method.listQueue, () => ({
    reservations: [waiting(0), waiting(3, Priority.NORMAL)],
    totalCount: 5n,
  }));
  const { exitCode, stdout, stderr } = await run('queue', 'acme', '--max-rows', '2');
  expect(exitCode).toBe(0);
  expect(fake.requestOf(method.listQueue)).toMatchObject({ budget: 'acme', pageSize: 2 });
  const rows = stdout.split('\n').slice(2, 4);
  expect(rows[0]).toMatch(/^ *1 .* critical +0\.3 +0\.1 +USD +acme day +CAPACITY_HELD +worker-7 +5s ago +in 25s *$/);
  expect(rows[1]).toMatch(/^ *4 .* normal /);
  expect(stderr).toContain('5 wait in all');
});

it('reservations shows of those that wait what they ask for, apart from the holds', async () => {
  fake.answer(method.listReservations, () => ({ reservations: [reservation(), waiting()] }));
  const { stdout } = await run('reservations', 'acme');
  const [holds = '', queue = ''] = stdout.split('\n\n');
  expect(holds.split('\n')).toHaveLength(3);
  expect(holds).toMatch(/ active +0\.25 +0\.25 /);
  const [heading = '', , row = '', ...more] = queue.trimEnd().split('\n');
  expect(more).toEqual([]);
  expect(heading).toMatch(
    /^RESERVATION +BUDGET +PRIORITY +ASKED +AT LEAST +UNIT +WAITS FOR +WHY +HOLDER +SINCE +UNTIL$/,
  );
  expect(row).toMatch(
    /^acme:\S+ +acme\/triage +critical +0\.3 +0\.1 +USD +acme day +CAPACITY_HELD +worker-7 +5s ago +in 25s$/,
  );
});

it('reservations --state queued shows nothing of holds', async () => {
  fake.answer(method.listReservations, () => ({ reservations: [waiting()] }));
  const { stdout } = await run('reservations', 'acme', '--state', 'queued');
  expect(stdout).toMatch(/^RESERVATION .* ASKED +AT LEAST /);
  expect(stdout).not.toContain('GRANTED');
});

it('queue of a budget on which nothing waits says so', async () => {
  fake.answer(method.listQueue, () => ({ reservations: [], totalCount: 0n }));
  expect(await run('queue', 'acme')).toEqual({ exitCode: 0, stdout: 'Nothing waits on acme.\n', stderr: '' });
});
