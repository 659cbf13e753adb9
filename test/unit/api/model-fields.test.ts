// Which models a budget lets calls name, as requests on budgets state it: "none" and "every" stay apart on the way in and out, and
// what is wrong is named by its path.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import { modelsMessage } from '../../../src/api/encode/terms-message.ts';
import { createBudgetCommand, updateBudgetCommand } from '../../../src/api/validate/budget-commands.ts';
import {
  type BudgetSchema,
  CreateBudgetRequestSchema,
  UpdateBudgetRequestSchema,
} from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ServiceTierClass } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { modelsAfter } from '../../../src/kernel/price.ts';

type Init = Exclude<MessageInitShape<typeof BudgetSchema>, { $typeName: string }>;
type Models = NonNullable<Init['models']>;

function createOf(models: Models | undefined) {
  const budget = { budget: 'acme/a', ...(models && { models, childTemplate: { models } }) } as Init;
  return createBudgetCommand(create(CreateBudgetRequestSchema, { budget, idempotencyKey: 'k' }), 'tester');
}

function updateOf(models: Models | undefined, paths: string[]) {
  const budget = { budget: 'acme/a', ...(models && { models }) } as Init;
  return updateBudgetCommand(
    create(UpdateBudgetRequestSchema, { budget, updateMask: { paths }, idempotencyKey: 'k' }),
    'tester',
  );
}

const refusedFields = (outcome: object): string[] =>
  isRefusal(outcome) ? (outcome.fields ?? []).map(({ field }) => field) : [];

const allowing = (...models: string[]): Models => ({ allowedModels: { models } }) as Models;

const rules = [
  ['nothing said', undefined, { allowed: undefined, maxTier: undefined }],
  ['an empty message', {}, { allowed: undefined, maxTier: undefined }],
  ['no model at all', allowing(), { allowed: [], maxTier: undefined }],
  [
    'names with slashes',
    allowing('openrouter/google/gemini'),
    { allowed: ['openrouter/google/gemini'], maxTier: undefined },
  ],
  ['a tier alone', { maxTier: ServiceTierClass.FLEX }, { allowed: undefined, maxTier: 'flex' }],
] as const;

describe('rules for models', () => {
  it.each(rules)('%s', (_, stated, read) => {
    const outcome = createOf(stated as Models | undefined);
    expect(outcome).toMatchObject({ models: read });
    if (stated !== undefined) expect(outcome).toMatchObject({ childTemplate: { models: read } });
    expect(updateOf(stated as Models | undefined, ['models'])).toMatchObject({ models: read });
    const sent = modelsMessage(read);
    expect(createOf(sent)).toMatchObject({ models: read });
  });

  it.each([
    ['models.allowed_models.models[0]', allowing('gpt-4o')],
    ['models.allowed_models.models[1]', allowing('openai/gpt-4o', 'OpenAI/gpt-4o')],
    ['models.allowed_models.models[0]', allowing('openai/')],
    ['models.allowed_models.models[1]', allowing('openai/gpt-4o', 'openai/gpt-4o')],
    ['models.allowed_models.models', allowing(...Array.from({ length: 65 }, (_, index) => `a/${index}`))],
    ['models.max_tier', { maxTier: 9 as ServiceTierClass } as Models],
  ])('names budget.%s, case %#', (field, models) => {
    expect(refusedFields(createOf(models))).toEqual([`budget.${field}`, `budget.child_template.${field}`]);
    expect(refusedFields(updateOf(models, ['models']))).toEqual([`budget.${field}`]);
    expect(refusedFields(updateOf(models, ['owner']))).toEqual([]);
  });

  it('an edit of one leaves the other', () => {
    const before = { allowed: ['a/b'], maxTier: 'flex' } as const;
    const edit = (stated: Models | undefined, path: string) => {
      const outcome = updateOf(stated, [path]);
      if (isRefusal(outcome)) throw new TypeError('refused');
      return modelsAfter(before, outcome.models);
    };
    expect(edit(undefined, 'owner')).toEqual(before);
    expect(edit({ maxTier: ServiceTierClass.PRIORITY } as Models, 'models.max_tier')).toEqual({
      ...before,
      maxTier: 'priority',
    });
    expect(edit(undefined, 'models.max_tier')).toEqual({ ...before, maxTier: undefined });
    expect(edit(undefined, 'models.allowed_models')).toEqual({ ...before, allowed: undefined });
    expect(edit(allowing(), 'models.allowed_models')).toEqual({ ...before, allowed: [] });
    expect(edit(undefined, 'models')).toEqual({ allowed: undefined, maxTier: undefined });
  });
});
