// `watch` and `advise` against the real service: what is printed of a tree that lived, and what limits it would have needed.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { Mode } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { freePort } from '../../faults/free-port.ts';
import { createRpcClient, type RpcClient } from '../../scenarios/runner/rpc-client.ts';
import { createDatabase, type TestDatabase } from '../../support/postgres.ts';
import { ServiceUnderTest } from '../../support/service-under-test.ts';
import type { FakeCoordinator } from './fake-coordinator.ts';
import { type Result, runCli } from './run-cli.ts';

const START_MS = Date.parse('2026-03-02T22:00:00Z');
const HOUR_MS = 3_600_000;
const MICROS = 1_000_000n;

let database: TestDatabase;
let service: ServiceUnderTest;
let rpc: RpcClient;
let keyCount = 0;

function key(): { idempotencyKey: string } {
  keyCount += 1;
  return { idempotencyKey: `k${keyCount}` };
}

async function spend(budget: string, units: bigint, also: string[] = []): Promise<void> {
  const maxMicros = units * MICROS;
  const { reservation } = await rpc.call(ReservationService.method.reserve, { budget, also, maxMicros, ...key() });
  const cost = { case: 'actualMicros', value: maxMicros } as const;
  const reservationId = reservation?.reservationId ?? '';
  await rpc.call(ReservationService.method.settle, { reservationId, cost, ...key() });
}

beforeAll(async () => {
  database = await createDatabase();
  // The same after a restart, as for a service that is replaced.
  const environment = { BUDGETD_GRPC_PORT: String(await freePort()) };
  service = await ServiceUnderTest.start({ databaseUrl: database.url, clockMs: START_MS, environment });
  rpc = createRpcClient(service.grpcPort);
  while ((await rpc.health()) !== 'SERVING') await delay(20);
  const limits = [{ amountMicros: 10n * MICROS }];
  await rpc.call(BudgetService.method.createBudget, {
    budget: { budget: 'acme', limits, enforcement: { mode: Mode.WARN }, childTemplate: { kind: 'run' } },
    ...key(),
  });
  for (const [run, ...costs] of [
    ['run-1', 1n, 2n],
    ['run-2', 4n],
  ] as const) {
    for (const cost of costs) {
      await spend(`acme/${run}`, cost);
      await service.moveClock(service.nowMs + 60_000);
    }
  }
  await service.moveClock(START_MS + 3 * HOUR_MS);
  await spend('acme/run-3', 6n);
});

afterAll(async () => {
  rpc.close();
  await service.kill();
  await database.drop();
});

const run = (...words: readonly string[]): Promise<Result> => {
  const at = { address: `127.0.0.1:${service.grpcPort}` } as FakeCoordinator;
  return runCli(at, words);
};

