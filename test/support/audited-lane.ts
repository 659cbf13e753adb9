// What tests of whole stories on a lane end with: a look at a budget, and the auditor's own sums over everything that was written.
import { expect } from 'vitest';
import { verifyTree } from '../../src/app/verify-tree.ts';
import type { BudgetAnswer } from '../../src/kernel/answer.ts';
import { budgetOf } from './kernel-driver.ts';
import type { LaneWorld } from './lane-world.ts';

/** A budget of tree "t" as it stands. */
export async function look(world: LaneWorld, path: string): Promise<BudgetAnswer> {
  return budgetOf(await world.lane.submit(world.make.getBudget(path)));
}

/** The journal and the projection of tree "t" agree with each other and with the sums of every period. */
export async function expectAudited(world: LaneWorld): Promise<void> {
  await world.project();
  expect((await verifyTree(world.memory, 't' as never)).differences).toEqual([]);
}
