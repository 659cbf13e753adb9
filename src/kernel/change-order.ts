// The order in which the changes of one ApplyBudgets are decided, whatever order they were given in. It is such that every rule that looks
// at more than one budget is judged by what all changes together come to: so what can be, can be reached.
import { shareOf } from './child-share.ts';
import type { BudgetEdit } from './command.ts';
import type { TreeState } from './tree-state.ts';

/** A change and its place among those that were given, from 0. */
export interface PlacedChange {
  readonly index: number;
  readonly change: BudgetEdit;
}

/**
 * From the root down: what a budget is judged by above it (limits, bounds, being there, being open) is as it will be, and its own etag is
 * not passed by a change of a child that edits it. Side by side what makes room comes first: closings, then floors and shares that
 * shrink. Floors that grow are then judged with sums that only rise to the last one's. Else by path: floors that are new in
 * one call get their places in that order too, so that who has them where there is less than all does not go by how the changes were given.
 * `state`: before them all.
 */
export function inDecidingOrder(state: TreeState, changes: readonly BudgetEdit[]): readonly PlacedChange[] {
  const ranked = changes.map((change, index) => ({
    index,
    change,
    depth: change.budget.split('/').length,
    rank: rankOf(state, change),
  }));
  return ranked.sort(
    (a, b) => a.depth - b.depth || a.rank - b.rank || byText(a.change.budget, b.change.budget) || a.index - b.index,
  );
}

const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function rankOf(state: TreeState, change: BudgetEdit): number {
  if (change.kind === 'CloseBudget') return 0;
  return change.kind === 'UpdateBudget' && makesRoom(state, change) ? 1 : 2;
}

// Of the floors beside it, or of the places of those that are counted apart.
function makesRoom(state: TreeState, change: Extract<BudgetEdit, { kind: 'UpdateBudget' }>): boolean {
  const before = state.budgetAt(change.budget)?.def;
  const had = before && shareOf(before);
  if (before === undefined || had === undefined) return false;
  const floorMicros = change.floorMicros ?? before.floorMicros;
  const sharePercent = change.sharePercent === undefined ? before.sharePercent : change.sharePercent.to;
  return floorMicros < had.floorMicros || shareOf({ ...before, floorMicros, sharePercent }) === undefined;
}
