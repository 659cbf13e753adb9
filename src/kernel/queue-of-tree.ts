// The wait queue of one tree: what it has to know of budgets, read from the tree's state when it asks, and told when they move.
import type { BudgetDef, BudgetState } from './budget.ts';
import { childrenIn } from './child-share.ts';
import type { Effect } from './entry.ts';
import type { BudgetPath } from './names.ts';
import { NO_USE, recentMicros } from './recent-use.ts';
import type { WaitLine } from './wait-line.ts';
import { childAt, type Share } from './wait-order.ts';
import type { Views } from './wait-point.ts';
import { WaitQueue } from './wait-queue.ts';

/** Where budgets are found. */
export interface Budgets {
  readonly budgetAt: (path: BudgetPath) => BudgetState | undefined;
  readonly budget: (no: number) => BudgetState | undefined;
}

/** An empty queue. */
export function queueOf(state: Budgets): WaitQueue {
  return new WaitQueue({
    shareOf: (budget, child, atMs) => shareOf(state, budget, child, atMs),
    viewsAt: (budget, known) => viewsAt(state, budget, known),
  });
}

/** Takes note of an effect, of each of its budgets once: a budget has an account for each window, and each child that it counts apart. */
export function effectMoved(queue: WaitQueue, state: Budgets, effect: Effect): void {
  const frees = effect.heldMicros + effect.settledMicros + effect.overrunMicros < 0n || effect.active < 0;
  for (const no of new Set(effect.accounts.map(({ budgetNo }) => budgetNo))) {
    const budget = state.budget(no);
    if (budget !== undefined) budgetMoved(queue, state, budget.def, effect, frees);
  }
}

// `frees`: less of it is used than before. A share of a limit is counted where the limit is.
function budgetMoved(queue: WaitQueue, state: Budgets, def: BudgetDef, effect: Effect, frees: boolean): void {
  queue.budgetMoved(def, frees);
  const through = childrenIn(def, effect.accounts);
  // What goes through two floors at once is taken once, and kept back less for both of them.
  if (through.size > 1) queue.stirBudget(def.path);
  if (!frees) return;
  for (const no of through) {
    const child = state.budget(no);
    if (child !== undefined) queue.stirBudget(child.def.path);
  }
}

// Who asks a budget itself is no child of it and has had nothing.
function shareOf(state: Budgets, budget: BudgetPath, child: string, atMs: number): Share {
  const own = state.budgetAt(child as BudgetPath);
  if (own === undefined) {
    const weight = child === '' ? 1 : (state.budgetAt(budget)?.def.childTemplate?.weight ?? 1);
    return { useMicros: 0n, weight: BigInt(weight), isFading: false };
  }
  const heldMicros = own.counters[0]?.heldMicros ?? 0n;
  const spentMicros = recentMicros(own.recent ?? NO_USE, atMs);
  return { useMicros: heldMicros + spentMicros, weight: BigInt(own.def.weight), isFading: spentMicros > 0n };
}

function viewsAt(state: Budgets, budget: BudgetPath, known: Views | undefined): Views | undefined {
  const def = state.budgetAt(budget)?.def;
  if (def === undefined || (def.enforcement.kept.length === 0 && def.childShares.length === 0)) return undefined;
  const { childShares } = def;
  if (known?.childShares === childShares) return known;
  const listed = new Set(childShares.map(({ childNo }) => childNo));
  // Through which of those it goes, whether they are loaded or not: who waits below one has it loaded.
  const through = (path: BudgetPath): number | undefined => {
    const child = childAt(budget, [path]);
    const no = child && state.budgetAt(child as BudgetPath)?.def.no;
    return no !== undefined && no !== '' && listed.has(no) ? no : undefined;
  };
  const viewOf = ({ head: { priority }, paths }: WaitLine): string => {
    if (listed.size === 0) return priority;
    const nos = new Set(paths.flatMap((path) => through(path) ?? []));
    return [priority, ...[...nos].sort((a, b) => a - b)].join(' ');
  };
  return { childShares, viewOf };
}
