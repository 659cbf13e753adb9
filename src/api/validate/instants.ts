// Instants as requests state them. Its own file because windows and prices take the same range of them, and the same precision.
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Problems } from './problems.ts';

const NANOS_PER_MS = 1_000_000;
// 9999-12-31T23:59:59Z: what a Timestamp can say, and what a name has room for.
const SECONDS_MAX = 253_402_300_799n;

/** An instant in milliseconds since the epoch; undefined where it is unset, or a problem is noted. */
export function checkInstant(problems: Problems, field: string, instant: Timestamp | undefined): number | undefined {
  if (instant === undefined) return undefined;
  const { seconds, nanos } = instant;
  if (seconds < 0n || seconds > SECONDS_MAX || nanos < 0 || nanos >= 1_000 * NANOS_PER_MS) {
    problems.push({ field, description: 'must be of the years 1970 to 9999' });
  } else if (nanos % NANOS_PER_MS !== 0) problems.push({ field, description: 'must be whole milliseconds' });
  else return Number(seconds) * 1_000 + nanos / NANOS_PER_MS;
  return undefined;
}

/** One that must be said. */
export function checkSaidInstant(
  problems: Problems,
  field: string,
  instant: Timestamp | undefined,
): number | undefined {
  if (instant === undefined) problems.push({ field, description: 'is required' });
  return checkInstant(problems, field, instant);
}

/** Frames an instant as the client set it. */
export function frameInstant(tag: string, instant: Timestamp | undefined): string {
  return instant === undefined ? '' : `${tag}=${instant.seconds}.${instant.nanos};`;
}
