// Whether an edit raised amounts and did nothing else: then only who comes first for them can fit now who did not before.
import type { BudgetDef, LimitDef } from './budget.ts';

/** See the head of this file. */
export function isRaised(before: BudgetDef, after: BudgetDef): boolean {
  const { limits, revision, updateMs, ...rest } = after;
  const isRest = Object.entries(rest).every(([name, value]) => before[name as keyof typeof rest] === value);
  return (
    isRest && limits.length === before.limits.length && limits.every((limit, at) => isNoLess(before.limits[at], limit))
  );
}

// One that counts in another window now has other spend in its way, and may have lost what was topped up.
function isNoLess(before: LimitDef | undefined, { no, windowNo, amountMicros }: LimitDef): boolean {
  return before?.no === no && before.windowNo === windowNo && amountMicros >= before.amountMicros;
}
