// Which limit the model names, and for what reason.
import { available, type ModelLimit } from './model-budget.ts';
import type { PredictedRefusal } from './prediction.ts';

/** Exhausted before held; undefined where no limit fails. */
export function moneyRefusal(failing: readonly ModelLimit[], min: number): PredictedRefusal | undefined {
  const spent = tightest(
    failing.filter(({ left, held }) => left + held < min),
    available,
  );
  if (spent !== undefined) return refusal('BUDGET_EXHAUSTED', spent.path, spent.name);
  const named = tightest(failing, available);
  return named && refusal('CAPACITY_HELD', named.path, named.name);
}

/** A refusal without RetryInfo. */
export function refusal(reason: string, budget = '', limit = ''): PredictedRefusal {
  return { kind: 'refusal', reason, budget, limit, retry: false };
}

/** Limits come root first: the first of equals is the one nearest the root. */
export function tightest(limits: readonly ModelLimit[], size: (limit: ModelLimit) => number): ModelLimit | undefined {
  const least = Math.min(...limits.map(size));
  return limits.find((limit) => size(limit) === least);
}
