// Lengths of time as requests state them. Its own file because leases, rates, windows and bounds have ranges of their own,
// and a Duration has more ways to be wrong than its range.
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { Problems } from './problems.ts';

const NANOS_PER_MS = 1_000_000;
const MS_PER_SECOND = 1_000;
const DAY_MS = 86_400_000;

/** What lengths a field takes, in whole multiples of `stepMs`, and how its range is told. */
export interface DurationRange {
  readonly minMs: number;
  readonly maxMs: number;
  readonly stepMs: 1 | 1_000;
  readonly range: string;
}

/** A lease, or the time in which a rate's count comes back. */
export const SECOND_TO_DAY: DurationRange = { minMs: 1_000, maxMs: DAY_MS, stepMs: 1, range: '1 s to 24 h' };

/** How long a Reserve may wait. */
export const WAIT_RANGE: DurationRange = { ...SECOND_TO_DAY, minMs: 0, range: '0 s to 24 h' };

/** The length of a rolling window. */
export const ROLLING_RANGE: DurationRange = {
  minMs: 1_000,
  maxMs: 366 * DAY_MS,
  stepMs: 1_000,
  range: '1 s to 366 d',
};

/** How long a budget may be idle. */
export const IDLE_RANGE: DurationRange = { ...ROLLING_RANGE, stepMs: 1 };

/** A length in milliseconds; `minMs` where it is wrong, once that is noted. */
export function checkDuration(problems: Problems, field: string, duration: Duration, range: DurationRange): number {
  const { seconds, nanos } = duration;
  const { minMs, maxMs, stepMs } = range;
  if (nanos % (stepMs * NANOS_PER_MS) !== 0) {
    problems.push({ field, description: stepMs === 1 ? 'must be whole milliseconds' : 'must be whole seconds' });
    return minMs;
  }
  // Nanos of a valid Duration have the sign of its seconds and stay below a second.
  if (
    seconds >= 0n &&
    seconds <= BigInt(Math.floor(maxMs / MS_PER_SECOND)) &&
    nanos >= 0 &&
    nanos < 1_000 * NANOS_PER_MS
  ) {
    const lengthMs = Number(seconds) * MS_PER_SECOND + nanos / NANOS_PER_MS;
    if (lengthMs >= minMs && lengthMs <= maxMs) return lengthMs;
  }
  problems.push({ field, description: `must be ${range.range}` });
  return minMs;
}

/** Frames a length as the client set it; unset equals only unset. */
export function frameDuration(tag: string, duration: Duration | undefined): string {
  return duration === undefined ? '' : `${tag}=${duration.seconds}.${duration.nanos};`;
}
