// The calendar of tests that are about something else: UTC alone, by plain arithmetic, so that the kernel's tests need no zones.
import type { Calendar, CalendarRule, Period } from '../../src/kernel/window.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Monday 1970-01-05. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** Periods in UTC, whatever zone the rule names. */
export const UTC_CALENDAR: Calendar = {
  period({ unit }: CalendarRule, atMs: number): Period {
    switch (unit) {
      case 'hour':
        return stretch(atMs, 0, HOUR_MS);
      case 'day':
        return stretch(atMs, 0, DAY_MS);
      case 'week':
        return stretch(atMs, FIRST_MONDAY_MS, 7 * DAY_MS);
      case 'month': {
        const at = new Date(atMs);
        const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
        return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) };
      }
    }
  },
};

function stretch(atMs: number, originMs: number, lengthMs: number): Period {
  const startMs = originMs + Math.floor((atMs - originMs) / lengthMs) * lengthMs;
  return { startMs, endMs: startMs + lengthMs };
}
