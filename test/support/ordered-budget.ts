// A budget's records in one order, so that two of them can be compared: what is in no order by itself (windows among each other,
// rates) stands in that of its numbers.
import type { BudgetState, Counter } from '../../src/kernel/budget.ts';
import { oldestStep } from '../../src/kernel/window.ts';

const byKey = (a: Counter, b: Counter) => a.windowNo - b.windowNo || a.periodMs - b.periodMs;

/** The budget, ordered. */
export function orderedBudget(budget: BudgetState): BudgetState {
  return {
    ...budget,
    counters: budget.counters.toSorted(byKey),
    steps: budget.steps.toSorted(byKey),
    rateLevels: budget.rateLevels.toSorted((a, b) => a.no - b.no),
  };
}

/** The same as it counts at `atMs`: without steps that do not count any more. */
export function countingBudget(budget: BudgetState, atMs: number): BudgetState {
  const oldest = new Map<number, number>();
  for (const { no, rule } of budget.def.windows) if (rule.kind === 'rolling') oldest.set(no, oldestStep(rule, atMs));
  const steps = budget.steps.filter(({ windowNo, periodMs }) => periodMs >= (oldest.get(windowNo) ?? 0));
  return orderedBudget({ ...budget, steps });
}
