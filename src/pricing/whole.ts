// The one place in pricing that looks at what a number is. Counts, times and sizes are whole numbers that a double holds exactly;
// whatever else arrives as a number is refused here, before anything computes with it.

const DAY_MS = 86_400_000;

/** The largest whole number that a double holds with both its neighbours: 2^53 - 1. */
export const WHOLE_MAX = Number.MAX_SAFE_INTEGER;

/**
 * Most tokens, and most searches, of a call or a report, each count and the sum of all input, or of all output: no model takes a
 * millionth of it, and sums of a few fit into int64.
 */
export const TOKENS_MAX = BigInt(WHOLE_MAX);

/** Whether a value is a whole number, 0 to 2^53 - 1. Minus zero is none: no counter writes it. */
export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0);
}

/** Whether a value is a finite number from 0 on, whole or not: what a decimal text can be taken from. */
export function isFiniteFromZero(value: unknown): value is number {
  return Number.isFinite(value) && (value as number) >= 0 && !Object.is(value, -0);
}

/** Whether a value is a time of day in UTC, in milliseconds since midnight. */
export function isTimeOfDay(value: number): boolean {
  return isWhole(value) && value < DAY_MS;
}

/** The time of day in UTC of an instant from 1970 on, in milliseconds since midnight. */
export function timeOfDayMs(atMs: number): number {
  return atMs % DAY_MS;
}

/** Whether a text has 1 to `lengthMax` characters and no half of a surrogate pair. */
export function isText(text: string, lengthMax: number): boolean {
  return text.length >= 1 && text.length <= lengthMax && text.isWellFormed();
}

/** The whole number that a text of 1 to 15 digits writes; undefined for any other text. */
export function wholeOf(digits: string): number | undefined {
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

/** Days of a month, 1 to 12, of the Gregorian calendar. */
export function daysInMonth(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}
