// Windows as people write and read them, in one form both ways. Its own file because limits are typed, listed and drawn.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { CalendarUnit, type Window, type WindowSchema } from '../../gen/budgetd/v1/limit_pb.ts';
import { durationFromMs, durationToMs, parseDurationMs, writeDurationMs } from './duration.ts';
import { readInstantMs, stampOf } from './instant.ts';
import { didYouMean } from './nearest-word.ts';
import { UsageError } from './usage-error.ts';

/** A window as a request states it. */
export type WindowInit = MessageInitShape<typeof WindowSchema>;

const UNITS = {
  hour: CalendarUnit.HOUR,
  day: CalendarUnit.DAY,
  week: CalendarUnit.WEEK,
  month: CalendarUnit.MONTH,
} as const;

const UNIT_WORDS: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(UNITS).map(([word, unit]) => [unit, word]),
);

const WORDS = ['lifetime', ...Object.keys(UNITS), 'rolling', 'range'];
const FORMS = 'lifetime, hour, day, week or month (with @ZONE), rolling:TIME, or range:START..END';

/**
 * Reads `lifetime`, `day`, `week@Europe/Amsterdam`, `rolling:1h`, `rolling:7d`, or `range:2026-03-01..2026-04-01`; a bound
 * without a time is midnight in UTC. Throws UsageError. Which zones and lengths there are is the service's to say.
 */
export function parseWindow(text: string): WindowInit {
  const [, word = '', rest] = /^([a-z]+)(?:[:@](.*))?$/.exec(text.trim()) ?? [];
  const mark = text.trim().charAt(word.length);
  if (word === 'lifetime' && mark === '') return { kind: { case: 'lifetime', value: {} } };
  if (word === 'rolling' && mark === ':' && rest !== undefined) {
    return { kind: { case: 'rolling', value: { duration: durationFromMs(parseDurationMs(rest)) } } };
  }
  if (word === 'range' && mark === ':' && rest !== undefined) return rangeOf(text, rest);
  const unit = Object.hasOwn(UNITS, word) ? UNITS[word as keyof typeof UNITS] : undefined;
  if (unit === undefined || mark === ':' || rest === '') {
    const [typed = ''] = text.trim().split(/[:@]/, 1);
    throw new UsageError(`"${text}" is not a window: write ${FORMS}${didYouMean(typed, WORDS)}`);
  }
  return { kind: { case: 'calendar', value: { unit, timeZone: rest ?? '' } } };
}

function rangeOf(text: string, bounds: string): WindowInit {
  const [start, end, ...more] = bounds.split('..');
  const startMs = readInstantMs(start);
  const endMs = readInstantMs(end);
  if (startMs === undefined || endMs === undefined || more.length > 0) {
    throw new UsageError(
      `"${text}" is not a range: write range:2026-03-01..2026-04-01, or with times: 2026-03-01T09:00:00Z`,
    );
  }
  return { kind: { case: 'range', value: { startTime: stampOf(startMs), endTime: stampOf(endMs) } } };
}

/** A window as it is typed. */
export function formatWindow(window: Window | undefined): string {
  const kind = window?.kind;
  switch (kind?.case) {
    case undefined:
    case 'lifetime':
      return 'lifetime';
    case 'rolling':
      return `rolling:${writeDurationMs(durationToMs(kind.value.duration))}`;
    case 'range':
      return `range:${boundText(kind.value.startTime)}..${boundText(kind.value.endTime)}`;
    case 'calendar': {
      const { unit, timeZone } = kind.value;
      const word = UNIT_WORDS[unit] ?? `unit ${unit}`;
      return timeZone === '' || timeZone === 'UTC' ? word : `${word}@${timeZone}`;
    }
  }
}

// Midnight in UTC is the date alone, as it may be typed.
function boundText(bound: Timestamp | undefined): string {
  return bound === undefined
    ? ''
    : new Date(timestampMs(bound)).toISOString().replace('T00:00:00.000Z', '').replace('.000Z', 'Z');
}
