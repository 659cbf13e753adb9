// Floors and shares on the real service over gRPC, where scenarios cannot go: what a budget shows of them, alone and in a list, and
// that what was read can be sent back.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Budget, BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { createRpcClient, type RpcClient } from '../scenarios/runner/rpc-client.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { ServiceUnderTest } from '../support/service-under-test.ts';

let database: TestDatabase;
let service: ServiceUnderTest;
let rpc: RpcClient;
let keyCount = 0;

beforeAll(async () => {
  database = await createDatabase();
  service = await ServiceUnderTest.start({ databaseUrl: database.url });
  rpc = createRpcClient(service.grpcPort);
  while ((await rpc.health()) !== 'SERVING') await delay(20);
});

afterAll(async () => {
  rpc.close();
  await service.kill();
  await database.drop();
});

function key(): { idempotencyKey: string } {
  keyCount += 1;
  return { idempotencyKey: `k${keyCount}` };
}

async function get(budget: string): Promise<Budget> {
  const reply = await rpc.call(BudgetService.method.getBudget, { budget });
  if (reply.budget === undefined) throw new Error('no budget in the answer');
  return reply.budget;
}

it('are shown with the budget that has them, and as kept back where they are', async () => {
  const childTemplate = { sharePercent: 5, weight: 2 };
  await rpc.call(BudgetService.method.createBudget, {
    budget: { budget: 's', limits: [{ amountMicros: 100n }], childTemplate },
    ...key(),
  });
  await rpc.call(BudgetService.method.createBudget, {
    budget: { budget: 's/a', floorMicros: 30n, sharePercent: 60, weight: 4 },
    ...key(),
  });
  await rpc.call(ReservationService.method.reserve, { budget: 's/a', maxMicros: 12n, ...key() });
  const child = await get('s/a');
  expect(child).toMatchObject({ floorMicros: 30n, sharePercent: 60, weight: 4 });
  const root = await get('s');
  expect(root).toMatchObject({
    floorMicros: 0n,
    weight: 1,
    childTemplate: { sharePercent: 5, weight: 2, floorMicros: 0n },
    balances: [{ heldMicros: 12n, availableMicros: 88n, flooredMicros: 18n }],
    // Listing the child was an edit.
    revision: 2n,
  });
  expect(root.sharePercent).toBeUndefined();
  const { budgets } = await rpc.call(BudgetService.method.listBudgets, { parent: 's' });
  expect(budgets.map(({ budget, balances }) => [budget, balances.map((each) => each.flooredMicros)])).toEqual([
    ['s', [18n]],
    ['s/a', []],
  ]);
  const paths = ['floor_micros', 'share_percent', 'weight'];
  const reply = await rpc.call(BudgetService.method.updateBudget, {
    budget: child,
    updateMask: { paths },
    etag: child.etag,
    ...key(),
  });
  expect(reply.budget).toMatchObject({ floorMicros: 30n, sharePercent: 60, weight: 4, revision: 2n });
  expect((await get('s')).revision).toBe(2n);
});