describe('watch', () => {
  it('prints what happened, a line each', async () => {
    const { exitCode, stdout } = await run('watch', 'acme', '--from-beginning', '--once');
    expect(exitCode).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toBe('2026-03-02 22:00:00Z  created    acme');
    expect(lines[1]).toBe('2026-03-02 22:00:00Z  created    acme/run-1');
    expect(lines[2]).toMatch(/^2026-03-02 22:00:00Z {2}granted {4}acme\/run-1 {2}acme:[0-9a-z]+, held 1 USD$/);
    expect(lines[3]).toMatch(/settled {4}acme\/run-1 {2}acme:[0-9a-z]+, settled 1 USD$/);
    expect(stdout).toMatch(/WARNING {4}acme\/run-3 {2}acme:[0-9a-z]+: BUDGET_EXHAUSTED by acme if it were enforced/);
    expect(stdout).toMatch(/ALERT {6}acme {2}lifetime has reached 80%: 13 USD of 10 USD, nothing is left/);
  });

  it('prints JSON, a line each, of the kinds asked for, and goes on after a cursor', async () => {
    const words = ['watch', 'acme', '--once', '--json', '--kind', 'alert', '--kind', 'warning'];
    const { stdout } = await run(...words, '--from-beginning');
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; cursor: string });
    expect(events.map(({ kind }) => kind)).toEqual(['EVENT_KIND_WARNING', 'EVENT_KIND_ALERT', 'EVENT_KIND_ALERT']);
    const rest = await run(...words, '--cursor', events[0]?.cursor ?? '');
    expect(rest.stdout.trim().split('\n')).toEqual(stdout.trim().split('\n').slice(1));
  });

  it('says that a budget is not there yet, and with --once ends as not found', async () => {
    expect(await run('watch', 'acmee', '--from-beginning', '--once')).toMatchObject({
      exitCode: 5,
      stdout: '',
      stderr: 'error: no budget acmee, and nothing has happened to it\n',
    });
    const told: string[] = [];
    const err = (text: string): void => {
      told.push(text);
      // The command never ends by itself.
      if (told.length === 1) throw new Error('enough');
    };
    const terminal = { columns: undefined, out: () => undefined, err, paint: (_tone: string, text: string) => text };
    const address = { address: `127.0.0.1:${service.grpcPort}` } as FakeCoordinator;
    await runCli(address, ['watch', 'acmee'], { terminal });
    expect(told[0]).toBe('no budget acmee yet: waiting for it');
  });

  it('goes on by itself when its server stops', { timeout: 60_000 }, async () => {
    const lines: string[] = [];
    const terminal = {
      columns: undefined,
      out: (text: string) => {
        lines.push(text);
        // The command never ends by itself.
        if (text.endsWith('lab/end')) throw new Error('enough');
      },
      err: () => undefined,
      paint: (_tone: string, text: string) => text,
    };
    const address = { address: `127.0.0.1:${service.grpcPort}` } as FakeCoordinator;
    const watching = runCli(address, ['watch', 'lab', '--from-beginning', '--kind', 'created'], { terminal });
    await rpc.call(BudgetService.method.createBudget, { budget: { budget: 'lab', uncapped: true }, ...key() });
    while (lines.length < 1) await delay(20);
    rpc.close();
    await service.stop();
    await service.restart();
    rpc = createRpcClient(service.grpcPort);
    while ((await rpc.health()) !== 'SERVING') await delay(20);
    await rpc.call(BudgetService.method.createBudget, { budget: { budget: 'lab/a', uncapped: true }, ...key() });
    await rpc.call(BudgetService.method.createBudget, { budget: { budget: 'lab/end', uncapped: true }, ...key() });
    await watching;
    expect(lines.map((line) => line.split('  ').at(-1))).toEqual(['lab', 'lab/a', 'lab/end']);
  });
});

