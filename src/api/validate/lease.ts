// Length of a lease as a request states it. Its own file because the range is part of the contract (DESIGN section 5) and
// a Duration has more ways to be wrong than its range.
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { Problems } from './problems.ts';

const TTL_MS_MIN = 1_000;
const TTL_MS_MAX = 24 * 60 * 60 * 1_000;
const TTL_MS_DEFAULT = 60_000;
const TTL_SECONDS_MAX = BigInt(TTL_MS_MAX / 1_000);
const NANOS_PER_MS = 1_000_000;

/** The lease in milliseconds: 1 s to 24 h in whole milliseconds, 60 s where unset. */
export function checkTtl(problems: Problems, field: string, ttl: Duration | undefined): number {
  if (ttl === undefined) return TTL_MS_DEFAULT;
  const { seconds, nanos } = ttl;
  if (nanos % NANOS_PER_MS !== 0) problems.push({ field, description: 'must be whole milliseconds' });
  // Nanos of a valid Duration have the sign of its seconds and stay below a second.
  else if (seconds >= 0n && seconds <= TTL_SECONDS_MAX && nanos >= 0 && nanos < 1_000 * NANOS_PER_MS) {
    const ttlMs = Number(seconds) * 1_000 + nanos / NANOS_PER_MS;
    if (ttlMs >= TTL_MS_MIN && ttlMs <= TTL_MS_MAX) return ttlMs;
    problems.push({ field, description: 'must be 1 s to 24 h' });
  } else problems.push({ field, description: 'must be 1 s to 24 h' });
  return TTL_MS_DEFAULT;
}
