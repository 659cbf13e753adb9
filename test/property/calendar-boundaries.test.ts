// Every boundary of an hour, a day, a week and a month in twelve zones over ten years, against boundaries that are computed
// here from a table of offsets with integers alone.
import { expect, it } from 'vitest';
import type { CalendarUnit } from '../../src/kernel/window.ts';
import { createCalendar } from '../../src/lane/calendar.ts';
import { ZONE_OFFSETS, type ZoneOffset } from '../support/zone-offsets.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** 2010-01-01 and 2020-01-01, in days since 1970-01-01. */
const FIRST_DAY = 14_610;
const END_DAY = 18_262;

/** A stretch of time in which the local clock is not changed. */
interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly aheadMs: number;
}

const stretchesOf = (offsets: readonly ZoneOffset[]): Stretch[] =>
  offsets.map(([from, aheadSeconds], index) => {
    const next = offsets[index + 1];
    return {
      fromMs: Date.parse(from),
      toMs: next === undefined ? END_DAY * DAY_MS : Date.parse(next[0]),
      aheadMs: aheadSeconds * 1_000,
    };
  });

/** The full hours of each stretch, and where the clock was changed. */
function hours(stretches: readonly Stretch[]): number[] {
  const found: number[] = [];
  for (const { fromMs, toMs, aheadMs } of stretches) {
    if (fromMs > FIRST_DAY * DAY_MS) found.push(fromMs);
    const first = Math.ceil((fromMs + aheadMs) / HOUR_MS);
    for (let hour = first; hour * HOUR_MS - aheadMs < toMs; hour += 1) found.push(hour * HOUR_MS - aheadMs);
  }
  return found;
}

/** The first instant at which the local date is `day` or a later one; undefined at and past the ends of the table. */
function firstInstant(stretches: readonly Stretch[], day: number): number | undefined {
  for (const { fromMs, toMs, aheadMs } of stretches) {
    const beginsMs = Math.max(fromMs, day * DAY_MS - aheadMs);
    if (beginsMs < toMs) return beginsMs > FIRST_DAY * DAY_MS ? beginsMs : undefined;
  }
  return undefined;
}

const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

/** The first days of units, in days since 1970-01-01, which was a Thursday. */
function firstDays(unit: Exclude<CalendarUnit, 'hour'>): number[] {
  const days = Array.from({ length: END_DAY - FIRST_DAY + 1 }, (_, index) => FIRST_DAY + index);
  if (unit === 'day') return days;
  if (unit === 'week') return days.filter((day) => day % 7 === 4);
  const months: number[] = [];
  let day = FIRST_DAY;
  for (let year = 2010; year < 2020; year += 1) {
    for (const length of [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
      months.push(day);
      day += length;
    }
  }
  return [...months, day];
}

function boundaries(unit: CalendarUnit, stretches: readonly Stretch[]): number[] {
  if (unit === 'hour') return [...new Set(hours(stretches))];
  const instants = firstDays(unit).map((day) => firstInstant(stretches, day));
  return [...new Set(instants.filter((instant) => instant !== undefined))];
}

/** Fewest boundaries of a unit in ten years: a table or a computation that lost some would compare nothing. */
const FEWEST: Readonly<Record<CalendarUnit, number>> = { hour: 87_600, day: 3_650, week: 520, month: 118 };

const cases = Object.entries(ZONE_OFFSETS).flatMap(([timeZone, offsets]) =>
  (['hour', 'day', 'week', 'month'] as const).map((unit) => ({ timeZone, unit, offsets })),
);

it.each(cases)('every $unit of ten years in $timeZone', ({ timeZone, unit, offsets }) => {
  const stretches = stretchesOf(offsets);
  const expected = boundaries(unit, stretches);
  expect(expected.length).toBeGreaterThan(FEWEST[unit]);
  const changes = stretches.slice(1).map(({ fromMs }) => fromMs);
  const isNearChange = (atMs: number) => changes.some((changeMs) => Math.abs(changeMs - atMs) < 2 * DAY_MS);
  const rule = { kind: 'calendar', unit, timeZone } as const;
  const calendar = createCalendar();
  const wrong: string[] = [];
  for (const [index, startMs] of expected.entries()) {
    const endMs = expected[index + 1];
    if (endMs === undefined) break;
    // The last instant is answered from what is remembered; where the odd things are, and where it is cheap, anew.
    const another = unit !== 'hour' || isNearChange(startMs) ? createCalendar() : calendar;
    for (const [atMs, answering] of [
      [startMs, calendar],
      [endMs - 1, another],
    ] as const) {
      const found = answering.period(rule, atMs);
      if (found.startMs === startMs && found.endMs === endMs) continue;
      const [at, from, to] = [atMs, found.startMs, found.endMs].map((ms) => new Date(ms).toISOString());
      wrong.push(`${at}: ${from} to ${to}`);
    }
  }
  expect(wrong).toEqual([]);
});
