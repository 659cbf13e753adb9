// Lengths of time as people write and read them, to the whole millisecond. Stands alone because every command that has
// to do with leases, rates or windows needs both directions.
import type { Duration } from '@bufbuild/protobuf/wkt';
import { UsageError } from './usage-error.ts';

const ADVICE = 'write 60s, 5m or 1h30m';
const PATTERN = /^(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?$/;

/**
 * Reads `60s`, `5m`, `1h30m`, `7d` or `1500ms` into milliseconds. A number without a unit is refused but for 0, so that nobody means
 * seconds and gets minutes. Throws UsageError. Which lengths make sense is the service's to say.
 */
export function parseDurationMs(text: string): number {
  return parseDurationOr(text, ADVICE);
}

/** The same where something else may be written too; `advice` says what. */
export function parseDurationOr(text: string, advice: string, what = 'a length of time'): number {
  if (text.trim() === '0') return 0;
  const match = PATTERN.exec(text.trim());
  if (match === null || text.trim() === '') {
    throw new UsageError(`"${text}" is not ${what}: ${advice}`);
  }
  const [days = 0, hours = 0, minutes = 0, seconds = 0, ms = 0] = match.slice(1).map((part) => Number(part ?? '0'));
  const totalMs = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms;
  if (!Number.isSafeInteger(totalMs)) throw new UsageError(`"${text}" is too long`);
  return totalMs;
}

/** Milliseconds for people: `1.5s`, `42s`, `5m 3s`, `1h 30m`, `2d 4h`. Rounds towards zero at two parts. */
export function formatDurationMs(totalMs: number): string {
  const sign = totalMs < 0 ? '-' : '';
  const ms = Math.abs(Math.trunc(totalMs));
  if (ms < 1000) return `${sign}${ms}ms`;
  if (ms < 10_000 && ms % 1000 !== 0) return `${sign}${Math.trunc(ms / 100) / 10}s`;
  const parts: readonly (readonly [number, string])[] = [
    [Math.trunc(ms / 86_400_000), 'd'],
    [Math.trunc(ms / 3_600_000) % 24, 'h'],
    [Math.trunc(ms / 60_000) % 60, 'm'],
    [Math.trunc(ms / 1000) % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return sign + shown.map(([count, unit]) => `${count}${unit}`).join(' ');
}

/** How long to wait, for people: as formatDurationMs, but what two parts leave out is rounded up, so that nobody comes too early. */
export function formatWaitMs(totalMs: number): string {
  const unitMs = totalMs >= 86_400_000 ? 3_600_000 : totalMs >= 3_600_000 ? 60_000 : totalMs >= 10_000 ? 1_000 : 100;
  return formatDurationMs(totalMs < 1_000 ? totalMs : Math.ceil(totalMs / unitMs) * unitMs);
}

/** Milliseconds as `parseDurationMs` reads them, none of them lost: `1h30m`, `7d`, `1s500ms`; `0s` for none. */
export function writeDurationMs(totalMs: number): string {
  let restMs = totalMs;
  let text = '';
  for (const [unit, unitMs] of UNITS_MS) {
    const count = Math.floor(restMs / unitMs);
    if (count > 0) text += `${count}${unit}`;
    restMs -= count * unitMs;
  }
  return text === '' ? '0s' : text;
}

const UNITS_MS: readonly (readonly [unit: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
];

/** Milliseconds of a protobuf Duration; 0 where it is unset. */
export function durationToMs(duration: Duration | undefined): number {
  return duration === undefined ? 0 : Number(duration.seconds) * 1000 + Math.trunc(duration.nanos / 1_000_000);
}

/** The fields of a protobuf Duration for so many milliseconds. */
export function durationFromMs(totalMs: number): { readonly seconds: bigint; readonly nanos: number } {
  return { seconds: BigInt(Math.trunc(totalMs / 1000)), nanos: (totalMs % 1000) * 1_000_000 };
}
