// A tree's state as plain data in a fixed order, so that two states can be compared whole. Stands alone since maps keep the
// order of insertion, which is no part of what a state says.
import type { BudgetState, Counter } from '../../src/kernel/budget.ts';
import type { TreeState } from '../../src/kernel/tree-state.ts';

/** Everything that `state` holds. `digests`: keys to ask for, since a state does not list those it remembers. */
export function pictureOf(state: TreeState, digests: readonly string[] = []) {
  const byNo = [...state.budgets()].sort((a, b) => a.def.no - b.def.no);
  const byId = [...state.reservations()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    position: state.position,
    budgets: byNo.map(inOrder),
    byPath: byNo.map(({ def }) => state.budgetAt(def.path)?.def.no),
    reservations: byId,
    leases: state.due(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER).map(({ id }) => id),
    counts: state.counts(),
    remembered: digests.map((digest) => state.remembered(digest)?.seq),
  };
}

/**
 * A budget with its counters and rates in order: of different windows and rates none is promised. Its steps are in order. What it
 * spent of late is left out, which is in memory alone.
 */
export function inOrder({ recent: _, ...budget }: BudgetState): BudgetState {
  const sorted = (counters: readonly Counter[]) =>
    [...counters].sort((a, b) => a.windowNo - b.windowNo || a.periodMs - b.periodMs);
  const rateLevels = [...budget.rateLevels].sort((a, b) => a.no - b.no);
  return { ...budget, counters: sorted(budget.counters), rateLevels };
}
