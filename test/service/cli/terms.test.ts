// Windows, rates, bounds, templates and several dimensions on the command line: words in, requests on the wire, text out.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toJson } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BudgetService, CreateBudgetRequestSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService, ReserveRequestSchema } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { type FakeCoordinator, Refuse, startFakeCoordinator } from './fake-coordinator.ts';
import { rich } from './rich-budget.ts';
import { acme, availability, ID, type Result, reservation, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (...words: readonly string[]): Promise<Result> => runCli(fake, words);

describe('create', () => {
  it('sends windows, rates, bounds and a template', async () => {
    fake.answer(BudgetService.method.createBudget, () => ({ budget: rich }));
    const limits = ['--limit', '10 USD', '--limit', 'mine=4/day@Asia/Tokyo', '--limit', '3 USD/rolling:1h30m'];
    const range = ['--limit', '9/range:2026-03-01..2026-04-01T12:00:00Z'];
    const rates = ['--rate', '60 requests/1m', '--rate', '1000 tokens/1m burst 5000'];
    const bounds = ['--max-reservation', '2.5', '--max-active', '20', '--max-children', '0', '--max-depth', '2'];
    const times = ['--max-lease', '10m', '--max-renewals', '3', '--close-after', '7d', '--overrun', 'reject'];
    const template = ['--child-template', '{"kind": "run", "limits": [{"amountMicros": "2000000"}]}'];
    const { exitCode, stderr } = await run(
      ...['create', 'acme', '--key', 'k', ...limits, ...range, ...rates, ...bounds, ...times, ...template],
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(toJson(CreateBudgetRequestSchema, fake.requestOf(BudgetService.method.createBudget))).toEqual({
      idempotencyKey: 'k',
      budget: {
        budget: 'acme',
        unit: 'USD',
        limits: [
          { amountMicros: '10000000' },
          {
            name: 'mine',
            amountMicros: '4000000',
            window: { calendar: { unit: 'CALENDAR_UNIT_DAY', timeZone: 'Asia/Tokyo' } },
          },
          { amountMicros: '3000000', window: { rolling: { duration: '5400s' } } },
          {
            amountMicros: '9000000',
            window: { range: { startTime: '2026-03-01T00:00:00Z', endTime: '2026-04-01T12:00:00Z' } },
          },
        ],
        rates: [
          { kind: 'RATE_KIND_REQUESTS', count: '60', per: '60s' },
          { kind: 'RATE_KIND_TOKENS', count: '1000', per: '60s', burst: '5000' },
        ],
        shape: {
          maxReservationMicros: '2500000',
          maxActive: 20,
          maxChildren: 0,
          maxDepth: 2,
          maxLease: '600s',
          maxRenewals: 3,
          closeAfter: '604800s',
        },
        overrun: 'OVERRUN_POLICY_REJECT',
        childTemplate: { kind: 'run', limits: [{ amountMicros: '2000000' }] },
      },
    });
  });

  it('says what a rate may count, and per what', async () => {
    const { stderr } = await run('create', 'acme', '--rate', '60/m');
    expect(stderr).toContain('it counts requests, tokens, tool_calls, per a time such as 1s, 1m, 1h, 1d');
  });

  it('reads a template from a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'budgetctl-'));
    try {
      const file = join(folder, 'run.json');
      writeFileSync(file, '{"uncapped": true, "childTemplate": {"kind": "step"}}');
      fake.answer(BudgetService.method.createBudget, () => ({ budget: acme }));
      expect(await run('create', 'acme', '--limit', '1', '--child-template', file)).toMatchObject({ exitCode: 0 });
      const { budget } = fake.requestOf(BudgetService.method.createBudget);
      expect(budget?.childTemplate).toMatchObject({ uncapped: true, childTemplate: { kind: 'step' } });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    ['--limit', '10/year'],
    ['--limit', '10/'],
    ['--limit', '10/rolling:60'],
    ['--rate', '60/m'],
    ['--max-active', '-1'],
    ['--max-active', '2147483648'],
    ['--max-lease', '60'],
    ['--max-reservation', '1e3'],
    ['--overrun', 'ignore'],
    ['--child-template', '{"knd": 1}'],
    ['--child-template', '/no/such/file'],
  ])('refuses %s %s before anything is sent', async (option, value) => {
    expect(await run('create', 'acme', `${option}=${value}`)).toMatchObject({ exitCode: 2, stdout: '' });
    expect(fake.received).toEqual([]);
  });
});

describe('reserve and settle', () => {
  it('charge several budgets, and say what the work will use', async () => {
    fake.answer(ReservationService.method.reserve, () => ({
      reservation: reservation({ also: ['acme/maya', 'acme/big'] }),
      availability,
    }));
    const also = ['--also', 'acme/maya', '--also', 'acme/big'];
    const { stdout } = await run(
      ...['reserve', 'acme/triage', '0.3', ...also, '--tokens', '5000000000', '--tool-calls', '0', '--key', 'k'],
    );
    expect(stdout).toContain('also         acme/maya acme/big\n');
    expect(toJson(ReserveRequestSchema, fake.requestOf(ReservationService.method.reserve))).toEqual({
      budget: 'acme/triage',
      idempotencyKey: 'k',
      maxMicros: '300000',
      also: ['acme/maya', 'acme/big'],
      tokens: '5000000000',
      toolCalls: '0',
    });
  });

  it('ask the nearest budget above for the unit of one that does not exist yet', async () => {
    const known = new Set(['acme', 'acme/triage']);
    fake.answer(BudgetService.method.getBudget, ({ budget }) => {
      if (known.has(budget)) return { budget: acme };
      throw new Refuse(status.NOT_FOUND, 'BUDGET_NOT_FOUND', `no budget ${budget}`, { metadata: { budget } });
    });
    fake.answer(ReservationService.method.reserve, () => ({ reservation: reservation(), availability }));
    expect(await run('reserve', 'acme/triage/run-7/step', '0.3 USD')).toMatchObject({ exitCode: 0 });
    expect(await run('reserve', 'acme/triage/run-7', '0.3 INR')).toMatchObject({ exitCode: 2 });
    const nowhere = await run('reserve', 'other/run', '0.3 USD');
    expect(nowhere).toMatchObject({ exitCode: 5 });
    expect(nowhere.stderr).toContain('no budget other/run');
  });

  it('tell the amounts of a refusal in units', async () => {
    const metadata = { budget: 'acme', unit: 'USD', available: '200000', requested: '300000' };
    const told = async (reason: string, message: string): Promise<string> => {
      fake.answer(ReservationService.method.settle, () => {
        throw new Refuse(status.FAILED_PRECONDITION, reason, message, { metadata });
      });
      return (await run('settle', ID, '0.3')).stderr.split('\n')[0] ?? '';
    };
    expect(await told('MAX_RESERVATION_EXCEEDED', 'one reservation on acme may come to 200000, not to 300000')).toBe(
      'MAX_RESERVATION_EXCEEDED: one reservation on acme may come to 0.2 USD, not to 0.3 USD',
    );
    expect(
      await told(
        'IMPLAUSIBLE_AMOUNT',
        '300000 is more than 1000 times the 2 that were granted; confirm it if it is right',
      ),
    ).toBe(
      'IMPLAUSIBLE_AMOUNT: 0.3 USD is more than 1000 times the 0.000002 USD that were granted; confirm it if it is right',
    );
  });

  it('stand by an amount only where told to', async () => {
    fake.answer(ReservationService.method.settle, () => ({ reservation: reservation(), availability }));
    await run('settle', ID, '512');
    await run('settle', ID, '512', '--confirm');
    expect(fake.received.map(({ request }) => (request as { confirmAmount: boolean }).confirmAmount)).toEqual([
      false,
      true,
    ]);
  });

  it('tell what a rate allows and when to try again', async () => {
    const metadata = {
      budget: 'acme',
      rate_kind: 'tokens',
      rate_count: '1000',
      rate_per_ms: '60000',
      rate_burst: '5000',
      rate_available: '12',
      rate_requested: '400',
    };
    const message = 'the rate of acme (1000 tokens in 60000 ms, at most 5000 at once) does not hold what it uses yet';
    fake.answer(ReservationService.method.reserve, () => {
      throw new Refuse(status.RESOURCE_EXHAUSTED, 'RATE_LIMITED', message, { metadata, retryAfterMs: 23_280 });
    });
    const { exitCode, stderr } = await run('reserve', 'acme', '1', '--tokens', '400', '--key', 'k');
    expect(exitCode).toBe(3);
    expect(stderr).toContain('the rate of acme (1000 tokens/1m burst 5000) does not hold');
    expect(stderr).toContain('  rate           1000 tokens/1m burst 5000\n');
    expect(stderr).toContain('  rate available 12\n  rate requested 400\n');
    expect(stderr).toContain('Retry after 24s.');
    expect(stderr).toContain('budgetctl update --rate');
  });
});

describe('what people see', () => {
  it('get shows windows with their periods, rates with what is left, bounds and templates', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: rich }));
    const { stdout } = await run('get', 'acme');
    expect(stdout.split('\n')).toEqual([
      'budget                acme',
      'kind                  tenant',
      'owner                 finance',
      'labels                area=x env=prod',
      'state                 active',
      'overruns              reject',
      'rates                 60 requests/1m (57 left)',
      '                      1000 tokens/1m burst 5000 (0 left)',
      'bounds                reservation ≤ 2.5 USD, active ≤ 20',
      'template              run, 2 USD/lifetime, closes after 1d idle > step, uncapped',
      'limit day:Asia/Tokyo  day@Asia/Tokyo, now from 2026-03-01 15:00:00Z to 2026-03-02 15:00:00Z, 4 + 1 USD topped up until 2026-03-02 15:00:00Z',
      'limit brake           rolling:1h30m',
      'available             7.5 USD, bound by acme lifetime',
      'settled               2 USD in all',
      'held                  0.5 USD by 2 live',
      'children              3 open',
      'revision              3',
      'created               2026-03-02 09:00:00Z',
      '',
      expect.stringMatching(/^BUDGET +LIMIT +SETTLED +HELD +AVAILABLE +OF +UNIT +PERIOD ENDS$/),
      expect.any(String),
      expect.stringMatching(/^acme +lifetime +.* 10 +USD$/),
      expect.stringMatching(/^ +day:Asia\/Tokyo +.* 4 +5 +USD +2026-03-02 15:00:00Z$/),
      expect.stringMatching(/^ +brake +.* 3 +3 +USD$/),
      '',
      expect.any(String),
      '',
    ]);
  });

  it('get shows a range as it is, whether or not it is now', async () => {
    const bounds = { startTime: timestampFromMs(Date.UTC(2020, 0, 1)), endTime: timestampFromMs(Date.UTC(2021, 0, 1)) };
    const fixed = { name: 'launch', amountMicros: 1n, window: { kind: { case: 'range', value: bounds } } } as const;
    const { startTime: periodStartTime, endTime: periodEndTime } = bounds;
    const balances = [{ limit: 'launch', amountMicros: 1n, periodStartTime, periodEndTime }];
    fake.answer(BudgetService.method.getBudget, () => ({ budget: { ...rich, limits: [fixed], balances } }));
    expect((await run('get', 'acme')).stdout).toContain('limit launch  range:2020-01-01..2021-01-01\n');
  });

  it('tree notes rates and bounds, and when periods end', async () => {
    fake.answer(BudgetService.method.listBudgets, () => ({ budgets: [rich] }));
    const { stdout } = await run('tree');
    expect(stdout).toMatch(/^BUDGET +LIMIT +SETTLED +HELD +AVAILABLE +OF +UNIT +PERIOD ENDS +NOTE$/m);
    expect(stdout).toMatch(/^acme +lifetime .* USD +60 requests\/1m \(57 left\), .*, active ≤ 20$/m);
    expect(stdout).toMatch(/^ +day:Asia\/Tokyo .* USD +2026-03-02 15:00:00Z$/m);
  });

  it('help gives examples', async () => {
    const { stdout } = await run('create', '--help');
    expect(stdout).toContain('$ budgetctl create acme --limit "1000 USD/month@Europe/Amsterdam"');
    expect(stdout).toContain('--child-template');
    expect((await run('update', '--help')).stdout).toContain('$ budgetctl update acme/triage --max-active 20');
    expect((await run('reserve', '--help')).stdout).toContain('--also acme/people/maya');
  });
});
