// Editing budgets on the command line: what changes, what stays, and what a person is told of it.
import { toJson } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BudgetService, UpdateBudgetRequestSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { CalendarUnit } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import { type FakeCoordinator, startFakeCoordinator } from './fake-coordinator.ts';
import { rich } from './rich-budget.ts';
import { acme, type Result, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (...words: readonly string[]): Promise<Result> => runCli(fake, words);

describe('update', () => {
  it('masks what was typed and nothing else; none takes away', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(BudgetService.method.updateBudget, () => ({ budget: rich }));
    const typed = ['--max-active', '5', '--max-lease', 'none', '--rate', 'none', '--child-template', 'none'];
    const more = ['--owner', 'kim', '--no-uncapped', '--on-expiry', 'charge', '--etag', 'r3', '--key', 'k'];
    expect(await run('update', 'acme', ...typed, ...more)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(toJson(UpdateBudgetRequestSchema, fake.requestOf(BudgetService.method.updateBudget))).toEqual({
      budget: { budget: 'acme', owner: 'kim', onExpiry: 'ON_EXPIRY_CHARGE', shape: { maxActive: 5 } },
      updateMask: 'owner,uncapped,onExpiry,shape.maxActive,shape.maxLease,rates,childTemplate',
      etag: 'r3',
      idempotencyKey: 'k',
    });
  });

  it('sets and removes labels one by one, tied to what was read', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(BudgetService.method.updateBudget, () => ({ budget: acme }));
    const labels = ['--label', 'area=y', '--label', 'team=a b', '--remove-label', 'env'];
    expect(await run('update', 'acme', ...labels, '--key', 'k')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(toJson(UpdateBudgetRequestSchema, fake.requestOf(BudgetService.method.updateBudget))).toEqual({
      budget: { budget: 'acme', labels: { area: 'y', team: 'a b' } },
      updateMask: 'labels',
      etag: 'e3',
      idempotencyKey: 'k',
    });
    fake.received.length = 0;
    expect(await run('update', 'acme', '--remove-label', 'none')).toMatchObject({
      exitCode: 2,
      stderr: 'error: no label is none (there are: area, env)\n',
    });
    expect(await run('update', 'acme', '--label', 'env=x', '--remove-label', 'env')).toMatchObject({ exitCode: 2 });
    expect(fake.received.map(({ method }) => method)).not.toContain('UpdateBudget');
  });

  it('says which rates are gone, since those named replace all', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: rich }));
    fake.answer(BudgetService.method.updateBudget, () => ({
      budget: { ...rich, rates: rich.rates?.slice(0, 1) ?? [] },
    }));
    const { stdout } = await run('update', 'acme', '--rate', '70 requests/1m');
    expect(stdout).toMatch(/^Dropped: 1000 tokens\/1m burst 5000\.\nbudget /);
    expect((await run('update', '--help')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'replaces all rates: name each to keep it',
    );
  });

  it('checks the unit of the largest reservation', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    expect(await run('update', 'acme', '--max-reservation', '2 INR')).toMatchObject({
      exitCode: 2,
      stderr: 'error: this tree counts in USD, not in INR; nothing was changed\n',
    });
  });

  it('wants to be told what to change', async () => {
    expect(await run('update', 'acme')).toMatchObject({ exitCode: 2 });
    expect(fake.received).toEqual([]);
  });
});

describe('set-limit', () => {
  it('finds a limit by its window, and adds one that is not there', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: rich }));
    fake.answer(BudgetService.method.updateBudget, () => ({ budget: rich }));
    expect(await run('set-limit', 'acme', '6', '--window', 'day@Asia/Tokyo')).toMatchObject({ exitCode: 0 });
    expect(fake.requestOf(BudgetService.method.updateBudget).budget?.limits).toMatchObject([
      { name: 'lifetime', amountMicros: 10_000_000n },
      { name: 'day:Asia/Tokyo', amountMicros: 6_000_000n, window: { kind: { case: 'calendar' } } },
      { name: 'brake', amountMicros: 3_000_000n },
    ]);
    fake.received.length = 0;
    expect(await run('set-limit', 'acme', '6', '--window', 'day')).toMatchObject({ exitCode: 2 });
    expect(await run('set-limit', 'acme', '6', '--window', 'week', '--add')).toMatchObject({ exitCode: 0 });
    expect(fake.requestOf(BudgetService.method.updateBudget).budget?.limits.at(-1)).toMatchObject({
      name: '',
      amountMicros: 6_000_000n,
      window: { kind: { case: 'calendar', value: { unit: CalendarUnit.WEEK } } },
    });
  });

  it('takes a limit away', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: rich }));
    fake.answer(BudgetService.method.updateBudget, () => ({ budget: rich }));
    expect(await run('set-limit', 'acme', 'none', '--limit', 'day@Asia/Tokyo')).toMatchObject({ exitCode: 0 });
    expect(fake.requestOf(BudgetService.method.updateBudget).budget?.limits).toMatchObject([
      { name: 'lifetime' },
      { name: 'brake' },
    ]);
  });
});

describe('top-up', () => {
  it('takes either spelling of a name, and says until when', async () => {
    fake.answer(BudgetService.method.topUp, () => ({ budget: rich }));
    const { stdout } = await run('top-up', 'acme', '1', '--limit', 'day@Asia/Tokyo');
    expect(stdout).toMatch(/^Added 1 USD until 2026-03-02 15:00:00Z\.\n/);
    expect(fake.requestOf(BudgetService.method.topUp).limit).toBe('day:Asia/Tokyo');
    expect((await run('top-up', 'acme', '1', '--limit', 'lifetime')).stdout).toMatch(/^Added 1 USD\.\n/);
  });
});
