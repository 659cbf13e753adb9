// Which of a model's records count at the import: the newest that has begun and its times of day. The catalogue lists them in one
// order, the last that fits wins. What has not begun is left for a later import, since such prices have been taken back before.
import { floorDiv } from './exact.ts';
import type { TimeBand } from './price-row.ts';
import { isFields } from './usage/report.ts';
import { wholeOf } from './whole.ts';

/** A record that counts. */
export interface CurrentEntry {
  readonly record: unknown;
  /** Absent for the one that counts all day. */
  readonly band?: TimeBand;
}

/** Why a record is left out. */
export type EntryFault = 'begins_in_future' | 'superseded' | 'unknown_constraint' | 'no_base_record';

/** The records that count, the one for all day first; and those that are left out. */
export interface CurrentEntries {
  readonly current: readonly CurrentEntry[];
  readonly left: readonly { readonly fault: EntryFault; readonly detail: string }[];
}

type Constraint =
  | { readonly kind: 'always' | 'unknown' }
  | { readonly kind: 'from'; readonly fromMs: number; readonly date: string }
  | { readonly kind: 'band'; readonly band: TimeBand };

/** Chooses among the `prices` of a model. A record whose constraint is not understood leaves the model without a price. */
export function currentEntries(prices: unknown, importedMs: number): CurrentEntries {
  if (!Array.isArray(prices)) return { current: [{ record: prices }], left: [] };
  const entries = prices.map((entry: unknown) => ({
    record: isFields(entry) ? entry['prices'] : undefined,
    constraint: isFields(entry) ? constraintOf(entry['constraint']) : ({ kind: 'unknown' } as const),
  }));
  if (entries.some(({ constraint }) => constraint.kind === 'unknown')) {
    return { current: [], left: entries.map(() => ({ fault: 'unknown_constraint', detail: '' })) };
  }
  const base = entries.findLastIndex(({ constraint }) => hasBegun(constraint, importedMs));
  if (base < 0) return { current: [], left: entries.map(() => ({ fault: 'no_base_record', detail: '' })) };
  const current: CurrentEntry[] = [];
  const left: { fault: EntryFault; detail: string }[] = [];
  for (const [index, { record, constraint }] of entries.entries()) {
    if (index === base) current.unshift({ record });
    else if (index < base) left.push({ fault: 'superseded', detail: dateOf(constraint) });
    else if (constraint.kind === 'band') current.push({ record, band: constraint.band });
    else left.push({ fault: 'begins_in_future', detail: dateOf(constraint) });
  }
  return { current, left };
}

function hasBegun(constraint: Constraint, atMs: number): boolean {
  return constraint.kind === 'always' || (constraint.kind === 'from' && constraint.fromMs <= atMs);
}

const dateOf = (constraint: Constraint): string => (constraint.kind === 'from' ? constraint.date : '');

function constraintOf(constraint: unknown): Constraint {
  if (constraint === undefined) return { kind: 'always' };
  if (!isFields(constraint)) return { kind: 'unknown' };
  const { start_date: date, start_time: start, end_time: end } = constraint;
  if (typeof date === 'string') {
    const fromMs = dateMs(date);
    return fromMs === undefined ? { kind: 'unknown' } : { kind: 'from', fromMs, date };
  }
  const startMs = typeof start === 'string' ? timeMs(start) : undefined;
  const endMs = typeof end === 'string' ? timeMs(end) : undefined;
  if (startMs === undefined || endMs === undefined || startMs === endMs) return { kind: 'unknown' };
  return { kind: 'band', band: { startMs, endMs } };
}

const DATE = /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const TIME = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d)Z$/;
const DAY_MS = 86_400_000;

/** Days before the month in a year that begins in March, so that the leap day is the last. */
const DAYS_BEFORE = [306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275];

/** Days from March of the year 0 to 1970. */
const DAYS_TO_1970 = 719_468n;

/** The first instant of a date in UTC, in ms since 1970; undefined for what is no date from 1970 on. */
function dateMs(text: string): number | undefined {
  const [, yearText = '', monthText = '', dayText = ''] = DATE.exec(text) ?? [];
  const month = wholeOf(monthText);
  const day = wholeOf(dayText);
  const year = wholeOf(yearText);
  if (year === undefined || month === undefined || day === undefined || year < 1970) return undefined;
  const marchYear = BigInt(month > 2 ? year : year - 1);
  const leapDays = floorDiv(marchYear, 4n) - floorDiv(marchYear, 100n) + floorDiv(marchYear, 400n);
  const days = marchYear * 365n + leapDays + BigInt(DAYS_BEFORE[month - 1] ?? 0) + BigInt(day - 1) - DAYS_TO_1970;
  return wholeOf((days * BigInt(DAY_MS)).toString());
}

/** A time of day in UTC, in ms since midnight. */
function timeMs(text: string): number | undefined {
  const [, hours = '', minutes = '', seconds = ''] = TIME.exec(text) ?? [];
  const parts = [wholeOf(hours), wholeOf(minutes), wholeOf(seconds)];
  const [hour, minute, second] = parts;
  if (hour === undefined || minute === undefined || second === undefined) return undefined;
  return ((hour * 60 + minute) * 60 + second) * 1_000;
}
