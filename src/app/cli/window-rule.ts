// A window of the contract as the rule that calendars know. Its own file because only `advise` reckons with windows itself; in
// all other commands the service does.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { CalendarUnit, type Window } from '../../gen/budgetd/v1/limit_pb.ts';
import { rollingRule, type WindowRule } from '../../kernel/window.ts';
import { durationToMs } from './duration.ts';
import { UsageError } from './usage-error.ts';

const UNITS = {
  [CalendarUnit.HOUR]: 'hour',
  [CalendarUnit.DAY]: 'day',
  [CalendarUnit.WEEK]: 'week',
  [CalendarUnit.MONTH]: 'month',
} as const;

/** The rule of a window. Throws UsageError for one that the service would refuse. */
export function windowRule({ kind }: Window): WindowRule {
  switch (kind.case) {
    case 'range': {
      const { startTime, endTime } = kind.value;
      const startMs = startTime === undefined ? 0 : timestampMs(startTime);
      const endMs = endTime === undefined ? 0 : timestampMs(endTime);
      if (endMs <= startMs) throw new UsageError('a range ends after it starts');
      return { kind: 'range', startMs, endMs };
    }
    case 'rolling': {
      const durationMs = durationToMs(kind.value.duration);
      if (durationMs < 1_000) throw new UsageError('a rolling window has at least a second');
      return rollingRule(durationMs);
    }
    case 'calendar': {
      const { unit, timeZone } = kind.value;
      if (unit === CalendarUnit.UNSPECIFIED || !(unit in UNITS)) throw new UsageError('a calendar window has a unit');
      return {
        kind: 'calendar',
        unit: UNITS[unit as keyof typeof UNITS],
        timeZone: timeZone === '' ? 'UTC' : timeZone,
      };
    }
    default:
      return { kind: 'lifetime' };
  }
}
