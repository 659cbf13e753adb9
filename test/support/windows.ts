// Windows and lengths of time as kernel tests write them.
import { type CalendarRule, type RangeRule, type RollingRule, rollingRule } from '../../src/kernel/window.ts';
import type { Micros, WindowLimit } from './commands.ts';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A limit per calendar unit, in UTC. */
export function per(unit: CalendarRule['unit'], amount: Micros): WindowLimit & { readonly rule: CalendarRule } {
  return { amount, rule: { kind: 'calendar', unit, timeZone: 'UTC' } };
}

/** A limit over a rolling duration. */
export function rolling(durationMs: number, amount: Micros): WindowLimit & { readonly rule: RollingRule } {
  return { amount, rule: rollingRule(durationMs) };
}

/** A limit for [startMs, endMs). */
export function range(startMs: number, endMs: number, amount: Micros): WindowLimit & { readonly rule: RangeRule } {
  return { amount, rule: { kind: 'range', startMs, endMs } };
}
