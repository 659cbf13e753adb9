// Records after an entry, where that takes more than copying what the entry says. Deciding (for the answer) and applying
// (for the state) share them.
import { type BudgetState, EMPTY_LIFETIME, type Labels } from './budget.ts';
import type { BudgetChange } from './entry.ts';

/** The budget after an entry on it; `before` is undefined where the entry creates it. */
export function budgetAfter(before: BudgetState | undefined, entry: BudgetChange): BudgetState {
  return {
    def: entry.def,
    counters: before?.counters ?? [EMPTY_LIFETIME],
    activeCount: before?.activeCount ?? 0,
    labels: entry.replaceLabels ? (entry.personal?.labels ?? []) : (before?.labels ?? []),
  };
}

/** Labels of a settlement laid over those of the Reserve, in the order of their keys. */
export function labelsAfter(labels: Labels, over: Labels): Labels {
  if (over.length === 0) return labels;
  const merged = new Map(labels);
  for (const [key, value] of over) merged.set(key, value);
  return [...merged].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
