// Instants for people: UTC to the second, and how far away they are. Its own file because leases are shown everywhere
// and must always be measured by the coordinator's clock, not by this machine's.
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { formatDurationMs } from './duration.ts';

/** `2026-03-02 09:00:00Z`; undefined where the instant is unset. */
export function formatInstant(instant: Timestamp | undefined): string | undefined {
  if (instant === undefined) return undefined;
  return new Date(timestampMs(instant))
    .toISOString()
    .replace('T', ' ')
    .replace(/\.[0-9]+Z$/, 'Z');
}

/** `in 42s` or `5s ago`, seen from `nowMs`; empty where the instant is unset. */
export function formatDistance(instant: Timestamp | undefined, nowMs: number): string {
  if (instant === undefined) return '';
  const distanceMs = timestampMs(instant) - nowMs;
  return distanceMs >= 0 ? `in ${formatDurationMs(distanceMs)}` : `${formatDurationMs(-distanceMs)} ago`;
}
