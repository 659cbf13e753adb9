// What counts in a rolling window now: the sum of its steps that are not too old. Kept beside the steps and moved on as time
// goes, so that a decision does not add up a week of minutes.
import type { Counter } from './budget.ts';
import { invariant } from './invariant.ts';
import { oldestStep, type RollingRule } from './window.ts';

/** Spend that counts in a rolling window. */
export interface RollingSpend {
  readonly settledMicros: bigint;
  readonly overrunMicros: bigint;
}

interface Sum {
  /** Steps before this one are not in the sum. */
  oldestMs: number;
  settledMicros: bigint;
  overrunMicros: bigint;
}

// Derived from the steps alone: whoever has another list of steps has other sums.
const sums = new WeakMap<readonly Counter[], Map<number, Sum>>();

/** What counts of `steps` in a window at `nowMs`. The steps must be in order: see BudgetState. */
export function rollingSpend(
  steps: readonly Counter[],
  windowNo: number,
  rule: RollingRule,
  nowMs: number,
): RollingSpend {
  const oldestMs = oldestStep(rule, nowMs);
  let known = sums.get(steps);
  if (known === undefined) {
    known = new Map();
    sums.set(steps, known);
  }
  const sum = known.get(windowNo);
  if (sum !== undefined && sum.oldestMs === oldestMs) return sum;
  if (sum !== undefined && sum.oldestMs < oldestMs) {
    letGo(steps, windowNo, sum, oldestMs);
    return sum;
  }
  const fresh: Sum = { oldestMs, settledMicros: 0n, overrunMicros: 0n };
  for (const step of steps) if (step.windowNo === windowNo && step.periodMs >= oldestMs) add(fresh, step);
  known.set(windowNo, fresh);
  return fresh;
}

function letGo(steps: readonly Counter[], windowNo: number, sum: Sum, oldestMs: number): void {
  for (const step of steps) {
    if (step.windowNo !== windowNo) continue;
    if (step.periodMs >= oldestMs) break;
    if (step.periodMs < sum.oldestMs) continue;
    sum.settledMicros -= step.settledMicros;
    sum.overrunMicros -= step.overrunMicros;
  }
  sum.oldestMs = oldestMs;
}

function add(sum: Sum, { settledMicros, overrunMicros }: RollingSpend): void {
  sum.settledMicros += settledMicros;
  sum.overrunMicros += overrunMicros;
}

/** A step that was moved in place, and how to take that back. */
export interface StepMove {
  readonly steps: Counter[];
  readonly windowNo: number;
  readonly periodMs: number;
  readonly by: RollingSpend;
  /** As it was; undefined where it was made. */
  readonly before: Counter | undefined;
}

/**
 * Moves a step of `steps` in place: a copy for each batch would cost as much as there are minutes in the window. A step that is
 * not there is made, unless something is taken from it: then it was let go, since it does not count any more, and nothing
 * moves (undefined).
 */
export function moveStep(
  steps: Counter[],
  windowNo: number,
  periodMs: number,
  { settledMicros, overrunMicros }: RollingSpend,
): StepMove | undefined {
  const by = { settledMicros, overrunMicros };
  const at = placeOf(steps, windowNo, periodMs);
  const found = steps[at];
  const before = found?.windowNo === windowNo && found.periodMs === periodMs ? found : undefined;
  if (before === undefined) {
    if (settledMicros < 0n || overrunMicros < 0n) return undefined;
    steps.splice(at, 0, { windowNo, periodMs, heldMicros: 0n, ...by });
  } else {
    const moved = {
      ...before,
      settledMicros: before.settledMicros + settledMicros,
      overrunMicros: before.overrunMicros + overrunMicros,
    };
    invariant(moved.settledMicros >= 0n && moved.overrunMicros >= 0n, `a step of window ${windowNo} below 0`);
    steps[at] = moved;
  }
  moveSum(steps, windowNo, periodMs, by);
  return { steps, windowNo, periodMs, by, before };
}

/** Takes a move back, of several the last one first. */
export function undoStep({ steps, windowNo, periodMs, by, before }: StepMove): void {
  const at = placeOf(steps, windowNo, periodMs);
  if (before === undefined) steps.splice(at, 1);
  else steps[at] = before;
  moveSum(steps, windowNo, periodMs, { settledMicros: -by.settledMicros, overrunMicros: -by.overrunMicros });
}

function moveSum(steps: readonly Counter[], windowNo: number, periodMs: number, by: RollingSpend): void {
  const sum = sums.get(steps)?.get(windowNo);
  if (sum !== undefined && periodMs >= sum.oldestMs) add(sum, by);
}

// Where a step stands or is to stand. By halving: a month of minutes beside the one that is moved must not be walked through.
function placeOf(steps: readonly Counter[], windowNo: number, periodMs: number): number {
  let from = 0;
  let to = steps.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const step = steps[middle] as Counter;
    if (step.windowNo < windowNo || (step.windowNo === windowNo && step.periodMs < periodMs)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** When so much of a window's spend will have been let go that at most `leftMicros` count; undefined: never by that alone. */
export function rollingFreeMs(
  steps: readonly Counter[],
  windowNo: number,
  rule: RollingRule,
  nowMs: number,
  leftMicros: bigint,
): number | undefined {
  if (leftMicros < 0n) return undefined;
  const now = rollingSpend(steps, windowNo, rule, nowMs);
  let countedMicros = now.settledMicros + now.overrunMicros;
  if (countedMicros <= leftMicros) return nowMs;
  const oldestMs = oldestStep(rule, nowMs);
  for (const step of steps) {
    if (step.windowNo !== windowNo || step.periodMs < oldestMs) continue;
    countedMicros -= step.settledMicros + step.overrunMicros;
    if (countedMicros <= leftMicros) return step.periodMs + rule.stepMs + rule.durationMs;
  }
  return undefined;
}
