// What a window that is new on a budget has to start from: it counts what the journal says since its start, not from the edit
// on. The kernel says which windows need it; whoever keeps the journal sums it up, and it comes back in the command.
import type { Counter } from './budget.ts';
import { type Calendar, oldestStep, sameRule, type WindowRule } from './window.ts';

/** One window whose past is asked for. */
export interface HistoryNeed {
  readonly rule: WindowRule;
  /**
   * Calendar and range windows: sums over reservations admitted from here on (to the end of the range). Rolling ones: over
   * what settled from here on.
   */
  readonly fromMs: number;
}

/** Sums of a budget's past at one position of its tree's journal. */
export interface WindowHistory {
  /** Sequence of the tree's last entry that is in the sums: they are good for the decision right after it and no other. */
  readonly seq: number;
  readonly sums: readonly WindowSum[];
}

/** What one window has to start from. All in micro-units. */
export interface WindowSum {
  readonly rule: WindowRule;
  /** As asked for. */
  readonly fromMs: number;
  /** Held by live reservations: those admitted from `fromMs` on, or all of them in a rolling window. */
  readonly heldMicros: bigint;
  readonly settledMicros: bigint;
  readonly overrunMicros: bigint;
  /**
   * Rolling windows: settled and overrun by step, oldest first; the two sums above are 0 then. What a lapse assumed and is not
   * replaced yet stands in the step of the lapse, since a late settlement takes it out there; for all else any step from that of
   * its settlement on will do.
   */
  readonly steps: readonly Pick<Counter, 'periodMs' | 'settledMicros' | 'overrunMicros'>[];
}

/** Windows whose past is asked for, as what is charged to one budget. */
export interface BudgetNeeds {
  readonly budgetNo: number;
  readonly needs: readonly HistoryNeed[];
}

/** What one budget's past comes to in windows. */
export interface BudgetPast {
  readonly budgetNo: number;
  readonly sums: readonly WindowSum[];
}

/** The pasts of an edit, all at one position of its tree's journal. */
export interface EditHistory {
  /** Sequence of the tree's last entry that is in the sums: they are good for the decision right after it and no other. */
  readonly seq: number;
  readonly budgets: readonly BudgetPast[];
}

/** What is asked of the past for a window that a budget gets at `nowMs`. */
export function historyNeed(rule: WindowRule, nowMs: number, calendar: Calendar): HistoryNeed {
  return { rule, fromMs: firstPeriodOf(rule, nowMs, calendar) || pastOf(rule, nowMs) };
}

/** Whether sums answer what is needed: of a calendar window, for the period that it is. */
export function fitsNeeds(sums: readonly WindowSum[], needs: readonly HistoryNeed[]): boolean {
  return needs.every(({ rule, fromMs }) =>
    sums.some((sum) => sameRule(sum.rule, rule) && (rule.kind === 'rolling' || sum.fromMs === fromMs)),
  );
}

/** First period that a window counts when it comes to be at `nowMs`: see WindowDef. */
export function firstPeriodOf(rule: WindowRule, nowMs: number, calendar: Calendar): number {
  switch (rule.kind) {
    case 'range':
      return rule.startMs;
    case 'calendar':
      return calendar.period(rule, nowMs).startMs;
    default:
      return 0;
  }
}

function pastOf(rule: WindowRule, nowMs: number): number {
  return rule.kind === 'rolling' ? oldestStep(rule, nowMs) : 0;
}