describe('advise', () => {
  it('sizes limits from runs and from days', async () => {
    const { stdout } = await run('advise', 'acme');
    expect(stdout).toBe(`COST PER                  COUNT  P50  P95  P99  MAX  TOTAL  UNIT
────────────────────────  ─────  ───  ───  ───  ───  ─────  ────
run (budget right below)      3    4    6    6    6     13  USD
day (UTC)                     2    6    7    7    7     13  USD
`);
  });

  it('says what a limit would have refused', async () => {
    expect((await run('advise', 'acme', '--limit', '3')).stdout).toContain(
      'A limit of 3 USD a run: 2 of 3 runs went past it, by 4 USD in all.',
    );
    expect((await run('advise', 'acme', '--limit', '6/day')).stdout).toContain(
      'A limit of 6 USD/day: 1 of 4 reservations would have been refused, which cost 4 USD, the first at 2026-03-02T22:02:00.000Z; the most at once was 6 USD.',
    );
    expect((await run('advise', 'acme', '--limit', '13/lifetime')).stdout).toContain('0 of 4 reservations');
  });

  it('prints JSON, days in the zone asked for', async () => {
    const { stdout } = await run('advise', 'acme', '--json', '--tz', 'Asia/Tokyo', '--limit', '12 USD/day@Asia/Tokyo');
    expect(JSON.parse(stdout)).toMatchObject({
      runsAre: 'budgets',
      runs: { count: 3, p50Micros: '4000000', maxMicros: '6000000' },
      days: { count: 1, maxMicros: '13000000' },
      limit: { kind: 'window', window: 'day@Asia/Tokyo', refusedCount: 1, refusedMicros: '6000000' },
      truncated: false,
    });
  });

  describe('of a budget that is charged by "also"', () => {
    beforeAll(async () => {
      const create = (budget: string, terms: object = {}) =>
        rpc.call(BudgetService.method.createBudget, { budget: { budget, uncapped: true, ...terms }, ...key() });
      await create('dims', { limits: [{ amountMicros: 20n * MICROS }], uncapped: false });
      await create('dims/work');
      await create('dims/people');
      await create('dims/people/maya', { kind: 'run' });
      await create('dims/people/noor', { kind: 'run' });
      await spend('dims/work', 3n, ['dims/people/maya', 'dims/people/noor']);
      await spend('dims/work', 5n, ['dims/people/maya']);
      await spend('dims/work', 7n);
    });

    it('counts what names it and what does not, once for each budget', async () => {
      const maya = await run('advise', 'dims/people/maya', '--limit', '4/lifetime');
      expect(maya.stderr).toBe('');
      expect(maya.stdout).toMatch(/run \(reservation\) +2 +3 +5 +5 +5 +8 +USD/);
      expect(maya.stdout).toContain('1 of 2 reservations would have been refused, which cost 5 USD');
      const { stdout } = await run('advise', 'dims/people');
      expect(stdout).toMatch(/run \(budget right below\) +2 +3 +8 +8 +8 +11 +USD/);
      expect(stdout).toMatch(/day \(UTC\) +1 +8 +8 +8 +8 +8 +USD/);
      expect((await run('advise', 'dims')).stdout).toMatch(/run \(reservation\) +3 +5 +7 +7 +7 +15 +USD/);
    });

    it('leaves out those that never got a hold: they wait, or left the queue', async () => {
      const budget = 'dims/work';
      const full = { budget, maxMicros: 5n * MICROS, ...key() };
      const { reservation } = await rpc.call(ReservationService.method.reserve, full);
      const waiting = { budget, maxMicros: 9n * MICROS, maxWait: { seconds: 600n, nanos: 0 }, ...key() };
      const given = rpc.call(ReservationService.method.reserve, waiting).catch((error: unknown) => error);
      const queue = async () => (await run('reservations', budget, '--state', 'queued', '--json')).stdout;
      while (!(await queue()).includes('RESERVATION_STATE_QUEUED')) await delay(20);
      const counted = async () => (await run('advise', budget, '--limit', '100/lifetime')).stdout;
      expect(await counted()).toContain('0 of 4 reservations');
      const id = JSON.parse(await queue()).reservations[0].reservationId as string;
      await rpc.call(ReservationService.method.release, { reservationId: id, ...key() });
      await given;
      expect(await counted()).toContain('0 of 4 reservations');
      const reservationId = reservation?.reservationId ?? '';
      await rpc.call(ReservationService.method.release, { reservationId, ...key() });
    });
  });

  it('takes each reservation for a run where no child is one', async () => {
    const { stdout } = await run('advise', 'acme/run-1', '--limit', '1');
    expect(stdout).toContain('run (reservation)');
    expect(stdout).toContain('A limit of 1 USD a run: 1 of 2 runs went past it, by 1 USD in all.');
  });

  it.each([
    [['--tz', 'Mars/Olympus'], 'Mars/Olympus'],
    [['--limit', '5/day@Mars/Olympus'], 'Mars/Olympus'],
    [['--limit', '5 INR'], 'INR'],
  ])('says what is wrong with %j', async (words, named) => {
    const { exitCode, stderr } = await run('advise', 'acme', ...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(named);
  });
});
