// Which counters a decision on a reservation looks at and memory does not have. They leave memory when their period is over and
// nothing is held in it; a reservation that is settled late, or looked at again, needs them once more.
import type { Account, BudgetState } from '../kernel/budget.ts';
import type { Reservation } from '../kernel/reservation.ts';
import type { TreeState } from '../kernel/tree-state.ts';

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
      return periodsOf(budget, reservation).filter((period) => !state.hasCounters([period]));
    });
}

// A window that came to be after the reservation counts it in the period in which it came to be, or not at all.
function periodsOf({ def }: BudgetState, { accounts, createMs }: Reservation): Account[] {
  return def.windows.flatMap(({ no, firstPeriodMs }) => {
    if (no === 0) return [];
    const own = accounts.find((each) => each.budgetNo === def.no && each.windowNo === no);
    if (own !== undefined) return [own];
    return createMs < firstPeriodMs ? [] : [{ budgetNo: def.no, windowNo: no, periodMs: firstPeriodMs }];
  });
}
