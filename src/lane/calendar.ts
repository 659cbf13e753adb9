// The calendar that the kernel is handed: local hours, days, weeks and months of any IANA zone, half open and without gaps,
// so that every instant lies in exactly one period of a rule. It is its own file because it is the one place that knows
// time zones: they change by law and come with Node's own data, and what was decided by them stays as the journal has it.
//
// How the clock's changes are read:
// - A day begins at the first instant of its local date, also where there is no midnight (then at the change that skips it)
//   or where there are two (then at the first). A date that is skipped altogether has no period. Where the clock goes back
//   over midnight, what repeats of the old date belongs to the new one, which has begun.
// - A week begins with its Monday, a month with its first day, in the same sense; where that date is skipped, with the next.
// - An hour is the time from one full hour on the local clock to the next, cut where the clock is changed. So an hour that is
//   repeated is a period of its own, and none is longer than sixty minutes; in Australia/Lord_Howe, which goes back from
//   02:00 to 01:30, the half hour that is repeated is one by itself.
import { Temporal } from 'temporal-polyfill';
import type { Calendar, CalendarRule, CalendarUnit, Period } from '../kernel/window.ts';

const HOUR_MS = 3_600_000;

/** More than there are zones and their other names (about 600): past that, names are being made up by their spelling. */
const REMEMBERED_ZONES_MAX = 1_024;

/** The shape of an IANA name: no offset ("+02:00"), which is no zone, and no time with a zone in brackets. */
const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

/** Longest name that is looked at; the longest in use has 32 characters. */
const NAME_LENGTH_MAX = 64;

/** Names of Java's that Node's data still knows: they were never settled zones, and a runtime with Temporal refuses them. */
const SYSTEM_V = /^SYSTEMV\//;

/**
 * One spelling of a name. The library knows names in any case, but keeps what it worked out by the spelling it was given,
 * for good, and refuses the three-letter names that are ICU's and not IANA's ("PST") only in capitals.
 */
const spelled = (timeZone: string): string => timeZone.toUpperCase();

/**
 * Whether a name is one of a time zone: an IANA name or another name for one ("Asia/Calcutta"), in any case. An offset, a
 * name of ICU's own ("PST") and the empty name are not. What is accepted depends on Node's time zone data.
 */
export function isTimeZone(name: string): boolean {
  if (name.length > NAME_LENGTH_MAX || !NAME.test(name)) return false;
  const timeZone = spelled(name);
  if (SYSTEM_V.test(timeZone)) return false;
  try {
    new Temporal.ZonedDateTime(0n, timeZone);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const zoned = (timeZone: string, atMs: number) =>
  Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone);

/** Local time less UTC, in milliseconds. */
const offsetMs = (timeZone: string, atMs: number): number => zoned(timeZone, atMs).offsetNanoseconds / 1_000_000;

/**
 * The first instant with the offset of `toMs`, in (fromMs, toMs], where that of `fromMs` is another. By halving, not by the
 * library's search for changes: that one looks ahead as far as today's date allows, and the answer must not depend on it.
 */
function changeMs(timeZone: string, fromMs: number, toMs: number): number {
  const afterMs = offsetMs(timeZone, toMs);
  let before = fromMs;
  let after = toMs;
  while (after - before > 1) {
    const middle = before + Math.floor((after - before) / 2);
    if (offsetMs(timeZone, middle) === afterMs) after = middle;
    else before = middle;
  }
  return after;
}

/** No zone has changed its clock twice within an hour, so what lies at both ends of one says what lies between. */
function hourOf(timeZone: string, atMs: number): Period {
  const atOffsetMs = offsetMs(timeZone, atMs);
  const startMs = Math.floor((atMs + atOffsetMs) / HOUR_MS) * HOUR_MS - atOffsetMs;
  const lastMs = startMs + HOUR_MS - 1;
  return {
    startMs: offsetMs(timeZone, startMs) === atOffsetMs ? startMs : changeMs(timeZone, startMs, atMs),
    endMs: offsetMs(timeZone, lastMs) === atOffsetMs ? lastMs + 1 : changeMs(timeZone, atMs, lastMs),
  };
}

type DatedUnit = Exclude<CalendarUnit, 'hour'>;

/** The unit's first date, on or before `date`. */
function firstDate(unit: DatedUnit, date: Temporal.PlainDate): Temporal.PlainDate {
  switch (unit) {
    case 'day':
      return date;
    case 'week':
      return date.subtract({ days: date.dayOfWeek - 1 });
    case 'month':
      return date.with({ day: 1 });
  }
}

const LENGTHS = { day: { days: 1 }, week: { weeks: 1 }, month: { months: 1 } } as const;

function datesOf(unit: DatedUnit, timeZone: string, atMs: number): Period {
  const firstMs = (date: Temporal.PlainDate): number => date.toZonedDateTime(timeZone).epochMilliseconds;
  let date = firstDate(unit, zoned(timeZone, atMs).toPlainDate());
  let startMs = firstMs(date);
  for (;;) {
    date = date.add(LENGTHS[unit]);
    const endMs = firstMs(date);
    if (endMs > atMs) return { startMs, endMs };
    // The clock went back over midnight: it shows the old date again, but the new one has begun.
    startMs = endMs;
  }
}

/**
 * A calendar over the time zone data of the Node it runs on. `period` takes whole milliseconds and throws a RangeError for a
 * zone that is none. The last period of each unit and zone is kept: an answer out of it costs 10 to 30 ns, a new one 10 to
 * 50 µs, the first in a zone a few hundred µs and 30 KB more, for good (measured).
 */
export function createCalendar(): Calendar {
  const latest: Readonly<Record<CalendarUnit, Map<string, Period>>> = {
    hour: new Map(),
    day: new Map(),
    week: new Map(),
    month: new Map(),
  };
  return {
    period({ unit, timeZone }: CalendarRule, atMs: number): Period {
      const periods = latest[unit];
      const last = periods.get(timeZone);
      if (last !== undefined && last.startMs <= atMs && atMs < last.endMs) return last;
      if (last === undefined && periods.size >= REMEMBERED_ZONES_MAX) periods.clear();
      const zone = spelled(timeZone);
      const found = unit === 'hour' ? hourOf(zone, atMs) : datesOf(unit, zone, atMs);
      periods.set(timeZone, found);
      return found;
    },
  };
}
