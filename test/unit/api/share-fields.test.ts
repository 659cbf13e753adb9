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
  ['budget.floor_micros', { floorMicros: -1n }],
  ['budget.share_percent', { sharePercent: 0 }],
  ['budget.share_percent', { sharePercent: 101 }],
  ['budget.share_percent', { sharePercent: -1 }],
];

describe('CreateBudget', () => {
  it('fills in defaults', () => {
    const nothing = { weight: 1, floorMicros: 0n, sharePercent: undefined };
    expect(createOf({ childTemplate: {} })).toMatchObject({ ...nothing, childTemplate: nothing });
  });

  it('takes the least and the most', () => {
    const leasts = { weight: 1, floorMicros: 1n, sharePercent: 1 };
    const mosts = { weight: 1_000_000, floorMicros: 9_223_372_036_854_775_807n, sharePercent: 100 };
    expect(createOf({ ...leasts, childTemplate: mosts })).toMatchObject({ ...leasts, childTemplate: mosts });
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
    expect(updateOf({ weight: -1, floorMicros: -1n, sharePercent: 0 }, ['owner'])).toMatchObject({
      weight: undefined,
      floorMicros: undefined,
      sharePercent: undefined,
    });
    expect(updateOf({ floorMicros: 7n, sharePercent: 9 }, ['floor_micros', 'share_percent'])).toMatchObject({
      floorMicros: 7n,
      sharePercent: { to: 9 },
    });
    expect(updateOf({}, ['floor_micros', 'share_percent'])).toMatchObject({
      floorMicros: 0n,
      sharePercent: { to: undefined },
    });
    expect(updateOf({ weight: 5 }, ['weight'])).toMatchObject({ weight: 5 });
    expect(updateOf({}, ['weight'])).toMatchObject({ weight: 1 });
  });

  it.each(wrong)('names %s, case %#', (field, fields) => {
    expect(refusedFields(updateOf(fields, [field.replace('budget.', '')]))).toEqual([field]);
  });
});
