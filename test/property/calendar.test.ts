// The periods of a calendar rule part time: each instant lies in exactly one, in any zone that Node knows, from 1990 to 2100.
// Where the clock changes the odd things happen, so half of the instants lie near a change.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CalendarUnit } from '../../src/kernel/window.ts';
import { createCalendar } from '../../src/lane/calendar.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Longest period of each unit. A clock has gone back by three hours at most in these years (Antarctica/Casey); one that goes
 * over a date line skips a date, which makes no period longer.
 */
const LONGEST_MS: Readonly<Record<CalendarUnit, number>> = {
  hour: HOUR_MS,
  day: DAY_MS + 3 * HOUR_MS,
  week: 7 * DAY_MS + 3 * HOUR_MS,
  month: 31 * DAY_MS + 3 * HOUR_MS,
};

const units = fc.constantFrom<CalendarUnit>('hour', 'day', 'week', 'month');
const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));

const clocks = new Map<string, Intl.DateTimeFormat>();

/** The local time, as Intl has it: [date, whole time], each of which sorts as text. */
function localTime(timeZone: string, atMs: number): [date: string, time: string] {
  let clock = clocks.get(timeZone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
    clocks.set(timeZone, clock);
  }
  const time = clock.format(atMs);
  return [time.slice(0, 10), time];
}

const anyInstant = fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2100, 0, 1) });

/** The days of a year at the end of which a local clock shows another time than at their beginning. */
function changedDays(timeZone: string, year: number): number[] {
  const days: number[] = [];
  for (let dayMs = Date.UTC(year, 0, 1); dayMs < Date.UTC(year + 1, 0, 1); dayMs += DAY_MS) {
    const [before, after] = [dayMs, dayMs + DAY_MS].map((atMs) => localTime(timeZone, atMs)[1].slice(11));
    if (before !== after) days.push(dayMs);
  }
  return days;
}

/** Within a day and a half of a change of the clock; where a year has none, around its first day. */
const nearChange = (timeZone: string) =>
  fc
    .tuple(fc.integer({ min: 1990, max: 2030 }), fc.nat(), fc.integer({ min: -DAY_MS / 2, max: 1.5 * DAY_MS }))
    .map(([year, pick, distanceMs]) => {
      const days = changedDays(timeZone, year);
      return (days[pick % days.length] ?? Date.UTC(year, 0, 1)) + distanceMs;
    });

const questions = zones.chain((timeZone) =>
  fc.record({
    rule: fc.record({ kind: fc.constant('calendar' as const), unit: units, timeZone: fc.constant(timeZone) }),
    atMs: fc.oneof(anyInstant, nearChange(timeZone)),
    /** Where in the period another question is asked, in parts of a million. */
    part: fc.nat({ max: 999_999 }),
  }),
);

it('has each instant in exactly one period, without gaps', () => {
  fc.assert(
    fc.property(questions, ({ rule, atMs, part }) => {
      const period = createCalendar().period(rule, atMs);
      expect(period.startMs).toBeLessThanOrEqual(atMs);
      expect(period.endMs).toBeGreaterThan(atMs);
      const lengthMs = period.endMs - period.startMs;
      expect(lengthMs).toBeLessThanOrEqual(LONGEST_MS[rule.unit]);
      // Anew each time: what is remembered would agree with itself.
      const insideMs = period.startMs + Math.floor((lengthMs * part) / 1_000_000);
      for (const sameMs of [period.startMs, insideMs, period.endMs - 1]) {
        expect(createCalendar().period(rule, sameMs)).toEqual(period);
      }
      expect(createCalendar().period(rule, period.endMs).startMs).toBe(period.endMs);
      expect(createCalendar().period(rule, period.startMs - 1).endMs).toBe(period.startMs);
    }),
    { numRuns: 1_500 },
  );
});

it('begins a period where the local clock says so', () => {
  fc.assert(
    fc.property(questions, ({ rule, atMs }) => {
      const { startMs } = createCalendar().period(rule, atMs);
      const [dateBefore] = localTime(rule.timeZone, startMs - 1);
      const [date, time] = localTime(rule.timeZone, startMs);
      if (rule.unit === 'hour') {
        // A full hour, or a change of the clock: a second on, it does not show a second more.
        const [, timeBefore] = localTime(rule.timeZone, startMs - 1_000);
        const passedMs = Date.parse(`${time}Z`) - Date.parse(`${timeBefore}Z`);
        expect(time.endsWith(':00:00') || passedMs !== 1_000).toBe(true);
        return;
      }
      expect(date > dateBefore).toBe(true);
      if (rule.unit === 'week') {
        // The first date since the last Monday that there is.
        const daysIn = (new Date(`${date}T00:00Z`).getUTCDay() + 6) % 7;
        expect(daysIn * DAY_MS).toBeLessThan(Date.parse(date) - Date.parse(dateBefore));
      }
      if (rule.unit === 'month') expect(date.slice(0, 7) > dateBefore.slice(0, 7)).toBe(true);
    }),
    { numRuns: 1_500 },
  );
});

it('answers a story of questions as if each were the first', () => {
  fc.assert(
    fc.property(fc.array(questions, { minLength: 2, maxLength: 12 }), (story) => {
      const calendar = createCalendar();
      for (const { rule, atMs } of [...story, ...story.toReversed()]) {
        expect(calendar.period(rule, atMs)).toEqual(createCalendar().period(rule, atMs));
      }
    }),
    { numRuns: 150 },
  );
});
