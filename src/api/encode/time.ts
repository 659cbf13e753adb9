// Instants and lengths of time on the wire. Its own file because every message and the retry hint use the same rounding:
// none, since the coordinator counts whole milliseconds.
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';

const MS_PER_SECOND = 1_000;
const NANOS_PER_MS = 1_000_000;

/** An instant given in milliseconds since the epoch. */
export function timestampFromMs(ms: number): Timestamp {
  const seconds = Math.floor(ms / MS_PER_SECOND);
  return {
    $typeName: 'google.protobuf.Timestamp',
    seconds: BigInt(seconds),
    nanos: (ms - seconds * MS_PER_SECOND) * NANOS_PER_MS,
  };
}

/** A length of time given in whole milliseconds, not below 0. */
export function durationFromMs(ms: number): Duration {
  const seconds = Math.floor(ms / MS_PER_SECOND);
  return {
    $typeName: 'google.protobuf.Duration',
    seconds: BigInt(seconds),
    nanos: (ms - seconds * MS_PER_SECOND) * NANOS_PER_MS,
  };
}
