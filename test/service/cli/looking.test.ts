// The commands that look: tree, top, reservations, status and verify.
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliContext } from '../../../src/app/cli/session.ts';
import { ConfigError } from '../../../src/app/config.ts';
import { OperatorError } from '../../../src/app/operator-error.ts';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService, ReservationState } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../../src/gen/budgetd/v1/server_info_pb.ts';
import { StoreUnavailableError } from '../../../src/store/port.ts';
import { type FakeCoordinator, Refuse, startFakeCoordinator } from './fake-coordinator.ts';
import { acme, ID, nowMs, type Result, reservation, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (words: readonly string[], change: Partial<CliContext> = {}): Promise<Result> =>
  runCli(fake, words, change);

describe('looking around', () => {
  beforeEach(() => {
    fake.answer(ServerInfoService.method.getServerInfo, () => ({ time: timestampFromMs(nowMs + 20_000) }));
  });

  it('tree draws all pages, and says when it stopped', async () => {
    fake.answer(BudgetService.method.listBudgets, ({ pageToken }) =>
      pageToken === ''
        ? { budgets: [acme], nextPageToken: 'p2' }
        : { budgets: [{ ...acme, budget: 'acme/triage' }], nextPageToken: 'p3' },
    );
    const { stdout, stderr, exitCode } = await run(['tree', 'acme', '--max-rows', '2']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      '\nacme       ████▓░░░░░░░░░░░░░░░        2   0.5        7.5  10  USD\n└─ triage  ████▓░░░',
    );
    expect(stderr).toBe('There are more than the 2 shown: name a budget further down or raise --max-rows.\n');
    expect(fake.received.map((call) => call.request)).toMatchObject([
      { parent: 'acme', recursive: true, pageSize: 2, pageToken: '' },
      { parent: 'acme', recursive: true, pageSize: 1, pageToken: 'p2' },
    ]);
  });

  it('tree --depth counts from the budget that was named', async () => {
    const paths = ['acme/a', 'acme/a/b', 'acme/a/b/c', 'acme/a/b/c/d'];
    fake.answer(BudgetService.method.listBudgets, () => ({ budgets: paths.map((budget) => ({ ...acme, budget })) }));
    const shown = async (depth: string): Promise<string[]> => {
      const { stdout } = await run(['tree', 'acme/a', '--depth', depth, '--json']);
      return JSON.parse(stdout).budgets.map((budget: { budget: string }) => budget.budget);
    };
    expect(await shown('1')).toEqual(paths.slice(0, 1));
    expect(await shown('3')).toEqual(paths.slice(0, 3));
    expect(fake.received.map((call) => call.request)).toMatchObject([{ recursive: false }, { recursive: true }]);
  });

  it('tree without a budget in it says how to make one', async () => {
    fake.answer(BudgetService.method.listBudgets, () => ({}));
    expect((await run(['tree'])).stdout).toBe('No budgets. Make one: budgetctl create acme --limit "1000 USD"\n');
  });

  it('top adds up the live holds of all trees', async () => {
    fake.answer(BudgetService.method.listBudgets, () => ({ budgets: [acme, { ...acme, budget: 'beta' }] }));
    fake.answer(ReservationService.method.listReservations, ({ budget, pageToken }) =>
      budget === 'acme' && pageToken === ''
        ? { reservations: [reservation()], nextPageToken: 'p2' }
        : { reservations: [reservation({ heldMicros: 100_000n }), reservation({ holder: 'other', heldMicros: 1n })] },
    );
    const { stdout, stderr } = await run(['top']);
    expect(stdout.split('\n')).toEqual([
      'HOLDER    HOLDS      HELD  SETTLED SO FAR  UNIT  OLDEST  NEXT LEASE ENDS',
      '────────  ─────  ────────  ──────────────  ────  ──────  ───────────────',
      'worker-7      3  0.45                   0  USD      20s           in 40s',
      'other         2  0.000002               0  USD      20s           in 40s',
      '',
    ]);
    expect(stderr).toBe('');
    const asked = fake.received.filter((call) => call.method === 'ListReservations').map((call) => call.request);
    expect(asked).toMatchObject([
      { budget: 'acme', state: ReservationState.ACTIVE, pageToken: '' },
      { budget: 'acme', state: ReservationState.ACTIVE, pageToken: 'p2' },
      { budget: 'beta', state: ReservationState.ACTIVE, pageToken: '' },
    ]);
  });

  it('reservations filters, measures leases by the coordinator, and disarms what others wrote', async () => {
    const evil = reservation({ holder: 'x\u001b[2J\nacme' });
    fake.answer(ReservationService.method.listReservations, () => ({ reservations: [evil], nextPageToken: 'more' }));
    const words = [
      'reservations',
      'acme',
      '--state',
      'active',
      '--holder',
      'x',
      '--max-rows',
      '1',
      '--page-token',
      'p1',
    ];
    const { stdout, stderr } = await run(words);
    expect(stdout.split('\n').slice(2)).toEqual([
      `${ID}  acme/triage  active     0.25  0.25        0  USD   x\ufffd[2J\ufffdacme  in 40s`,
      '',
    ]);
    expect(stderr).toBe('There are more than the 1 shown: go on with --page-token more.\n');
    expect(fake.requestOf(ReservationService.method.listReservations)).toMatchObject({
      budget: 'acme',
      state: ReservationState.ACTIVE,
      holder: 'x',
      pageSize: 1,
      pageToken: 'p1',
    });
  });

  it('advise counts what may be looked at, and says so where that is not the whole tree', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(BudgetService.method.listBudgets, () => ({ budgets: [] }));
    fake.answer(ReservationService.method.listReservations, ({ budget }) => {
      if (budget === 'acme') throw new Refuse(status.PERMISSION_DENIED, 'FORBIDDEN', 'not your subtree');
      return { reservations: [reservation({ state: ReservationState.SETTLED, settledMicros: 200_000n })] };
    });
    const { exitCode, stdout, stderr } = await run(['advise', 'acme/triage']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('run (reservation)      1');
    expect(stderr).toBe('What charges acme/triage by "also" is not in it: you may not look at the whole tree.\n');
    expect(await run(['advise', 'acme'])).toMatchObject({ exitCode: 4, stdout: '' });
  });

  it('--charged finds those that charge a budget by also, all over the tree, and shows what they charge', async () => {
    const besides = reservation({ budget: 'acme/chat/run-1', also: ['acme/maya/day', 'acme/big'] });
    const other = reservation({ budget: 'acme/mayas', holder: 'other' });
    fake.answer(ReservationService.method.listReservations, ({ budget }) => ({
      reservations: budget === 'acme' ? [besides, other] : [],
    }));
    expect((await run(['reservations', 'acme/maya', '--charged'])).stdout.split('\n').slice(0, 4)).toEqual([
      expect.stringMatching(/^RESERVATION +BUDGET +ALSO +STATE/),
      expect.any(String),
      expect.stringMatching(/^\S+ +acme\/chat\/run-1 +acme\/maya\/day acme\/big +active/),
      '',
    ]);
    expect((await run(['top', 'acme/maya', '--charged'])).stdout).toMatch(/^worker-7 +1 /m);
    expect((await run(['reservations', 'acme/small', '--charged'])).stdout).toBe(
      'No reservations charge acme/small.\n',
    );
    expect((await run(['top', 'acme/maya'])).stdout).toBe(
      'No live reservations name acme/maya or a budget below it; --charged finds those that charge it by "also".\n',
    );
  });
});

describe('status', () => {
  const well = {
    version: '0.1.0',
    leader: true,
    leaderAddress: '127.0.0.1:50051',
    leaderEpoch: 7n,
    databaseVersion: '18.4',
    databaseKind: 'embedded',
    schemaVersion: 3,
    projectionLag: { seconds: 0n, nanos: 250_000_000 },
    time: timestampFromMs(nowMs),
  };

  it('shows a coordinator that is well', async () => {
    fake.answer(ServerInfoService.method.getServerInfo, () => ({
      ...well,
      uncappedBudgets: ['lab'],
      waitingCount: 2n,
    }));
    expect(await run(['status'])).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: `server        ${fake.address}, budgetd 0.1.0
health        SERVING
writer        this one, epoch 7
database      PostgreSQL 18.4 (embedded), schema 3
reads behind  250ms
commands      0 queued to be decided
for room      2 waiting (budgetctl queue BUDGET)
clock         2026-03-02 09:00:00Z

! without any limit: lab
✓ serving; nothing stops it
`,
    });
  });

  it('fails where one service is not serving, and names everything that is wrong', async () => {
    fake.setHealth(BudgetService.typeName, 'NOT_SERVING');
    fake.answer(ServerInfoService.method.getServerInfo, () => ({
      ...well,
      quarantinedTrees: ['acme'],
      databaseVersion: '',
    }));
    const { exitCode, stdout } = await run(['doctor']);
    expect(exitCode).toBe(6);
    expect(stdout.split('\n').filter((line) => line.startsWith('✗'))).toEqual([
      '✗ health is NOT_SERVING: new work is refused',
      '✗ the database cannot be reached',
      '✗ out of service because their records do not agree: acme (run budgetctl verify)',
    ]);
    expect(stdout).not.toContain('✓');
  });

  it('tells programs the same', async () => {
    fake.setHealth('', 'NOT_SERVING');
    fake.answer(ServerInfoService.method.getServerInfo, () => well);
    const { exitCode, stdout } = await run(['status', '--json']);
    expect(exitCode).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({
      info: { leaderEpoch: '7', leader: true, projectionLag: '0.250s' },
      health: { '': 'NOT_SERVING', 'budgetd.v1.BudgetService': 'SERVING' },
      problems: ['health is NOT_SERVING: new work is refused'],
      warnings: [],
    });
  });
});

