// Refusals for the form of a request, whatever money there is: too large, too long, too deep, too many, out of its time (DESIGN,
// section 5: the order of shape).
import type { BudgetDef, BudgetState, Shape } from './budget.ts';
import { binds } from './enforcement.ts';
import { minMicros as least, MICROS_MAX } from './money.ts';
import type { Refusal } from './refusal.ts';
import type { Reservation } from './reservation.ts';
import { isOpen } from './window.ts';

/** The tightest of one bound over budgets, of equals that nearest the root. */
interface Tightest<T> {
  readonly budget: string;
  readonly unit: string;
  readonly max: T;
}

function tightestBound<Name extends keyof Shape>(
  budgets: readonly BudgetState[],
  name: Name,
): Tightest<NonNullable<Shape[Name]>> | undefined {
  let found: Tightest<NonNullable<Shape[Name]>> | undefined;
  for (const { def } of budgets) {
    const max = def.shape[name];
    if (max !== undefined && (found === undefined || max < found.max)) {
      found = { budget: def.path, unit: def.unit, max: max as NonNullable<Shape[Name]> };
    }
  }
  return found;
}

/** The most that one reservation on these budgets may come to. */
export function largestMicros(budgets: readonly BudgetState[]): bigint {
  let largest = MICROS_MAX;
  for (const { def } of budgets) largest = least(largest, def.shape.maxReservationMicros ?? largest);
  return largest;
}

/** MAX_RESERVATION_EXCEEDED where a reservation that comes to `grantedMicros` would pass a bound by `minMicros` more. */
export function largestRefusal(
  budgets: readonly BudgetState[],
  grantedMicros: bigint,
  minMicros: bigint,
): Refusal | undefined {
  const bound = tightestBound(budgets, 'maxReservationMicros');
  if (bound === undefined || grantedMicros + minMicros <= bound.max) return undefined;
  const { budget, unit, max } = bound;
  return {
    kind: 'refusal',
    reason: 'MAX_RESERVATION_EXCEEDED',
    message: `one reservation on ${budget} may come to ${max}, not to ${grantedMicros + minMicros}`,
    budget,
    unit,
    availableMicros: max > grantedMicros ? max - grantedMicros : 0n,
    requestedMicros: minMicros,
  };
}

/** Length of a lease whose caller says none: a model call or two (DESIGN, section 5). */
const TTL_MS_DEFAULT = 60_000;

/** How long a lease runs: as asked, or 60 s and no longer than the budgets that bind allow. */
export function leaseMs(budgets: readonly BudgetState[], ttlMs: number | undefined): number {
  if (ttlMs !== undefined) return ttlMs;
  let lengthMs = TTL_MS_DEFAULT;
  for (const budget of budgets) {
    if (binds(budget)) lengthMs = Math.min(lengthMs, budget.def.shape.maxLeaseMs ?? lengthMs);
  }
  return lengthMs;
}

/** MAX_LEASE_EXCEEDED where a lease that was asked for is longer than a budget allows; one that says no length never is. */
export function leaseLengthRefusal(budgets: readonly BudgetState[], ttlMs: number | undefined): Refusal | undefined {
  if (ttlMs === undefined) return undefined;
  const bound = tightestBound(budgets, 'maxLeaseMs');
  if (bound === undefined || ttlMs <= bound.max) return undefined;
  const { budget, max } = bound;
  const message = `a lease on ${budget} may run for ${max} ms, not for ${ttlMs}`;
  return {
    kind: 'refusal',
    reason: 'MAX_LEASE_EXCEEDED',
    message,
    budget,
    bound: { name: 'max_lease', max, observed: ttlMs },
  };
}

/** MAX_LEASE_EXCEEDED where a reservation was renewed as often as a budget allows. */
export function renewalCountRefusal(budgets: readonly BudgetState[], reservation: Reservation): Refusal | undefined {
  const bound = tightestBound(budgets, 'maxRenewals');
  const observed = reservation.figures.renewalCount;
  if (bound === undefined || observed < bound.max) return undefined;
  const { budget, max } = bound;
  const message = `a reservation on ${budget} may be renewed ${max === 1 ? '1 time' : `${max} times`}`;
  return {
    kind: 'refusal',
    reason: 'MAX_LEASE_EXCEEDED',
    message,
    budget,
    bound: { name: 'max_renewals', max, observed },
  };
}

