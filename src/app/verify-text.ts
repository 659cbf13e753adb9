// Records as text that can be compared: equal records give equal text, whatever the order of their fields. Shared by the
// full verifier and the one in the background.
import type { BudgetState, Counter } from '../kernel/budget.ts';
import type { Reservation } from '../kernel/reservation.ts';
import { oldestStep } from '../kernel/window.ts';

/** A reservation. Personal fields are not part of the journal, so they are not compared. */
export function reservationText(reservation: Reservation): string {
  const { queued } = reservation;
  const unsalted = queued && { ...queued, salt: undefined };
  return textOf({ ...reservation, queued: unsalted, actingFor: '', labels: [] });
}

/** A budget with its counts, the levels of its rates and its marks of alerts; its counters are compared one by one. */
export function budgetText(budget: BudgetState): string {
  const { def, activeCount, openChildCount, movedMs } = budget;
  const rateLevels = budget.rateLevels.toSorted((a, b) => a.no - b.no);
  const alertMarks = budget.alertMarks.toSorted(
    (a, b) => a.limitNo - b.limitNo || a.periodMs - b.periodMs || a.percent - b.percent,
  );
  return textOf({ def, activeCount, openChildCount, movedMs, rateLevels, alertMarks });
}

/**
 * Counters that decisions at `atMs` go by: those of periods, and the steps that still count. What does not count any more a
 * state may have let go, and made anew where something was added to it.
 */
export function countingCounters({ def, counters, steps }: BudgetState, atMs: number): readonly Counter[] {
  if (steps.length === 0) return counters;
  const oldest = new Map<number, number>();
  for (const { no, rule } of def.windows) if (rule.kind === 'rolling') oldest.set(no, oldestStep(rule, atMs));
  return [...counters, ...steps.filter((step) => step.periodMs >= (oldest.get(step.windowNo) ?? 0))];
}

/** Whether `counters` are all among others, with the same sums. One that is zero may be missing there. */
export function isAmong(counters: readonly Counter[], others: readonly Counter[]): boolean {
  const keyOf = ({ windowNo, periodMs }: Counter): string => `${windowNo}:${periodMs}`;
  const known = new Map(others.map((counter) => [keyOf(counter), counter]));
  return counters.every((counter) => {
    const { heldMicros, settledMicros, overrunMicros } = counter;
    const other = known.get(keyOf(counter)) ?? { heldMicros: 0n, settledMicros: 0n, overrunMicros: 0n };
    return (
      heldMicros === other.heldMicros && settledMicros === other.settledMicros && overrunMicros === other.overrunMicros
    );
  });
}

// Keys in one order, amounts as text: equal records give equal text.
function textOf(record: unknown): string {
  return JSON.stringify(record, (_key, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
