// A budget as the model knows it, and what a limit of it counts: sums over a list of holds, by the rule of the window.
import type { BudgetTerms, LimitInput } from '../../src/kernel/budget.ts';
import type { RateInput } from '../../src/kernel/rate.ts';
import type { WindowRule } from '../../src/kernel/window.ts';
import { UTC_CALENDAR } from '../support/utc-calendar.ts';
import type { Hold } from './prediction.ts';

/** A limit as it was stated. */
export interface StatedLimit {
  readonly amount: number;
  readonly rule: WindowRule;
  /** What was added for one period alone. */
  readonly extra?: { readonly periodMs: number; readonly add: number } | undefined;
}

/** A rate, and how full it was at its last use, in units x perMs. */
export interface ModelRate extends RateInput {
  level: number;
  atMs: number;
}

export interface ModelBudget {
  /** By name, in the order in which they were listed. */
  limits: ReadonlyMap<string, StatedLimit>;
  readonly rates: readonly ModelRate[];
  readonly maxActive: number;
  readonly maxReservation: number;
  /** Terms of budgets right below that nobody made. */
  readonly template: BudgetTerms | undefined;
  onExpiry: string;
  suspended: boolean;
  closed: boolean;
  revision: number;
}

/** One limit as it stands. */
export interface ModelLimit extends StatedLimit {
  readonly path: string;
  readonly name: string;
  /** What it comes to in the period. */
  readonly amountNow: number;
  /** amountNow - used, below 0 where lowered. */
  readonly left: number;
  readonly held: number;
}

/** A budget that was just made. */
export function newBudget(terms: BudgetTerms): ModelBudget {
  const { shape, onExpiry, childTemplate: template } = terms;
  return {
    limits: statedLimits(terms.limits),
    rates: terms.rates.map((rate) => ({ ...rate, level: rate.burst * rate.perMs, atMs: 0 })),
    maxActive: shape.maxActive ?? Number.POSITIVE_INFINITY,
    maxReservation: Number(shape.maxReservationMicros ?? Number.MAX_SAFE_INTEGER),
    template,
    onExpiry,
    suspended: false,
    closed: false,
    revision: 1,
  };
}

/** Limits by name. What one of `before` was topped up by for its period stays. */
export function statedLimits(
  inputs: readonly LimitInput[],
  before: ReadonlyMap<string, StatedLimit> = new Map(),
): ReadonlyMap<string, StatedLimit> {
  return new Map(
    inputs.map(({ name, rule, amountMicros }) => {
      return [name, { amount: Number(amountMicros), rule, extra: before.get(name)?.extra }];
    }),
  );
}

/** A limit with more: one of a calendar window for its period alone. */
export function toppedUp(limit: StatedLimit, add: number, nowMs: number): StatedLimit {
  if (limit.rule.kind !== 'calendar') return { ...limit, amount: limit.amount + add };
  const periodMs = periodOf(limit, nowMs);
  const before = limit.extra?.periodMs === periodMs ? limit.extra.add : 0;
  return { ...limit, extra: { periodMs, add: before + add } };
}

/** Amounts by name, as stated. */
export function amountsOf(limits: ReadonlyMap<string, StatedLimit>): Record<string, number> {
  return Object.fromEntries([...limits].map(([name, { amount }]) => [name, amount]));
}

/** First instant of the period in which a limit counts what was admitted at `atMs`; 0 where it has no periods. */
function periodOf({ rule }: StatedLimit, atMs: number): number {
  return rule.kind === 'calendar' ? UTC_CALENDAR.period(rule, atMs).startMs : 0;
}

/** A limit for what was admitted at `admittedMs`, at `nowMs`. `charging`: all holds that charge its budget. */
export function standing(
  [name, limit]: readonly [string, StatedLimit],
  path: string,
  charging: readonly Hold[],
  admittedMs: number,
  nowMs: number,
): ModelLimit {
  const periodMs = periodOf(limit, admittedMs);
  const counting = charging.filter(({ createMs }) => periodOf(limit, createMs) === periodMs);
  const held = sum(counting, (hold) => hold.held);
  const { extra } = limit;
  const amountNow = limit.amount + (extra?.periodMs === periodMs ? extra.add : 0);
  return { ...limit, path, name, amountNow, left: amountNow - held - sum(counting, spentOf(limit, nowMs)), held };
}

// A rolling window forgets in steps.
function spentOf({ rule }: StatedLimit, nowMs: number): (hold: Hold) => number {
  if (rule.kind !== 'rolling') return ({ settled, overrun }) => settled + overrun;
  const stepOf = (atMs: number) => Math.floor(atMs / rule.stepMs);
  return ({ spends }) =>
    spends.reduce(
      (total, { atMs, amount }) => total + (stepOf(atMs) >= stepOf(nowMs - rule.durationMs) ? amount : 0),
      0,
    );
}

/** What is left to use: nothing where the amount was lowered below what is used. */
export function available({ left }: ModelLimit): number {
  return Math.max(0, left);
}

/** Whether waiting may make room for `min` under a failing limit. `own`: what who asks for more holds; undefined for a Reserve. */
export function recovers(
  { left, held, amount, amountNow, rule }: ModelLimit,
  min: number,
  own: number | undefined,
): boolean {
  if (left + held - (own ?? 0) >= min) return true;
  if (rule.kind === 'calendar') return own === undefined && amount >= min;
  return rule.kind === 'rolling' && amountNow - (own ?? 0) >= min;
}

/** Milliseconds until a rate holds one more; 0 where it does. */
export function waitOf({ level, atMs, count, perMs, burst }: ModelRate, nowMs: number): number {
  const now = Math.min(burst * perMs, level + (nowMs - atMs) * count);
  return Math.max(0, Math.ceil((perMs - now) / count));
}

/** Takes one. */
export function useRate(rate: ModelRate, nowMs: number): void {
  rate.level = Math.min(rate.burst * rate.perMs, rate.level + (nowMs - rate.atMs) * rate.count) - rate.perMs;
  rate.atMs = nowMs;
}

/** Sum over holds. */
export function sum(holds: readonly Hold[], of: (hold: Hold) => number): number {
  return holds.reduce((total, hold) => total + of(hold), 0);
}

/** All that a hold charges by name. */
export function pathsOf({ path, also }: Hold): readonly string[] {
  return [path, ...also];
}

/** Whether a path is another or lies below it. */
export function isWithin(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(`${ancestor}/`);
}
