// Records as text that can be compared: equal records give equal text, whatever the order of their fields. Shared by the
// full verifier and the one in the background.
import type { BudgetState } from '../kernel/budget.ts';
import type { Reservation } from '../kernel/reservation.ts';

/** A reservation. Personal fields are not part of the journal, so they are not compared. */
export function reservationText(reservation: Reservation): string {
  return textOf({ ...reservation, actingFor: '', labels: [] });
}

/** A budget with its counters. One that never moved may be missing from either side. */
export function budgetText(budget: BudgetState): string {
  const counters = budget.counters
    .filter((counter) => counter.heldMicros !== 0n || counter.settledMicros !== 0n || counter.overrunMicros !== 0n)
    .toSorted((a, b) => a.windowNo - b.windowNo || a.periodMs - b.periodMs);
  return textOf({ def: budget.def, counters, activeCount: budget.activeCount });
}

// Keys in one order, amounts as text: equal records give equal text.
function textOf(record: unknown): string {
  return JSON.stringify(record, (_key, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
