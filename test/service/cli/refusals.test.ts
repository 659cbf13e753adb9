// Each way in which a call can fail: what a person and a program are told, and the exit code.
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { invalidFields } from '../../../src/api/api-refusal.ts';
import { checkMinMicros, type Problems } from '../../../src/api/validate/problems.ts';
import type { CliContext } from '../../../src/app/cli/session.ts';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { parsePath } from '../../../src/kernel/names.ts';
import { type FakeCoordinator, NeverAnswer, Refuse, startFakeCoordinator } from './fake-coordinator.ts';
import { acme, ID, type Result, runCli } from './run-cli.ts';

const CHANGES = { ...ReservationService.method, ...BudgetService.method };

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (words: readonly string[], change: Partial<CliContext> = {}): Promise<Result> =>
  runCli(fake, words, change);

describe('refusals', () => {
  it('says which limit, how much is left, what was asked, and what to do', async () => {
    fake.answer(ReservationService.method.reserve, () => {
      throw new Refuse(status.RESOURCE_EXHAUSTED, 'CAPACITY_HELD', 'live holds leave 0.1', {
        metadata: { budget: 'acme', limit: 'lifetime', available: '100000', requested: '250000', unit: 'USD' },
        failing: [
          { subject: 'acme:lifetime', description: '100000 of 9000000 available' },
          { subject: 'acme/triage:lifetime', description: 'in words of its own' },
        ],
        retryAfterMs: 2_000,
      });
    });
    expect(await run(['reserve', 'acme/triage', '0.25', '--key', 'k'])).toEqual({
      exitCode: 3,
      stdout: '',
      stderr: `CAPACITY_HELD: live holds leave 0.1
  budget         acme
  limit          lifetime
  available      0.1 USD (100000 micros)
  requested      0.25 USD (250000 micros)
  unit           USD
  failing        acme:lifetime: 0.1 of 9 USD available
                 acme/triage:lifetime: in words of its own
  → Live reservations hold it: wait, ask for less, or accept less with --min, or see who holds what (budgetctl top). What is kept for others of it: budgetctl tree acme.
  → Retry after 2s.
  → To repeat it without a double effect add --key k.
`,
    });
  });

  it('tells programs the same on standard error, and nothing on standard output', async () => {
    fake.answer(ReservationService.method.extend, () => {
      throw new Refuse(status.RESOURCE_EXHAUSTED, 'BUDGET_EXHAUSTED', 'spent', {
        metadata: { budget: 'acme', available: '0' },
        failing: [{ subject: 'acme lifetime', description: 'none left' }],
      });
    });
    const { exitCode, stdout, stderr } = await run(['--json', 'extend', ID, '1', '--key', 'k 1']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'RESOURCE_EXHAUSTED',
        reason: 'BUDGET_EXHAUSTED',
        message: 'spent',
        metadata: { budget: 'acme', available: '0' },
        failing: [{ subject: 'acme lifetime', description: 'none left' }],
        fields: [],
        exitCode: 3,
      },
      // It is final.
      repeatOptions: [],
    });
    fake.answer(ReservationService.method.extend, () => {
      throw new Refuse(status.RESOURCE_EXHAUSTED, 'BUDGET_EXHAUSTED', 'spent for now', { retryAfterMs: 500 });
    });
    const waiting = await run(['--json', 'extend', ID, '1', '--key', 'k 1']);
    expect(JSON.parse(waiting.stderr)).toMatchObject({ repeatOptions: ['--key', 'k 1'] });
  });

  it.each<[status, string, number, string]>([
    [status.INVALID_ARGUMENT, 'INVALID_FIELD', 2, '  field          --limit: twice the same name'],
    [
      status.RESOURCE_EXHAUSTED,
      'BUDGET_EXHAUSTED',
      3,
      '  → The same request with --key k may get this same answer again',
    ],
    [status.FAILED_PRECONDITION, 'EXCEEDS_LIMIT', 4, "  → This can't fit as the budgets stand"],
    [status.FAILED_PRECONDITION, 'BUDGET_SUSPENDED', 4, '  → Resume it: budgetctl resume.'],
    [status.ALREADY_EXISTS, 'IDEMPOTENCY_KEY_REUSED', 4, '  → The key belongs to another request: use a new --key.'],
    [status.PERMISSION_DENIED, 'FORBIDDEN', 4, "  → An agent's token may reserve"],
    [status.ALREADY_EXISTS, 'BUDGET_EXISTS', 4, '  → A budget of this name exists: see budgetctl get.'],
    [status.RESOURCE_EXHAUSTED, 'CAPACITY_HELD', 3, '  → Its own hold is in the way, so waiting does not help'],
    [status.UNAUTHENTICATED, 'UNAUTHENTICATED', 4, '  → Give a token: --token or BUDGETD_TOKEN.'],
    [
      status.NOT_FOUND,
      'BUDGET_NOT_FOUND',
      5,
      '  → List what there is: budgetctl tree. A reserve makes a budget only where',
    ],
    [status.ABORTED, 'ETAG_MISMATCH', 4, '  → Someone else edited the budget meanwhile'],
    [status.RESOURCE_EXHAUSTED, 'OVERLOADED', 6, '  → The coordinator has too much to do'],
    [status.ABORTED, 'CONTENTION', 6, '  → To repeat it without a double effect add --key k.'],
    [status.UNAVAILABLE, 'STORE_UNAVAILABLE', 6, '  → The database cannot be reached; nothing was granted.'],
    [status.UNAVAILABLE, 'NOT_LEADER', 6, '  → This replica is a standby: use --server 10.0.0.7:50051.'],
    [status.INTERNAL, 'BROKEN', 1, '  → A fault of the service: its log says more.'],
  ])('%i %s ends with code %i', async (code, reason, exitCode, line) => {
    fake.answer(ReservationService.method.reserve, () => {
      throw new Refuse(code, reason, 'the message', {
        metadata: reason === 'NOT_LEADER' ? { leader_address: '10.0.0.7:50051' } : {},
        ...(reason === 'INVALID_FIELD'
          ? { fields: [{ field: 'budget.limits', description: 'twice the same name' }] }
          : {}),
      });
    });
    const result = await run(['reserve', 'acme', '1', '--key', 'k']);
    expect(result.exitCode).toBe(exitCode);
    expect(result.stderr).toMatch(/^[A-Z_]+: the message\n/);
    expect(result.stderr).toContain(line);
  });

  it.each(['127.0.0.1', 'localhost'])('says that the one that was asked, at %s, will lead', async (host) => {
    const server = fake.address.replace('127.0.0.1', host);
    fake.answer(ReservationService.method.reserve, () => {
      const metadata = { leader_address: fake.address };
      throw new Refuse(status.UNAVAILABLE, 'NOT_LEADER', 'the message', { metadata });
    });
    const { stderr } = await run(['reserve', 'acme', '1', '--server', server]);
    expect(stderr).toContain('  → That is the address that was asked: it has just started, and leads once the lease');
    expect(stderr).not.toContain('standby');
  });

  it.each<[status, string]>([
    [status.PERMISSION_DENIED, 'FORBIDDEN'],
    [status.UNAUTHENTICATED, 'UNAUTHENTICATED'],
    [status.ALREADY_EXISTS, 'BUDGET_EXISTS'],
    [status.ALREADY_EXISTS, 'IDEMPOTENCY_KEY_REUSED'],
    [status.ABORTED, 'ETAG_MISMATCH'],
    [status.INVALID_ARGUMENT, 'INVALID_FIELD'],
    [status.INVALID_ARGUMENT, 'USAGE_INVALID'],
    [status.NOT_FOUND, 'BUDGET_NOT_FOUND'],
    [status.NOT_FOUND, 'RESERVATION_NOT_FOUND'],
    [status.FAILED_PRECONDITION, 'BUDGET_SUSPENDED'],
    [status.FAILED_PRECONDITION, 'PRICE_UNKNOWN'],
  ])('%i %s says nothing of the key: repeating does not help', async (code, reason) => {
    fake.answer(ReservationService.method.reserve, () => {
      throw new Refuse(code, reason, 'the message', { metadata: { budget: 'acme/x' } });
    });
    const { stderr } = await run(['reserve', 'acme/x', '1', '--key', 'my-key']);
    expect(stderr).not.toContain('my-key');
  });

  it.each<[readonly string[], keyof typeof CHANGES]>([
    [['reserve', 'acme', '1'], 'reserve'],
    [['extend', ID, '1'], 'extend'],
    [['settle', ID, '1'], 'settle'],
    [['release', ID], 'release'],
    [['create', 'acme', '--limit', '1'], 'createBudget'],
    [['top-up', 'acme', '1'], 'topUp'],
    [['update', 'acme', '--owner', 'x'], 'updateBudget'],
    [['set-limit', 'acme', '1'], 'updateBudget'],
    [['suspend', 'acme'], 'suspendBudget'],
    [['resume', 'acme'], 'resumeBudget'],
    [['close', 'acme'], 'closeBudget'],
  ])('%j offers its key only where it is of use', async (words, name) => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    const told = async (code: status, reason: string, retryAfterMs?: number, more: readonly string[] = []) => {
      fake.answer(CHANGES[name] as typeof CHANGES.reserve, () => {
        throw new Refuse(code, reason, 'the message', retryAfterMs === undefined ? {} : { retryAfterMs });
      });
      return (await run([...words, ...more])).stderr;
    };
    expect(await told(status.INVALID_ARGUMENT, 'INVALID_FIELD')).not.toContain('--key');
    expect(await told(status.NOT_FOUND, 'BUDGET_NOT_FOUND')).not.toContain('--key');
    expect(await told(status.FAILED_PRECONDITION, 'BUDGET_CLOSED')).not.toContain('--key');
    expect(await told(status.FAILED_PRECONDITION, 'BUDGET_CLOSED', undefined, ['--key', 'k'])).toContain(
      'with --key k',
    );
    expect(await told(status.RESOURCE_EXHAUSTED, 'CAPACITY_HELD', 1_000)).toContain('add --key cli-');
    expect(await told(status.UNAVAILABLE, 'STORE_UNAVAILABLE')).toContain('add --key cli-');
    expect(await told(status.INTERNAL, 'BROKEN')).toContain('add --key cli-');
  });

  it('writes the amounts of the sentence in units, with the whole amount of the limit', async () => {
    fake.answer(ReservationService.method.reserve, () => {
      throw new Refuse(
        status.FAILED_PRECONDITION,
        'EXCEEDS_LIMIT',
        "it can't fit as the budgets stand: at most 8500000 can be granted (available 100000 of 9000000, needed 9500000)",
        {
          metadata: {
            budget: 'acme',
            limit: 'lifetime',
            amount: '9000000',
            available: '100000',
            requested: '9500000',
            largest: '8500000',
            unit: 'USD',
          },
          failing: [{ subject: 'acme:lifetime', description: '100000 of 9000000 available' }],
        },
      );
    });
    const { stderr } = await run(['reserve', 'acme', '9.5']);
    expect(stderr).toContain(
      "EXCEEDS_LIMIT: it can't fit as the budgets stand: at most 8.5 USD can be granted (0.1 USD available of 9 USD, 9.5 USD needed)\n",
    );
    expect(stderr).toContain('  largest        8.5 USD (8500000 micros)\n');
    expect(stderr).toContain('  amount         9 USD (9000000 micros)\n');
  });

  it('says a bad path once, and what a name may be', async () => {
    const rule = parsePath('a b');
    const description = typeof rule === 'string' ? rule : rule.problem;
    fake.answer(BudgetService.method.createBudget, () => {
      throw new Refuse(status.INVALID_ARGUMENT, 'INVALID_FIELD', `invalid request: budget.budget ${description}`, {
        fields: [{ field: 'budget.budget', description }],
      });
    });
    expect(await run(['create', 'a b', '--uncapped', '--key', 'k'])).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `INVALID_FIELD: invalid request
  field          budget: a name has 1 to 63 characters: letters, digits, . _ - (no dot first)
`,
    });
  });

  it('names what was typed where the service names fields', async () => {
    const problems: Problems = [];
    checkMinMicros(problems, 'min_micros', 2n, 'max_micros', 1n);
    fake.answer(ReservationService.method.reserve, () => {
      const { message } = invalidFields(problems);
      throw new Refuse(status.INVALID_ARGUMENT, 'INVALID_FIELD', message, { fields: problems });
    });
    const { stderr } = await run(['reserve', 'acme', '1', '--min', '2']);
    expect(stderr).toContain('INVALID_FIELD: invalid request\n  field          --min: must not be above the amount\n');
    expect(stderr).not.toContain('_micros');
  });

  it('says a long description once, also where the service has cut it', async () => {
    const description = `must be one of ${'some_kind, '.repeat(40)}the_last`;
    fake.answer(ReservationService.method.settle, () => {
      throw new Refuse(status.INVALID_ARGUMENT, 'INVALID_FIELD', `invalid request: usage.raw.kind ${description}`, {
        fields: [{ field: 'usage.raw.kind', description: `${description.slice(0, 250)}…` }],
      });
    });
    const { stderr } = await run(['settle', ID, '1']);
    expect(stderr).toMatch(/^INVALID_FIELD: invalid request\n/);
    expect(stderr.match(/must be one of/g)).toHaveLength(1);
  });

  it('names the options where a new budget would have no limit', async () => {
    fake.answer(BudgetService.method.createBudget, () => {
      throw new Refuse(status.INVALID_ARGUMENT, 'INVALID_FIELD', 'budget.uncapped: must be true here', {
        fields: [{ field: 'budget.uncapped', description: 'must be true here' }],
      });
    });
    const { stderr } = await run(['create', 'lab']);
    expect(stderr).toContain('  → Give it a limit (--limit 10), or say --uncapped if it is meant to have none.\n');
  });

  it('asks whether it is the HTTP port where nobody knows the method', async () => {
    const { exitCode, stderr } = await run(['get', 'acme']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`  → Is ${fake.address} the HTTP port? gRPC is on 50051 by default`);
  });

  it('prints the fresh key where the answer did not come in time', async () => {
    fake.answer(ReservationService.method.settle, () => {
      throw new NeverAnswer();
    });
    const { exitCode, stderr } = await run(['settle', ID, '0.1', '--timeout', '50ms']);
    const { idempotencyKey } = fake.requestOf(ReservationService.method.settle);
    expect(exitCode).toBe(6);
    expect(stderr).toMatch(/^DEADLINE_EXCEEDED: /);
    expect(stderr).toContain('  → No answer in time, so it is not known whether it was done.\n');
    expect(stderr).toContain(`  → To repeat it without a double effect add --key ${idempotencyKey}.\n`);
  });

  it('says what to do where nobody answers', async () => {
    fake.stop();
    const { exitCode, stderr } = await run(['get', 'acme']);
    expect(exitCode).toBe(6);
    expect(stderr).toMatch(/^UNAVAILABLE: .*ECONNREFUSED [0-9.:]+\n/);
    expect(stderr).toContain(`  → Nothing answers at ${fake.address}: is the service running (npm start)`);
  });

  it('takes an exhausted transport for no refusal of money', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: { ...acme, owner: 'x'.repeat(5_000_000) } }));
    const { exitCode, stderr } = await run(['get', 'acme']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^RESOURCE_EXHAUSTED: .*larger than max/);
  });
});
