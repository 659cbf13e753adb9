// What a budget is to its siblings, as requests on budgets state it: read, defaulted, refused by the path of the field. Beside
// budget-fields.test.ts, which holds the rest of a budget.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import { createBudgetCommand, updateBudgetCommand } from '../../../src/api/validate/budget-commands.ts';
import {
  type BudgetSchema,
  CreateBudgetRequestSchema,
  UpdateBudgetRequestSchema,
} from '../../../src/gen/budgetd/v1/budget_pb.ts';

type Init = Exclude<MessageInitShape<typeof BudgetSchema>, { $typeName: string }>;

function createOf(fields: Init) {
  const budget = { budget: 'acme/a', ...fields };
  return createBudgetCommand(create(CreateBudgetRequestSchema, { budget, idempotencyKey: 'k' }), 'tester');
}

function updateOf(fields: Init, paths: string[]) {
  const request = { budget: { budget: 'acme/a', ...fields }, updateMask: { paths }, idempotencyKey: 'k' };
  return updateBudgetCommand(create(UpdateBudgetRequestSchema, request), 'tester');
}

function refusedFields(outcome: object): string[] {
  return isRefusal(outcome) ? (outcome.fields ?? []).map(({ field }) => field) : [];
}

const wrong: readonly (readonly [string, Init])[] = [
  ['budget.weight', { weight: -1 }],
  ['budget.weight', { weight: 1_000_001 }],
];

describe('CreateBudget', () => {
  it('fills in defaults', () => {
    expect(createOf({ childTemplate: {} })).toMatchObject({ weight: 1, childTemplate: { weight: 1 } });
  });

  it('takes the least and the most', () => {
    expect(createOf({ weight: 1, childTemplate: { weight: 1_000_000 } })).toMatchObject({
      weight: 1,
      childTemplate: { weight: 1_000_000 },
    });
  });

  it.each(wrong)('names %s, case %#', (field, fields) => {
    expect(refusedFields(createOf(fields))).toEqual([field]);
    expect(refusedFields(createOf({ childTemplate: fields as never }))).toEqual([
      field.replace('budget.', 'budget.child_template.'),
    ]);
  });
});

describe('UpdateBudget', () => {
  it('looks at what is masked', () => {
    expect(updateOf({ weight: -1 }, ['owner'])).toMatchObject({ weight: undefined });
    expect(updateOf({ weight: 5 }, ['weight'])).toMatchObject({ weight: 5 });
    expect(updateOf({}, ['weight'])).toMatchObject({ weight: 1 });
  });

  it.each(wrong)('names %s, case %#', (field, fields) => {
    expect(refusedFields(updateOf(fields, [field.replace('budget.', '')]))).toEqual([field]);
  });
});
