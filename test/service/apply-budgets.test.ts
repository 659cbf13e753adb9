// Edits of a whole tree on the real service over gRPC: all or none, against races, repeats and restarts.
import { setTimeout as delay } from 'node:timers/promises';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  ApplyBudgetsRequestSchema,
  type BudgetChangeSchema,
  type BudgetSchema,
  BudgetService,
  BudgetState,
} from '../../src/gen/budgetd/v1/budget_pb.ts';
import { CalendarUnit } from '../../src/gen/budgetd/v1/limit_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { outcomeOf } from '../scenarios/runner/outcome.ts';
import type { RefusalSeen } from '../scenarios/runner/refusal.ts';
import { createRpcClient, type RpcClient } from '../scenarios/runner/rpc-client.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { ServiceUnderTest } from '../support/service-under-test.ts';

type ChangeInit = MessageInitShape<typeof BudgetChangeSchema>;
type BudgetInit = MessageInitShape<typeof BudgetSchema>;

const DAY = { kind: { case: 'calendar', value: { unit: CalendarUnit.DAY } } } as const;

let database: TestDatabase;
let service: ServiceUnderTest;
let rpc: RpcClient;

beforeAll(async () => {
  database = await createDatabase();
  service = await ServiceUnderTest.start({ databaseUrl: database.url });
  await connect();
});

afterAll(async () => {
  rpc.close();
  await service.kill();
  await database.drop();
});

async function connect(): Promise<void> {
  rpc = createRpcClient(service.grpcPort);
  while ((await rpc.health()) !== 'SERVING') await delay(20);
}

const making = (budget: string, micros?: bigint): ChangeInit => ({
  change: {
    case: 'create',
    value: { budget: { budget, limits: micros === undefined ? [] : [{ amountMicros: micros }] } },
  },
});
const editing = (budget: BudgetInit, paths: string[], etag = ''): ChangeInit => ({
  change: { case: 'update', value: { budget, updateMask: { paths }, etag } },
});
const closing = (budget: string, etag = ''): ChangeInit => ({ change: { case: 'close', value: { budget, etag } } });

const apply = (tree: string, idempotencyKey: string, ...changes: ChangeInit[]) =>
  rpc.call(BudgetService.method.applyBudgets, { tree, idempotencyKey, changes });

async function refused(call: Promise<object>): Promise<RefusalSeen> {
  const outcome = await outcomeOf(call);
  if (outcome.kind === 'answered') throw new Error('was not refused');
  return outcome.refusal;
}

const get = async (budget: string) => (await rpc.call(BudgetService.method.getBudget, { budget })).budget;

async function paths(parent: string): Promise<string[]> {
  const reply = await rpc.call(BudgetService.method.listBudgets, { parent, recursive: true, pageSize: 1_000 });
  return reply.budgets.map(({ budget }) => budget);
}

it('makes a tree in one call and edits it in another, closing included', async () => {
  const made = await apply('acme', 'k1', making('acme', 100n), making('acme/a', 50n), making('acme/a/b'));
  expect(made.budgets.map(({ budget, revision }) => [budget, revision])).toEqual([
    ['acme', 1n],
    ['acme/a', 1n],
    ['acme/a/b', 1n],
  ]);
  const [, a, b] = made.budgets;
  const edited = await apply(
    'acme',
    'k2',
    closing('acme/a/b', b?.etag),
    editing({ budget: 'acme/a', owner: 'finance', limits: [{ amountMicros: 60n }] }, ['owner', 'limits'], a?.etag),
    making('acme/c'),
  );
  expect(edited.budgets.map(({ revision }) => revision)).toEqual([2n, 2n, 1n]);
  expect(await get('acme/a')).toMatchObject({ owner: 'finance', etag: edited.budgets[1]?.etag });
  expect((await get('acme/a/b'))?.state).toBe(BudgetState.CLOSED);
  expect(await paths('acme')).toEqual(['acme', 'acme/a', 'acme/a/b', 'acme/c']);
});

it('leaves nothing of what comes before a late refusal, and names the change', async () => {
  await apply('late', 'k1', making('late', 100n), making('late/a', 50n));
  const etag = (await get('late/a'))?.etag ?? '';
  await rpc.call(BudgetService.method.updateBudget, {
    budget: { budget: 'late/a', owner: 'somebody else' },
    updateMask: { paths: ['owner'] },
    idempotencyKey: 'k',
  });
  const before = await get('late');
  const changes = [
    making('late/x', 1n),
    editing({ budget: 'late', owner: 'me' }, ['owner']),
    editing({ budget: 'late/a', limits: [{ amountMicros: 70n }] }, ['limits'], etag),
  ];
  const refusal = await refused(apply('late', 'k2', ...changes));
  expect(refusal).toMatchObject({
    status: 'ABORTED',
    reason: 'ETAG_MISMATCH',
    metadata: { budget: 'late/a', change_index: '2', change_budget: 'late/a' },
  });
  expect(await paths('late')).toEqual(['late', 'late/a']);
  expect(await get('late')).toMatchObject({ revision: before?.revision, owner: '', openChildren: 1n });
  // The key was not used up: what can be cured may be sent with it again.
  await apply('late', 'k2', ...changes.slice(0, 2));
});