/** DEPTH_LIMIT where a budget of `depth` segments is deeper than one above it allows. `above`: root first. */
export function depthRefusal(above: readonly BudgetState[], depth: number): Refusal | undefined {
  let named:
    | { readonly budget: string; readonly left: number; readonly max: number; readonly levels: number }
    | undefined;
  above.forEach(({ def }, index) => {
    const max = def.shape.maxDepth;
    const levels = depth - (index + 1);
    if (max === undefined || levels <= max) return;
    if (named === undefined || max - levels < named.left) named = { budget: def.path, left: max - levels, max, levels };
  });
  if (named === undefined) return undefined;
  const { budget, max, levels } = named;
  const message = `budget ${budget} may have ${max} levels below it, not ${levels}`;
  return {
    kind: 'refusal',
    reason: 'DEPTH_LIMIT',
    message,
    budget,
    bound: { name: 'max_depth', max, observed: levels },
  };
}

/** FAN_OUT_LIMIT where one more child than `openChildCount` is more than a budget allows. */
export function fanOutRefusal({ def }: BudgetState, openChildCount: number): Refusal | undefined {
  const max = def.shape.maxChildren;
  if (max === undefined || openChildCount < max) return undefined;
  const message = `budget ${def.path} has ${openChildCount} open children and may have ${max}`;
  return {
    kind: 'refusal',
    reason: 'FAN_OUT_LIMIT',
    message,
    budget: def.path,
    bound: { name: 'max_children', max, observed: openChildCount },
  };
}

/**
 * WINDOW_CLOSED where a fixed range does not hold `nowMs`: by one that is over, or else by the one that begins last. Without
 * RetryInfo.
 */
export function windowRefusal(budgets: readonly BudgetState[], nowMs: number): Refusal | undefined {
  let named: { readonly def: BudgetDef; readonly windowNo: number; readonly opensMs: number } | undefined;
  for (const { def } of budgets) {
    for (const { no, rule } of def.windows) {
      if (rule.kind !== 'range' || isOpen(rule, nowMs)) continue;
      const opensMs = nowMs < rule.startMs ? rule.startMs : Number.POSITIVE_INFINITY;
      if (named === undefined || opensMs > named.opensMs) named = { def, windowNo: no, opensMs };
    }
  }
  if (named === undefined) return undefined;
  const { def, windowNo, opensMs } = named;
  const limit = def.limits.find((each) => each.windowNo === windowNo)?.name ?? '';
  const when = Number.isFinite(opensMs) ? 'has not begun' : 'is over';
  const message = `the time of limit ${limit} of ${def.path} ${when}`;
  return { kind: 'refusal', reason: 'WINDOW_CLOSED', message, budget: def.path, limit };
}

/** Milliseconds until all fixed ranges of budgets have begun; 0 where they have. */
export function rangesWaitMs(budgets: readonly BudgetState[], nowMs: number): number {
  let waitMs = 0;
  for (const { def } of budgets) {
    for (const { rule } of def.windows) if (rule.kind === 'range') waitMs = Math.max(waitMs, rule.startMs - nowMs);
  }
  return waitMs;
}

/** IMPLAUSIBLE_AMOUNT where an unconfirmed cost is more than `factor` times what was granted. A hold of 0 is not judged. */
export function implausibleRefusal(
  reservation: Reservation,
  actualMicros: bigint | undefined,
  factor: number,
): Refusal | undefined {
  const { grantedMicros } = reservation.figures;
  if (actualMicros === undefined || factor === 0 || grantedMicros === 0n) return undefined;
  if (actualMicros <= grantedMicros * BigInt(factor)) return undefined;
  return {
    kind: 'refusal',
    reason: 'IMPLAUSIBLE_AMOUNT',
    message: `${actualMicros} is more than ${factor} times the ${grantedMicros} that were granted; confirm it if it is right`,
    budget: reservation.budget,
    unit: reservation.unit,
    availableMicros: grantedMicros,
    requestedMicros: actualMicros,
  };
}
