// A budget as it counts at an instant: what memory lets go of it makes no difference, so two that differ in nothing else are one.
import type { BudgetState } from '../../src/kernel/budget.ts';
import { oldestStep } from '../../src/kernel/window.ts';
import { inOrder } from './picture-of.ts';

/** The budget in order, without steps that do not count any more at `atMs`. */
export function countingBudget(budget: BudgetState, atMs: number): BudgetState {
  const oldest = new Map<number, number>();
  for (const { no, rule } of budget.def.windows) if (rule.kind === 'rolling') oldest.set(no, oldestStep(rule, atMs));
  const steps = budget.steps.filter(({ windowNo, periodMs }) => periodMs >= (oldest.get(windowNo) ?? 0));
  return inOrder({ ...budget, steps });
}
