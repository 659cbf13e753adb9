// Every field of every request on budgets with values that are wrong: refused, and named by the path it has in the proto.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import {
  createBudgetCommand,
  getBudgetCommand,
  switchBudgetCommand,
  topUpCommand,
  updateBudgetCommand,
} from '../../../src/api/validate/budget-commands.ts';
import { listBudgetsQuery } from '../../../src/api/validate/list-queries.ts';
import {
  type BudgetSchema,
  CloseBudgetRequestSchema,
  CreateBudgetRequestSchema,
  GetBudgetRequestSchema,
  ListBudgetsRequestSchema,
  TopUpRequestSchema,
  UpdateBudgetRequestSchema,
} from '../../../src/gen/budgetd/v1/budget_pb.ts';

type BudgetInit = MessageInitShape<typeof BudgetSchema>;
type Case = readonly [field: string, changes: BudgetInit];

function refusedFields(outcome: object): string[] {
  return isRefusal(outcome) ? (outcome.fields ?? []).map(({ field }) => field) : [];
}

const key = 'k-1';
const badKeys = ['', 'line\nbreak', 'x'.repeat(256)];
const badPaths = ['', 'a//b', 'a b', Array(17).fill('a').join('/')];
const badText = ['tab\t', 'x'.repeat(257)];

const settable: readonly Case[] = [
  ['budget.kind', { kind: 'a b' }],
  ['budget.kind', { kind: 'k'.repeat(64) }],
  ...badText.map((owner): Case => ['budget.owner', { owner }]),
  ['budget.labels["a b"]', { labels: { 'a b': '' } }],
  ['budget.labels["a"]', { labels: { a: '\u0000' } }],
  ['budget.limits', { limits: Array.from({ length: 17 }, (_, n) => ({ name: `l${n}`, amountMicros: 1n })) }],
  ['budget.limits[1].name', { limits: [{ name: 'a' }, { name: 'a/b' }] }],
  ['budget.limits[1].name', { limits: [{ name: 'a' }, { name: 'x'.repeat(64) }] }],
  ['budget.limits[1].name', { limits: [{ name: 'a' }, { name: 'a' }] }],
  ['budget.limits[1].name', { limits: [{}, { name: 'lifetime' }] }],
  ['budget.limits[1].amount_micros', { limits: [{ name: 'a' }, { name: 'b', amountMicros: -1n }] }],
  ['budget.limits[0].window', { limits: [{ window: {} }] }],
  ['budget.on_expiry', { onExpiry: 4 as never }],
];

const outputOnly: readonly Case[] = [
  ['budget.state', { state: 1 }],
  ['budget.suspended_by', { suspendedBy: 'a' }],
  ['budget.closed_by', { closedBy: 'a' }],
  ['budget.revision', { revision: 1n }],
  ['budget.etag', { etag: 'r1' }],
  ['budget.create_time', { createTime: {} }],
  ['budget.update_time', { updateTime: {} }],
  ['budget.balances', { balances: [{}] }],
  ['budget.totals', { totals: {} }],
  ['budget.availability', { availability: {} }],
];

describe('CreateBudget', () => {
  const check = (budget: BudgetInit, idempotencyKey = key) =>
    createBudgetCommand(
      create(CreateBudgetRequestSchema, { budget: { budget: 'acme', ...budget } as BudgetInit, idempotencyKey }),
      'tester',
    );

  it.each([
    ...settable,
    ...outputOnly,
    ...badPaths.map((budget): Case => ['budget.budget', { budget }]),
    ['budget.unit', { unit: 'US$' }],
    ['budget.unit', { unit: 'a'.repeat(17) }],
    ['budget.unit', { budget: 'acme/a', unit: 'USD' }],
  ] satisfies Case[])('names %s, case %#', (field, changes) => {
    expect(refusedFields(check(changes))).toEqual([field]);
  });

  it.each(badKeys)('names the key %j', (idempotencyKey) => {
    expect(refusedFields(check({}, idempotencyKey))).toEqual(['idempotency_key']);
  });

  it('names a missing budget beside what else is wrong', () => {
    expect(refusedFields(createBudgetCommand(create(CreateBudgetRequestSchema, {}), 'tester'))).toEqual([
      'budget',
      'idempotency_key',
    ]);
  });

  it('fills in defaults', () => {
    expect(check({ limits: [{ amountMicros: 5n }] })).toMatchObject({
      unit: undefined,
      uncapped: false,
      limits: [{ name: 'lifetime', rule: { kind: 'lifetime' }, amountMicros: 5n }],
      onExpiry: 'release',
      personal: undefined,
    });
  });
});

describe('UpdateBudget', () => {
  type Init = MessageInitShape<typeof UpdateBudgetRequestSchema>;
  const paths = ['kind', 'owner', 'labels', 'uncapped', 'limits', 'on_expiry'];
  const check = (budget: BudgetInit, changes: Init = {}) => {
    const request = {
      budget: { budget: 'acme', ...budget } as BudgetInit,
      updateMask: { paths },
      idempotencyKey: key,
      ...changes,
    } as Init;
    return updateBudgetCommand(create(UpdateBudgetRequestSchema, request), 'tester');
  };

  it.each([...settable, ...badPaths.map((budget): Case => ['budget.budget', { budget }])])(
    'names %s, case %#',
    (field, changes) => {
      expect(refusedFields(check(changes))).toEqual([field]);
    },
  );

  it.each([
    ['update_mask', { updateMask: { paths: [] } }],
    ['update_mask', { updateMask: { paths: ['unit'] } }],
    ['update_mask', { updateMask: { paths: ['kind', 'budget.kind'] } }],
    ['etag', { etag: 'r0' }],
    ['etag', { etag: 'W/"1"' }],
    ['etag', { etag: `r${'9'.repeat(16)}` }],
    ['idempotency_key', { idempotencyKey: '' }],
    ['budget', { budget: undefined }],
  ] satisfies [string, Init][])('names %s, case %#', (field, changes) => {
    expect(refusedFields(check({}, changes as Init))).toEqual([field]);
  });

  it('looks at masked fields only, so that a budget that was read can be sent back', () => {
    const read = { owner: 'kim', kind: 'not looked at', revision: 3n, etag: 'r3', state: 1 } as const;
    expect(check(read, { updateMask: { paths: ['owner'] }, etag: 'r3' })).toMatchObject({
      owner: 'kim',
      budgetKind: undefined,
      limits: undefined,
      onExpiry: undefined,
      uncapped: undefined,
      expectedRevision: 3,
      replaceLabels: false,
    });
  });

  it('replaces labels by none where the mask names them and none are given', () => {
    const update = check({}, { updateMask: { paths: ['labels'] } });
    expect(update).toMatchObject({ replaceLabels: true, personal: undefined });
  });
});

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
    ...['a/b', 'x'.repeat(64)].map((limit) => ['limit', { limit }] as const),
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
