// Windows of the format as the contract's messages, and back to something that can be compared: a step names a limit by its
// window, the contract by its name.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { CalendarUnit, type Window, type WindowSchema } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import type { WindowRule } from './budget-fields.ts';

const UNITS = {
  hour: CalendarUnit.HOUR,
  day: CalendarUnit.DAY,
  week: CalendarUnit.WEEK,
  month: CalendarUnit.MONTH,
} as const;

/** A window as a request states it. */
export function windowMessage(rule: WindowRule): MessageInitShape<typeof WindowSchema> {
  switch (rule.kind) {
    case 'lifetime':
      return { kind: { case: 'lifetime', value: {} } };
    case 'rolling':
      return { kind: { case: 'rolling', value: { duration: durationFromMs(rule.durationMs) } } };
    case 'calendar':
      return { kind: { case: 'calendar', value: { unit: UNITS[rule.unit], timeZone: rule.timeZone } } };
    case 'range':
      return {
        kind: {
          case: 'range',
          value: { startTime: timestampFromMs(rule.startMs), endTime: timestampFromMs(rule.endMs) },
        },
      };
  }
}

/** Whether a limit's window is the one that a step means. */
export function isWindow(window: Window | undefined, rule: WindowRule): boolean {
  const kind = window?.kind;
  switch (kind?.case) {
    case undefined:
    case 'lifetime':
      return rule.kind === 'lifetime';
    case 'rolling':
      return rule.kind === 'rolling' && kind.value.duration?.seconds === BigInt(rule.durationMs / 1_000);
    case 'calendar':
      return rule.kind === 'calendar' && kind.value.unit === UNITS[rule.unit] && kind.value.timeZone === rule.timeZone;
    case 'range': {
      const { startTime, endTime } = kind.value;
      if (rule.kind !== 'range' || startTime === undefined || endTime === undefined) return false;
      return timestampMs(startTime) === rule.startMs && timestampMs(endTime) === rule.endMs;
    }
  }
}
