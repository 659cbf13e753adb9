// What an edit of a budget may mean to those who wait: nothing, more room for who comes first, or other rules for all of them. Its own
// file because every one of thousands who wait has to be judged again where it is the last.
import type { BudgetDef, LimitDef } from './budget.ts';

/** `none`: nobody can be granted what could not be before; `raised`: only who comes first for its amounts can; `rules`: anybody. */
export type EditForWaits = 'none' | 'raised' | 'rules';

/** See the head of this file. A weight is not looked at: it changes the order alone. */
export function editForWaits(before: BudgetDef, after: BudgetDef): EditForWaits {
  const changed = (Object.keys(after) as (keyof BudgetDef)[]).filter(
    (name) => !NO_RULES.has(name) && !isAlike(before[name], after[name]),
  );
  if (changed.length === 0) return 'none';
  const { limits } = after;
  const isRaised =
    changed.every((name) => name === 'limits') &&
    limits.length === before.limits.length &&
    limits.every((limit, at) => isNoLess(before.limits[at], limit));
  return isRaised ? 'raised' : 'rules';
}

/** By which no request is judged. */
const NO_RULES: ReadonlySet<keyof BudgetDef> = new Set([
  'kind',
  'owner',
  'onExpiry',
  'overrun',
  'alertAt',
  'weight',
  'revision',
  'updateMs',
]);

// Whoever states a list states all of it, as it is for the most part.
function isAlike(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [ofA, ofB] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) => isAlike(ofA[name], ofB[name]));
}

// One that counts in another window now has other spend in its way, and may have lost what was topped up.
function isNoLess(before: LimitDef | undefined, { no, windowNo, amountMicros }: LimitDef): boolean {
  return before?.no === no && before.windowNo === windowNo && amountMicros >= before.amountMicros;
}
