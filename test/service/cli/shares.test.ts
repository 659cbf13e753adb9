// What a budget is to its siblings on the command line: words in, requests on the wire, text out.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { type FakeCoordinator, startFakeCoordinator } from './fake-coordinator.ts';
import { acme, type Result, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (...words: readonly string[]): Promise<Result> => runCli(fake, words);
type Acme = Exclude<typeof acme, { $typeName: string }>;

const OPTIONS = ['--weight', '3', '--floor', '2.5 USD', '--share', '40%'];
const SHARES = { weight: 3, floorMicros: 2_500_000n, sharePercent: 40 };

it('create states them', async () => {
  fake.answer(BudgetService.method.createBudget, () => ({ budget: acme }));
  fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
  expect((await run('create', 'acme/a', '--limit', '10 USD', ...OPTIONS)).exitCode).toBe(0);
  expect(fake.requestOf(BudgetService.method.createBudget).budget).toMatchObject(SHARES);
});

it('update edits them and nothing else, and takes them away', async () => {
  fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
  fake.answer(BudgetService.method.updateBudget, () => ({ budget: acme }));
  expect((await run('update', 'acme/a', ...OPTIONS)).exitCode).toBe(0);
  const set = fake.requestOf(BudgetService.method.updateBudget);
  expect(set.updateMask?.paths).toEqual(['weight', 'floor_micros', 'share_percent']);
  expect(set.budget).toMatchObject(SHARES);
});

it('update takes them away', async () => {
  fake.answer(BudgetService.method.updateBudget, () => ({ budget: acme }));
  expect((await run('update', 'acme/a', '--floor', 'none', '--share', 'none')).exitCode).toBe(0);
  const { budget, updateMask } = fake.requestOf(BudgetService.method.updateBudget);
  expect(updateMask?.paths).toEqual(['floor_micros', 'share_percent']);
  expect(budget).toMatchObject({ floorMicros: 0n });
  expect(budget?.sharePercent).toBeUndefined();
});

it.each([
  ['--weight', 'heavy'],
  ['--weight', '0'],
  ['--share', '0%'],
  ['--share', '101%'],
  ['--floor', 'much'],
  ['--share', '12.5%'],
])('says what is wrong with %s %s', async (option, value) => {
  const { exitCode, stderr } = await run('update', 'acme', option, value);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(`"${value}" is not`);
  expect(fake.received).toEqual([]);
});

it('checks the unit of a floor', async () => {
  fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
  const { exitCode, stderr } = await run('update', 'acme', '--floor', '3 INR');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('USD, not in INR');
});

it('get shows them where they are another than the default, and what is kept back for children', async () => {
  const childTemplate = { kind: 'run', weight: 2, sharePercent: 5 };
  const { balances = [] } = acme as Acme;
  const floored = balances.map((balance) => ({ ...balance, flooredMicros: 750_000n }));
  fake.answer(BudgetService.method.getBudget, () => ({
    budget: { ...(acme as Acme), ...SHARES, childTemplate, balances: floored },
  }));
  const { stdout } = await run('get', 'acme');
  expect(stdout).toContain('weight     3\n');
  expect(stdout).toContain('floor      2.5 USD of each limit above\n');
  expect(stdout).toContain('share      at most 40% of each limit above\n');
  expect(stdout).toContain('run, weight 2, share at most 5% of each limit above');
  expect(stdout).toContain('floored    0.75 USD of lifetime, for children\n');
  fake.answer(BudgetService.method.getBudget, () => ({ budget: { ...(acme as Acme), weight: 1 } }));
  expect((await run('get', 'acme')).stdout).not.toMatch(/weight|floor|share/);
});