it('names fields that the tree makes invalid from the request on', async () => {
  const refusal = await refused(apply('bare', 'k', making('bare')));
  expect(refusal).toMatchObject({ reason: 'INVALID_FIELD', metadata: { change_index: '0', change_budget: 'bare' } });
  expect(refusal.violations[0]).toContain('changes[0].create.budget.uncapped');
  expect((await refused(get('bare') as Promise<object>)).reason).toBe('BUDGET_NOT_FOUND');
});

it('says the same to a repeat, after other edits and a restart, and keeps its key', async () => {
  const changes = [making('again', 100n), making('again/a', 5n)];
  const first = await apply('again', 'k', ...changes);
  await rpc.call(BudgetService.method.closeBudget, { budget: 'again/a', idempotencyKey: 'k' });
  expect(await apply('again', 'k', ...changes)).toEqual(first);
  rpc.close();
  await service.kill();
  await service.restart();
  await connect();
  expect(await apply('again', 'k', ...changes)).toEqual(first);
  expect((await refused(apply('again', 'k', ...changes.slice(0, 1)))).reason).toBe('IDEMPOTENCY_KEY_REUSED');
  expect((await get('again/a'))?.revision).toBe(2n);
});

it('tries without a key, and changes nothing', async () => {
  const tried = await rpc.call(BudgetService.method.applyBudgets, {
    tree: 'tried',
    changes: [making('tried', 1n), making('tried/a')],
    validateOnly: true,
  });
  expect(tried.budgets.map(({ budget }) => budget)).toEqual(['tried', 'tried/a']);
  expect((await refused(get('tried') as Promise<object>)).reason).toBe('BUDGET_NOT_FOUND');
});

it('counts in new windows of several budgets what they spent before', async () => {
  await apply('past', 'k1', making('past', 100n), making('past/a', 50n), making('past/b', 50n));
  for (const budget of ['past/a', 'past/b']) {
    const reserve = { budget, maxMicros: 20n, idempotencyKey: 'r' };
    const { reservation } = await rpc.call(ReservationService.method.reserve, reserve);
    const reservationId = reservation?.reservationId ?? '';
    const cost = { case: 'actualMicros', value: 15n } as const;
    await rpc.call(ReservationService.method.settle, { reservationId, cost, idempotencyKey: 's' });
  }
  const limits = [{ amountMicros: 40n, window: DAY }];
  const edits = ['past/a', 'past/b'].map((budget) => editing({ budget, limits }, ['limits']));
  await apply('past', 'k2', making('past/c', 1n), ...edits);
  for (const budget of ['past/a', 'past/b']) {
    expect((await get(budget))?.balances).toMatchObject([{ settledMicros: 15n, availableMicros: 25n }]);
  }
});

it('has one winner where many race with the etags that they read', async () => {
  await apply('race', 'k', making('race', 100n), making('race/a', 1n), making('race/b', 1n));
  const etags = [(await get('race/a'))?.etag, (await get('race/b'))?.etag];
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, no) => {
      const edit = (at: 0 | 1) =>
        editing({ budget: `race/${'ab'[at]}`, owner: `writer ${no}` }, ['owner'], etags[at] ?? '');
      const changes = no % 2 === 0 ? [edit(0), edit(1)] : [edit(1), edit(0)];
      return outcomeOf(apply('race', `race-${no}`, ...changes) as Promise<object>);
    }),
  );
  expect(outcomes.filter(({ kind }) => kind === 'answered')).toHaveLength(1);
  for (const outcome of outcomes) {
    if (outcome.kind !== 'answered') expect(outcome.refusal.reason).toBe('ETAG_MISMATCH');
  }
  const [a, b] = [await get('race/a'), await get('race/b')];
  expect(a?.revision).toBe(2n);
  expect(a?.owner).toBe(b?.owner);
});

it('takes as many changes as there may be in one call, and no more', async () => {
  const children = (count: number) => Array.from({ length: count }, (_, no) => making(`many/child-${no}`, 5n));
  const full = [making('many', 1_000n), ...children(999)];
  const request = create(ApplyBudgetsRequestSchema, { tree: 'many', idempotencyKey: 'k', changes: full });
  expect(toBinary(ApplyBudgetsRequestSchema, request).length).toBeLessThan(1_048_576);
  const first = await apply('many', 'k', ...full);
  expect(first.budgets).toHaveLength(1_000);
  expect(await apply('many', 'k', ...full)).toEqual(first);
  expect((await get('many'))?.openChildren).toBe(999n);
  const refusal = await refused(apply('many', 'k2', ...children(1_001)));
  expect(refusal).toMatchObject({ status: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' });
});
