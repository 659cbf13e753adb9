// Which counters a decision on a reservation looks at and memory does not have. They leave memory when their period is over and
// nothing is held in it; a reservation that is settled late, or looked at again, needs them once more.
import type { Account, BudgetState } from '../kernel/budget.ts';
import { windowsThrough } from '../kernel/child-share.ts';
import type { Reservation } from '../kernel/reservation.ts';
import type { TreeState } from '../kernel/tree-state.ts';
import { sameRule } from '../kernel/window.ts';

/** Whether all budgets that a reservation charges are loaded, with the counters that it moves. */
export function hasAll(state: TreeState, reservation: Reservation): boolean {
  let budgetCount = 0;
  let windowCount = 0;
  for (const { budgetNo, windowNo } of reservation.accounts) {
    if (windowNo !== 0) continue;
    const budget = state.budget(budgetNo);
    if (budget === undefined) return false;
    budgetCount += 1;
    windowCount += budget.def.windows.length;
  }
  // The usual case looks no further: budgets that have no window but lifetime. One that waits, or did in vain, moves no counter.
  if (windowCount === budgetCount || reservation.queued !== undefined) return true;
  if (!state.hasCounters(reservation.accounts)) return false;
  const asAdmitted = windowCount === reservation.accounts.length && hasWindows(state, reservation);
  return asAdmitted || missingPeriods(state, reservation).length === 0;
}

function hasWindows(state: TreeState, { accounts }: Reservation): boolean {
  for (const { budgetNo, windowNo } of accounts) {
    if (windowNo !== 0 && !state.mustBudget(budgetNo).def.windows.some(({ no }) => no === windowNo)) return false;
  }
  return true;
}

/** The periods of a reservation whose counters are not loaded, of budgets that are. */
export function missingPeriods(state: TreeState, reservation: Reservation): Account[] {
  const { accounts, queued } = reservation;
  if (queued !== undefined) return [];
  return accounts
    .filter(({ windowNo }) => windowNo === 0)
    .flatMap(({ budgetNo }) => {
      const budget = state.budget(budgetNo);
      if (budget === undefined) return [];
      const periods = periodsOf(budget, reservation);
      return [
        ...periods.filter((period) => !state.hasCounters([period])),
        ...siblingPeriods(budget, periods).filter((period) => isPast(budget, period)),
      ];
    });
}

// What is kept for children that the reservation does not go through hangs on what they use in its own periods. Of a period that
// is none of the past the counter is there, or there is none yet.
function siblingPeriods({ def }: BudgetState, periods: readonly Account[]): Account[] {
  if (def.childShares.length === 0) return [];
  return def.windows.flatMap((window) => {
    if (window.childNo === undefined || window.rule.kind !== 'calendar') return [];
    const own = def.windows.find(({ rule, childNo }) => childNo === undefined && sameRule(rule, window.rule));
    const period = periods.find(({ windowNo }) => windowNo === own?.no);
    if (period === undefined || period.periodMs < window.firstPeriodMs) return [];
    return periods.some(({ windowNo }) => windowNo === window.no) ? [] : [{ ...period, windowNo: window.no }];
  });
}

function isPast({ counters }: BudgetState, { windowNo, periodMs }: Account): boolean {
  let isLater = false;
  for (const counter of counters) {
    if (counter.windowNo !== windowNo) continue;
    if (counter.periodMs === periodMs) return false;
    if (counter.periodMs > periodMs) isLater = true;
  }
  return isLater;
}

// A window that came to be after the reservation counts it in the period in which it came to be, or not at all.
function periodsOf({ def }: BudgetState, { accounts, createMs }: Reservation): Account[] {
  const isOn = (no: number): boolean => accounts.some(({ budgetNo }) => budgetNo === no);
  return windowsThrough(def, isOn).flatMap(({ no, firstPeriodMs }) => {
    if (no === 0) return [];
    const own = accounts.find((each) => each.budgetNo === def.no && each.windowNo === no);
    if (own !== undefined) return [own];
    return createMs < firstPeriodMs ? [] : [{ budgetNo: def.no, windowNo: no, periodMs: firstPeriodMs }];
  });
}
