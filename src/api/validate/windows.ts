// Windows as requests state them. Its own file because a wrong one is refused when it is written: a decision could not cope
// with a time zone that nobody knows.
import type { CalendarWindow, RangeWindow, RollingWindow, Window } from '../../gen/budgetd/v1/limit_pb.ts';
import { rollingRule, type WindowRule } from '../../kernel/window.ts';
import { isTimeZone } from '../../lane/calendar.ts';
import { frameText, frameValue } from '../command-key.ts';
import { checkDuration, frameDuration, ROLLING_RANGE } from './durations.ts';
import { checkCalendarUnit } from './enums.ts';
import { checkSaidInstant, frameInstant } from './instants.ts';
import type { Problems } from './problems.ts';

const LIFETIME: WindowRule = { kind: 'lifetime' };
const TIME_ZONE_DEFAULT = 'UTC';

/** A window; lifetime where it is left out. */
export function checkWindow(problems: Problems, field: string, window: Window | undefined): WindowRule {
  if (window === undefined) return LIFETIME;
  switch (window.kind.case) {
    case 'lifetime':
      return LIFETIME;
    case 'range':
      return checkRange(problems, `${field}.range`, window.kind.value);
    case 'rolling':
      return checkRolling(problems, `${field}.rolling`, window.kind.value);
    case 'calendar':
      return checkCalendar(problems, `${field}.calendar`, window.kind.value);
    default:
      problems.push({ field, description: 'must name exactly one kind that this version knows' });
      return LIFETIME;
  }
}

function checkRange(problems: Problems, field: string, { startTime, endTime }: RangeWindow): WindowRule {
  const startMs = checkSaidInstant(problems, `${field}.start_time`, startTime);
  const endMs = checkSaidInstant(problems, `${field}.end_time`, endTime);
  if (startMs === undefined || endMs === undefined) return LIFETIME;
  if (endMs <= startMs) problems.push({ field: `${field}.end_time`, description: 'must be later than start_time' });
  return { kind: 'range', startMs, endMs };
}

function checkRolling(problems: Problems, field: string, { duration }: RollingWindow): WindowRule {
  if (duration !== undefined) {
    return rollingRule(checkDuration(problems, `${field}.duration`, duration, ROLLING_RANGE));
  }
  problems.push({ field: `${field}.duration`, description: 'is required' });
  return LIFETIME;
}

function checkCalendar(problems: Problems, field: string, { unit, timeZone: stated }: CalendarWindow): WindowRule {
  const known = checkCalendarUnit(problems, `${field}.unit`, unit);
  const timeZone = stated === '' ? TIME_ZONE_DEFAULT : stated;
  if (!isTimeZone(timeZone)) {
    problems.push({ field: `${field}.time_zone`, description: 'must be the name of an IANA time zone' });
  }
  return known === undefined ? LIFETIME : { kind: 'calendar', unit: known, timeZone };
}

/** Frames a window as the client set it. */
export function frameWindow(window: Window | undefined): string {
  if (window === undefined) return '';
  const { kind } = window;
  // The sign behind the kind has to stay: it is what journals hold.
  const framed = `window=${kind.case ?? ''};`;
  switch (kind.case) {
    case 'range':
      return framed + frameInstant('start', kind.value.startTime) + frameInstant('end', kind.value.endTime);
    case 'rolling':
      return framed + frameDuration('duration', kind.value.duration);
    case 'calendar':
      return framed + frameValue('unit', kind.value.unit) + frameText('zone', kind.value.timeZone);
    default:
      return framed;
  }
}
