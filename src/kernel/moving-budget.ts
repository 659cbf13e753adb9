// One budget's counters in motion: moved in place on a copy that a batch made (tree-state.ts says why), and the records of
// periods that are over, which memory lets go.
import { marksAfter } from './alert-mark.ts';
import type { Account, BudgetState, Counter } from './budget.ts';
import type { Alert, Effect } from './entry.ts';
import { invariant } from './invariant.ts';
import type { RateLevel } from './rate.ts';
import { NO_USE, useAfter } from './recent-use.ts';
import { moveStep, type StepMove } from './rolling-spend.ts';
import { oldestStep, rollingRuleOf } from './window.ts';

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A budget whose counters may be moved in place. */
export interface MovingBudget extends Omit<Writable<BudgetState>, 'counters' | 'steps' | 'rateLevels'> {
  counters: Writable<Counter>[];
  steps: Counter[];
  rateLevels: RateLevel[];
}

/** A copy that may be moved in place; its steps are no copy, and their moves are noted to be taken back. */
export function movingCopy(budget: BudgetState): MovingBudget {
  return {
    ...budget,
    counters: budget.counters.map((counter) => ({ ...counter })),
    steps: budget.steps as Counter[],
    rateLevels: [...budget.rateLevels],
  };
}

/** Moves the lifetime counter and the number of live reservations. */
export function moveLifetime(budget: MovingBudget, effect: Effect, atMs: number): void {
  const counter = budget.counters[0];
  invariant(counter?.windowNo === 0, `budget ${budget.def.path} has no lifetime counter`);
  moveCounter(budget, counter, effect);
  budget.activeCount += effect.active;
  invariant(budget.activeCount >= 0, `the live reservations of ${budget.def.path} below 0`);
  if (atMs > budget.movedMs) budget.movedMs = atMs;
  const spentMicros = effect.settledMicros + effect.overrunMicros;
  if (spentMicros !== 0n) budget.recent = useAfter(budget.recent ?? NO_USE, spentMicros, atMs);
}

/** Moves the number of children that are not closed. */
export function moveOpenChildren(budget: MovingBudget, change: number): void {
  budget.openChildCount += change;
  invariant(budget.openChildCount >= 0, `the open children of ${budget.def.path} below 0`);
}

/** Takes note of how full a rate is. */
export function moveRate(budget: MovingBudget, level: RateLevel): void {
  const at = budget.rateLevels.findIndex(({ no }) => no === level.no);
  if (at === -1) budget.rateLevels.push(level);
  else budget.rateLevels[at] = level;
}

/** Takes note of those among `alerts` that are about this budget. */
export function mark(budget: MovingBudget, alerts: readonly Alert[]): void {
  const own = alerts.filter(({ budgetNo }) => budgetNo === budget.def.no);
  budget.alertMarks = marksAfter(budget.alertMarks, own);
}

/**
 * Moves another window's counter; a step's move is added to `stepMoves`. Returns whether a counter or a step was made. A period that is not here and is not the latest
 * one is not loaded: its counter is, before anything decides on it, and the effect comes with it.
 */
export function moveWindow(budget: MovingBudget, account: Account, effect: Effect, stepMoves: StepMove[]): boolean {
  const { windowNo, periodMs } = account;
  if (periodMs !== 0 && rollingRuleOf(budget.def.windows, windowNo) !== undefined) {
    const move = moveStep(budget.steps, windowNo, periodMs, effect);
    if (move === undefined) return false;
    stepMoves.push(move);
    return move.before === undefined;
  }
  let latestMs = -1;
  for (const counter of budget.counters) {
    if (counter.windowNo !== windowNo) continue;
    if (counter.periodMs === periodMs) {
      moveCounter(budget, counter, effect);
      return false;
    }
    latestMs = counter.periodMs;
  }
  const { path, windows, windowNoMax } = budget.def;
  invariant(windowNo <= windowNoMax, `budget ${path} has no counter for window ${windowNo}`);
  if (periodMs <= latestMs || !windows.some(({ no }) => no === windowNo)) return false;
  const made = { windowNo, periodMs, heldMicros: 0n, settledMicros: 0n, overrunMicros: 0n };
  moveCounter(budget, made, effect);
  budget.counters.push(made);
  return true;
}

function moveCounter(budget: MovingBudget, counter: Writable<Counter>, effect: Effect): void {
  counter.heldMicros += effect.heldMicros;
  counter.settledMicros += effect.settledMicros;
  counter.overrunMicros += effect.overrunMicros;
  invariant(
    counter.heldMicros >= 0n && counter.settledMicros >= 0n && counter.overrunMicros >= 0n,
    `a counter of ${budget.def.path} below 0`,
  );
}

/** Without counters of periods that are over and hold nothing, and without steps that do not count any more at `nowMs`. */
export function withoutPast(budget: BudgetState, nowMs: number): BudgetState {
  const latest = new Map(budget.counters.map(({ windowNo, periodMs }) => [windowNo, periodMs]));
  const oldest = new Map<number, number>();
  for (const { no, rule } of budget.def.windows) if (rule.kind === 'rolling') oldest.set(no, oldestStep(rule, nowMs));
  const counters = budget.counters.filter(
    ({ windowNo, periodMs, heldMicros }) => heldMicros > 0n || latest.get(windowNo) === periodMs,
  );
  const counts = ({ windowNo, periodMs }: Counter): boolean => periodMs >= (oldest.get(windowNo) ?? 0);
  // The usual case copies nothing, and keeps the sums of the steps.
  const steps = budget.steps.every(counts) ? budget.steps : budget.steps.filter(counts);
  return { ...budget, counters, steps };
}
