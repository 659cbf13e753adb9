// Windows: the rules by which limits count, and the calendar that the kernel is handed to find their periods with. The kernel
// has no calendar of its own: zones change by law, and a replay must not depend on them.

/** Units of a calendar window. Weeks begin on Monday (ISO 8601). */
export type CalendarUnit = 'hour' | 'day' | 'week' | 'month';

/** A calendar window: its periods follow each other without gaps, each as long as the calendar makes it. */
export interface CalendarRule {
  readonly kind: 'calendar';
  readonly unit: CalendarUnit;
  /** IANA name of the zone, for example "Europe/Amsterdam". */
  readonly timeZone: string;
}

/** A rolling window. Live holds always count in it; spend counts from when it settled, for `durationMs` and up to one step. */
export interface RollingRule {
  readonly kind: 'rolling';
  readonly durationMs: number;
  /** Spend is summed in steps of this length, so that what it costs does not depend on how much is spent. */
  readonly stepMs: number;
}

/** A fixed range [startMs, endMs): one period, and nothing is reserved outside it. */
export interface RangeRule {
  readonly kind: 'range';
  readonly startMs: number;
  readonly endMs: number;
}

/** The rule by which a limit counts. */
export type WindowRule = { readonly kind: 'lifetime' } | RangeRule | RollingRule | CalendarRule;

/** One instance of a window, half open: [startMs, endMs). */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** Finds periods. The same answer for the same question, and cheap: decisions ask for each window. */
export interface Calendar {
  /** The period that `atMs` lies in. */
  period(rule: CalendarRule, atMs: number): Period;
}

/** Shortest step of a rolling window; its spend would not be summed but listed below that. */
const ROLLING_STEP_MIN_MS = 1_000;

/** Longest step of a rolling window: spend is forgotten at most a minute late. */
const ROLLING_STEP_MAX_MS = 60_000;

/** Steps in one duration, between the bounds above: an hour has steps of thirty seconds. */
const ROLLING_STEP_COUNT = 120;

/** The rolling window of a duration. */
export function rollingRule(durationMs: number): RollingRule {
  const stepMs = Math.floor(durationMs / ROLLING_STEP_COUNT / ROLLING_STEP_MIN_MS) * ROLLING_STEP_MIN_MS;
  return { kind: 'rolling', durationMs, stepMs: Math.min(ROLLING_STEP_MAX_MS, Math.max(ROLLING_STEP_MIN_MS, stepMs)) };
}

/** First instant of the step that `atMs` lies in. */
export function stepOf(rule: RollingRule, atMs: number): number {
  return Math.floor(atMs / rule.stepMs) * rule.stepMs;
}

/** The oldest step whose spend still counts at `nowMs`: what settled at t counts at least until t + durationMs. */
export function oldestStep(rule: RollingRule, nowMs: number): number {
  return stepOf(rule, nowMs - rule.durationMs);
}

/** Whether something can be reserved at `atMs`: in a fixed range only within it, in all other windows at any time. */
export function isOpen(rule: WindowRule, atMs: number): boolean {
  return rule.kind !== 'range' || (atMs >= rule.startMs && atMs < rule.endMs);
}

/** Whether two rules are one window. */
export function sameRule(a: WindowRule, b: WindowRule): boolean {
  switch (a.kind) {
    case 'lifetime':
      return b.kind === 'lifetime';
    case 'range':
      return b.kind === 'range' && a.startMs === b.startMs && a.endMs === b.endMs;
    case 'rolling':
      return b.kind === 'rolling' && a.durationMs === b.durationMs;
    case 'calendar':
      return b.kind === 'calendar' && a.unit === b.unit && a.timeZone === b.timeZone;
  }
}

/** The rule of a window whose spend goes to steps; undefined for all others, and for one that is not among `windows`. */
export function rollingRuleOf(
  windows: readonly { readonly no: number; readonly rule: WindowRule }[],
  windowNo: number,
): RollingRule | undefined {
  if (windowNo === 0) return undefined;
  // Asked several times for each account of each decision.
  for (let at = 0; at < windows.length; at += 1) {
    const window = windows[at];
    if (window?.no === windowNo) return window.rule.kind === 'rolling' ? window.rule : undefined;
  }
  return undefined;
}
