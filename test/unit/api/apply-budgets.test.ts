// ApplyBudgets on its way in: every wrong field of every change is named from the request on, and each change has a key by which
// nothing else is found.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import { Permissions } from '../../../src/api/auth/permissions.ts';
import { applyBudgetsCommand } from '../../../src/api/validate/apply-budgets.ts';
import { createBudgetCommand } from '../../../src/api/validate/budget-commands.ts';
import {
  ApplyBudgetsRequestSchema,
  type BudgetChangeSchema,
  type BudgetSchema,
  CreateBudgetRequestSchema,
} from '../../../src/gen/budgetd/v1/budget_pb.ts';
import type { ApplyBudgets } from '../../../src/kernel/command.ts';
import { path } from '../../support/fake-coordinator.ts';

type ChangeInit = MessageInitShape<typeof BudgetChangeSchema>;
type BudgetInit = MessageInitShape<typeof BudgetSchema>;

const making = (budget: BudgetInit): ChangeInit => ({ change: { case: 'create', value: { budget } } });
const editing = (budget: BudgetInit, paths: string[], etag = ''): ChangeInit => ({
  change: { case: 'update', value: { budget, updateMask: { paths }, etag } },
});
const closing = (budget: string, reason = '', etag = ''): ChangeInit => ({
  change: { case: 'close', value: { budget, reason, etag } },
});

function outcome(request: MessageInitShape<typeof ApplyBudgetsRequestSchema>) {
  const whole = { tree: 'acme', idempotencyKey: 'k', ...request };
  return applyBudgetsCommand(create(ApplyBudgetsRequestSchema, whole as typeof request), 'ops');
}

function command(...changes: readonly ChangeInit[]): ApplyBudgets {
  const made = outcome({ changes: [...changes] });
  if (isRefusal(made)) throw new Error(made.message);
  return made;
}

function refusedFields(request: MessageInitShape<typeof ApplyBudgetsRequestSchema>): string[] {
  const made = outcome(request);
  return isRefusal(made) ? (made.fields ?? []).map(({ field }) => field) : [];
}

const good = making({ budget: 'acme/a', limits: [{ amountMicros: 5n }] });

describe('the fields of ApplyBudgets', () => {
  it.each<readonly [field: string, MessageInitShape<typeof ApplyBudgetsRequestSchema>]>([
    ['tree', { tree: '', changes: [good] }],
    ['tree', { tree: 'acme/a', changes: [good] }],
    ['idempotency_key', { idempotencyKey: '', changes: [good] }],
    ['changes', { changes: [] }],
    ['changes', { changes: Array.from({ length: 1_001 }, (_, no) => making({ budget: `acme/n${no}` })) }],
    ['changes[1]', { changes: [good, {}] }],
    ['changes[1]', { changes: [good, closing('acme/a')] }],
    ['changes[1]', { changes: [good, closing('other/a')] }],
    ['changes[0].create.budget', { changes: [{ change: { case: 'create', value: {} } }] }],
    [
      'changes[0].create.idempotency_key',
      { changes: [{ change: { case: 'create', value: { budget: { budget: 'acme' }, idempotencyKey: 'x' } } }] },
    ],
    ['changes[0].create.budget.budget', { changes: [making({ budget: 'acme//a' })] }],
    [
      'changes[0].create.budget.limits[0].amount_micros',
      { changes: [making({ budget: 'acme', limits: [{ amountMicros: -1n }] })] },
    ],
    ['changes[0].update.update_mask', { changes: [editing({ budget: 'acme' }, ['revision'])] }],
    ['changes[0].update.etag', { changes: [editing({ budget: 'acme' }, ['kind'], 'x')] }],
    ['changes[0].close.etag', { changes: [closing('acme', '', 'x')] }],
    ['changes[0].close.reason', { changes: [closing('acme', 'tab\t')] }],
  ])('are refused by name: %s', (field, request) => {
    expect(refusedFields(request)).toEqual([field]);
  });

  it('are all named at once', () => {
    const changes = [making({ budget: 'acme', kind: '?' }), closing('x y'), editing({ budget: 'acme/b' }, [])];
    expect(refusedFields({ tree: '', changes })).toEqual([
      'tree',
      'changes[0].create.budget.kind',
      'changes[1].close.budget',
      'changes[2].update.update_mask',
    ]);
  });

  it('need no key where nothing is to be changed, and set none then', () => {
    const made = outcome({ idempotencyKey: '', validateOnly: true, changes: [good] });
    expect(made).toMatchObject({ dryRun: true, key: undefined, changes: [{ key: undefined }] });
  });
});

describe('the keys of ApplyBudgets', () => {
  const digests = ({ changes }: ApplyBudgets) => changes.map(({ key }) => key?.digest);
  const fingerprints = ({ changes }: ApplyBudgets) => new Set(changes.map(({ key }) => key?.fingerprint));

  it('are one a change, of one fingerprint; the first is that of the whole', () => {
    const made = command(good, closing('acme/b'));
    expect(new Set(digests(made)).size).toBe(2);
    expect(fingerprints(made).size).toBe(1);
    expect(made.key).toEqual(made.changes[0]?.key);
    const alone = { budget: { budget: 'acme', limits: [{ amountMicros: 5n }] }, idempotencyKey: 'k' };
    const single = createBudgetCommand(create(CreateBudgetRequestSchema, alone), 'ops');
    expect(single).not.toMatchObject({ key: { digest: command(making(alone.budget)).key?.digest } });
  });

  it('tell any other request by its fingerprint, and the same by none', () => {
    const requests = [
      [good],
      [making({ budget: 'acme/a', limits: [{ amountMicros: 6n }] })],
      [making({ budget: 'acme/b', limits: [{ amountMicros: 5n }] })],
      [good, closing('acme/b')],
      [good, closing('acme/b', 'why')],
      [good, closing('acme/b', '', 'r1')],
      [good, editing({ budget: 'acme/b', owner: 'x' }, ['owner'])],
      [good, editing({ budget: 'acme/b', owner: 'x' }, ['owner'], 'r1')],
      [closing('acme/b'), good],
    ].map((changes) => [...fingerprints(command(...changes))].join());
    expect(new Set(requests).size).toBe(requests.length);
    expect(fingerprints(command(good))).toEqual(fingerprints(command(good)));
  });
});

it('whoever sees a part of a tree may change that part alone, and agents and auditors nothing', async () => {
  const permissions = new Permissions(() => Promise.reject(new Error('not expected')));
  const judge = (role: 'admin' | 'agent' | 'auditor', ...changes: readonly ChangeInit[]) =>
    permissions.judge({ name: 'x', role, subtree: path('acme/a') }, command(...changes));
  expect(await judge('admin', good, closing('acme/a/b'))).toBeUndefined();
  expect(await judge('admin', good, closing('acme/ab'))).toMatchObject({ reason: 'FORBIDDEN', budget: 'acme/ab' });
  expect(await judge('agent', good)).toMatchObject({ reason: 'FORBIDDEN' });
  expect(await judge('auditor', good)).toMatchObject({ reason: 'FORBIDDEN' });
});