describe('verify', () => {
  it('passes on what it was given and ends well', async () => {
    const asked: unknown[] = [];
    const result = await run(['verify', '--tree', 'acme'], {
      environment: { DATABASE_URL: 'postgres://db/x' },
      runVerify: ({ log, ...options }) => {
        asked.push(options);
        log('reading acme');
        return Promise.resolve({ ok: true, differences: [], trees: 1, entries: 42 });
      },
    });
    expect(asked).toEqual([{ databaseUrl: 'postgres://db/x', tree: 'acme' }]);
    expect(result).toEqual({
      exitCode: 0,
      stdout: '✓ everything agrees with the journal: 1 tree, 42 journal entries\n',
      stderr: 'reading acme\n',
    });
  });

  it('fails on any difference, for people and for programs', async () => {
    const found = { ok: false, differences: ['acme: held 5, must be 4'], trees: 1, entries: 42 };
    const runVerify = (): Promise<typeof found> => Promise.resolve(found);
    const people = await run(['verify'], { runVerify });
    expect(people.exitCode).toBe(1);
    expect(people.stdout).toMatch(/^✗ acme: held 5, must be 4\n1 difference from the journal/);
    const programs = await run(['verify', '--json'], { runVerify });
    expect(programs.exitCode).toBe(1);
    expect(JSON.parse(programs.stdout)).toEqual(found);
  });

  it.each([
    [new OperatorError('there is no database'), 2],
    [new ConfigError(['BUDGETD_GRACE=x']), 2],
    [new StoreUnavailableError('the store is unavailable'), 6],
  ])('says in one line what kept it from looking: %s', async (error, exitCode) => {
    const listQuarantine = (): Promise<never> => Promise.reject(error);
    const repairs = { listQuarantine, rebuildProjection: listQuarantine, clearQuarantine: listQuarantine };
    const runVerify = (): Promise<never> => Promise.reject(error);
    const expected = { exitCode, stdout: '', stderr: `error: ${error.message}\n` };
    expect(await run(['verify'], { runVerify })).toEqual(expected);
    expect(await run(['quarantine'], { repairs })).toEqual(expected);
    expect(await run(['project', '--rebuild', 'acme'], { repairs })).toEqual(expected);
  });
});
