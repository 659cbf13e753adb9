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

it('create states it', async () => {
  fake.answer(BudgetService.method.createBudget, () => ({ budget: acme }));
  expect((await run('create', 'acme', '--limit', '10 USD', '--weight', '3')).exitCode).toBe(0);
  expect(fake.requestOf(BudgetService.method.createBudget).budget).toMatchObject({ weight: 3 });
});

it('update edits it and nothing else', async () => {
  fake.answer(BudgetService.method.updateBudget, () => ({ budget: acme }));
  expect((await run('update', 'acme', '--weight', '1')).exitCode).toBe(0);
  const { budget, updateMask } = fake.requestOf(BudgetService.method.updateBudget);
  expect(updateMask?.paths).toEqual(['weight']);
  expect(budget).toMatchObject({ weight: 1 });
});

it.each([['--weight', 'heavy']])('says what is wrong with %s %s', async (option, value) => {
  const { exitCode, stderr } = await run('update', 'acme', option, value);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(value);
  expect(fake.received).toEqual([]);
});

it('get shows it where it is another than the default', async () => {
  const childTemplate = { kind: 'run', weight: 2 };
  fake.answer(BudgetService.method.getBudget, () => ({ budget: { ...(acme as Acme), weight: 3, childTemplate } }));
  const { stdout } = await run('get', 'acme');
  expect(stdout).toContain('weight     3\n');
  expect(stdout).toContain('run, weight 2');
  fake.answer(BudgetService.method.getBudget, () => ({ budget: { ...(acme as Acme), weight: 1 } }));
  expect((await run('get', 'acme')).stdout).not.toContain('weight');
});
