// The wait queue of one tree: what it has to know of budgets, read from the tree's state when it asks, and told when they move.
import type { BudgetDef, BudgetState } from './budget.ts';
import { childrenIn } from './child-share.ts';
import type { Effect } from './entry.ts';
import type { BudgetPath } from './names.ts';
import { NO_USE, recentMicros } from './recent-use.ts';
import { childAt, type Share } from './wait-order.ts';
import type { ViewOf } from './wait-point.ts';
import { WaitQueue } from './wait-queue.ts';

/** Where budgets are found. */
interface Budgets {
  readonly budgetAt: (path: BudgetPath) => BudgetState | undefined;
  readonly budget: (no: number) => BudgetState | undefined;
}

/** An empty queue. */
export function queueOf(state: Budgets): WaitQueue {
  return new WaitQueue(
    (budget, child, atMs) => shareOf(state, budget, child, atMs),
    (budget) => viewsAt(state, budget),
  );
}

/** Takes note of an effect on a budget; `frees`: less of it is used than before. A share of a limit is counted where the limit is. */
export function budgetMoved(queue: WaitQueue, state: Budgets, def: BudgetDef, effect: Effect, frees: boolean): void {
  queue.budgetMoved(def, frees);
  if (!frees) return;
  for (const no of childrenIn(def, effect.accounts)) {
    const child = state.budget(no);
    if (child !== undefined) queue.stirBudget(child.def.path);
  }
}

// Who asks a budget itself is no child of it and has had nothing.
function shareOf(state: Budgets, budget: BudgetPath, child: string, atMs: number): Share {
  const own = state.budgetAt(child as BudgetPath);
  if (own === undefined) {
    const weight = child === '' ? 1 : (state.budgetAt(budget)?.def.childTemplate?.weight ?? 1);
    return { useMicros: 0n, weight: BigInt(weight) };
  }
  const heldMicros = own.counters[0]?.heldMicros ?? 0n;
  return { useMicros: heldMicros + recentMicros(own.recent ?? NO_USE, atMs), weight: BigInt(own.def.weight) };
}

function viewsAt(state: Budgets, budget: BudgetPath): ViewOf | undefined {
  const def = state.budgetAt(budget)?.def;
  if (def === undefined || (def.enforcement.kept.length === 0 && def.childShares.length === 0)) return undefined;
  const children = def.childShares.flatMap(({ childNo }) => state.budget(childNo)?.def.path ?? []);
  return ({ head, paths }) =>
    [head.priority, ...children.filter((child) => childAt(child, paths) !== undefined)].join(' ');
}
