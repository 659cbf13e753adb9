// Alerts as rows that stand for a limit: of the latest period that it was told of, one for each share, as `marksAfter` in the
// kernel leaves its marks. Apart from the other changes because what stands is found limit by limit.
import type { AlertMark } from '../kernel/alert-mark.ts';
import type { BudgetDef } from '../kernel/budget.ts';
import type { Alert } from '../kernel/entry.ts';

/** A share that a limit's spend reached in a period, as it was told last: in a rolling window it may be told again. */
export interface AlertRow {
  readonly budgetNo: number;
  readonly limitNo: number;
  readonly periodMs: number;
  readonly percent: number;
  /** When it was told. */
  readonly atMs: number;
  readonly usedMicros: bigint;
  readonly amountMicros: bigint;
}

/** Row of an alert that was just told. */
export function alertRow(alert: Alert, atMs: number): AlertRow {
  const { budgetNo, limitNo, periodMs, percent, usedMicros, amountMicros } = alert;
  return { budgetNo, limitNo, periodMs, percent, atMs, usedMicros, amountMicros };
}

/**
 * Rows of one limit after later ones, which take the place of those of earlier periods. Rows that were folded alike among each
 * other may come as `later`: what they took the place of, they take the place of here.
 */
export function alertsAfter(before: readonly AlertRow[], later: readonly AlertRow[]): AlertRow[] {
  const stays = ({ periodMs, percent }: AlertRow) =>
    !later.some((each) => each.periodMs > periodMs || (each.periodMs === periodMs && each.percent === percent));
  return [...before.filter(stays), ...later];
}

/** Marks of the limits that a budget has; limits that an edit took away never come back under their numbers. */
export function marksOf(def: BudgetDef, marks: readonly AlertMark[]): readonly AlertMark[] {
  return marks.filter(({ limitNo }) => def.limits.some(({ no }) => no === limitNo));
}
