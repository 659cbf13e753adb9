// Records after an entry, where that takes more than copying what the entry says. Deciding (for the answer) and applying
// (for the state) share them.
import type { BudgetState, Counter, Labels } from './budget.ts';
import { newBudgetState } from './budget-from-terms.ts';
import type { BudgetChange } from './entry.ts';
import type { RateLevel } from './rate.ts';

/** The budget after an entry on it; `before` is undefined where the entry creates it. */
export function budgetAfter(before: BudgetState | undefined, entry: BudgetChange): BudgetState {
  const { def } = entry;
  const budget = before ?? newBudgetState(def);
  return {
    ...budget,
    def,
    ...countersAfter(budget, entry),
    rateLevels: rateLevelsAfter(budget.rateLevels, entry),
    alertMarks: budget.alertMarks.filter(({ limitNo }) => def.limits.some(({ no }) => no === limitNo)),
    labels: entry.replaceLabels ? (entry.personal?.labels ?? []) : budget.labels,
  };
}

// A window that leaves the definition is not counted any more, and one that comes begins with what the entry says.
function countersAfter(before: BudgetState, { def, opening }: BudgetChange) {
  if (before.def.windows === def.windows) return { counters: before.counters, steps: before.steps };
  const stays = ({ windowNo }: Counter): boolean => def.windows.some(({ no }) => no === windowNo);
  const isStep = ({ windowNo, periodMs }: Counter): boolean =>
    periodMs !== 0 && def.windows.some(({ no, rule }) => no === windowNo && rule.kind === 'rolling');
  return {
    counters: [...before.counters.filter(stays), ...opening.filter((each) => !isStep(each))],
    steps: [...before.steps.filter(stays), ...opening.filter(isStep)],
  };
}

// A rate that leaves the definition has no level any more, and one that is edited goes on from what it holds.
function rateLevelsAfter(before: readonly RateLevel[], { def, rateMoves, atMs }: BudgetChange): readonly RateLevel[] {
  const stays = before.filter(({ no }) => def.rates.some((rate) => rate.no === no));
  const moved = rateMoves.map(({ rateNo, level }) => ({ no: rateNo, level, atMs }));
  return [...stays.filter(({ no }) => !moved.some((each) => each.no === no)), ...moved];
}

/** Labels of a settlement laid over those of the Reserve, in the order of their keys. */
export function labelsAfter(labels: Labels, over: Labels): Labels {
  if (over.length === 0) return labels;
  const merged = new Map(labels);
  for (const [key, value] of over) merged.set(key, value);
  return [...merged].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
