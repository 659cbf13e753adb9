// Which models a budget lets calls name, on the command line: words in, requests on the wire, text out.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ServiceTierClass } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { type FakeCoordinator, startFakeCoordinator } from './fake-coordinator.ts';
import { acme, type Result, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (...words: readonly string[]): Promise<Result> => runCli(fake, words);
type Acme = Exclude<typeof acme, { $typeName: string }>;

it('create states them', async () => {
  fake.answer(BudgetService.method.createBudget, () => ({ budget: acme }));
  const words = ['--models', 'openai/gpt-4o, openrouter/google/gemini', '--max-tier', 'standard'];
  expect((await run('create', 'acme', '--uncapped', ...words)).exitCode).toBe(0);
  expect(fake.requestOf(BudgetService.method.createBudget).budget?.models).toMatchObject({
    allowedModels: { models: ['openai/gpt-4o', 'openrouter/google/gemini'] },
    maxTier: ServiceTierClass.STANDARD,
  });
});

it.each([
  [['--models', 'none'], ['models.allowed_models'], []],
  [['--models', 'any'], ['models.allowed_models'], undefined],
  [['--max-tier', 'any'], ['models.max_tier'], undefined],
])('update %s', async (words, paths, allowed) => {
  fake.answer(BudgetService.method.updateBudget, () => ({ budget: acme }));
  expect((await run('update', 'acme/a', ...words)).exitCode).toBe(0);
  const { budget, updateMask } = fake.requestOf(BudgetService.method.updateBudget);
  expect(updateMask?.paths).toEqual(paths);
  expect(budget?.models?.allowedModels?.models).toEqual(allowed);
  expect(budget?.models?.maxTier ?? ServiceTierClass.UNSPECIFIED).toBe(ServiceTierClass.UNSPECIFIED);
});

it('get shows them where they are another than the default', async () => {
  const none = { allowedModels: { models: [] } };
  const childTemplate = { kind: 'run', models: { maxTier: ServiceTierClass.FLEX } };
  fake.answer(BudgetService.method.getBudget, () => ({ budget: { ...(acme as Acme), models: none, childTemplate } }));
  const { stdout } = await run('get', 'acme');
  expect(stdout).toContain('models     none\n');
  expect(stdout).toContain('run, max tier flex');
  fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
  expect((await run('get', 'acme')).stdout).not.toMatch(/models|tier/);
});
