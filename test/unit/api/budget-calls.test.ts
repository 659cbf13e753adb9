// Fields of the requests on budgets that hold no budget: refused where they are wrong, and named by their path in the proto.
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import { getBudgetCommand, switchBudgetCommand, topUpCommand } from '../../../src/api/validate/budget-commands.ts';
import { listBudgetsQuery } from '../../../src/api/validate/list-queries.ts';
import {
  CloseBudgetRequestSchema,
  GetBudgetRequestSchema,
  ListBudgetsRequestSchema,
  TopUpRequestSchema,
} from '../../../src/gen/budgetd/v1/budget_pb.ts';

function refusedFields(outcome: object): string[] {
  return isRefusal(outcome) ? (outcome.fields ?? []).map(({ field }) => field) : [];
}

const key = 'k-1';
const badKeys = ['', 'line\nbreak', 'x'.repeat(256)];
const badText = ['tab\t', 'x'.repeat(257)];
const badPaths = ['', 'a//b', 'a b', Array(17).fill('a').join('/')];

describe('Close, Suspend, Resume, TopUp, Get and List', () => {
  it.each([
    ...badPaths.map((budget) => ['budget', { budget }] as const),
    ...badKeys.map((idempotencyKey) => ['idempotency_key', { idempotencyKey }] as const),
    ...badText.map((reason) => ['reason', { reason }] as const),
  ])('CloseBudget names %s, case %#', (field, changes) => {
    const request = create(CloseBudgetRequestSchema, { budget: 'acme', idempotencyKey: key, ...changes });
    for (const kind of ['CloseBudget', 'SuspendBudget', 'ResumeBudget'] as const) {
      expect(refusedFields(switchBudgetCommand(kind, request, 'tester'))).toEqual([field]);
    }
  });

  it.each([
    ...badPaths.map((budget) => ['budget', { budget }] as const),
    ...badKeys.map((idempotencyKey) => ['idempotency_key', { idempotencyKey }] as const),
    ...['a b', 'x'.repeat(64)].map((limit) => ['limit', { limit }] as const),
    ...[0n, -1n].map((addMicros) => ['add_micros', { addMicros }] as const),
  ])('TopUp names %s, case %#', (field, changes) => {
    const request = create(TopUpRequestSchema, { budget: 'acme', idempotencyKey: key, addMicros: 1n, ...changes });
    expect(refusedFields(topUpCommand(request, 'tester'))).toEqual([field]);
  });

  it.each(badPaths)('GetBudget names budget %j', (budget) => {
    expect(refusedFields(getBudgetCommand(create(GetBudgetRequestSchema, { budget }), 'tester'))).toEqual(['budget']);
  });

  it.each([
    ['parent', { parent: 'a//b' }],
    ['page_size', { pageSize: -1 }],
    ['page_size', { pageSize: 1_001 }],
    ['page_token', { pageToken: 'no token' }],
  ] as const)('ListBudgets names %s, case %#', (field, changes) => {
    expect(refusedFields(listBudgetsQuery(create(ListBudgetsRequestSchema, changes)))).toEqual([field]);
  });
});
