// Instants for people: UTC to the second, and how far away they are. Its own file because leases are shown everywhere
// and must always be measured by the coordinator's clock, not by this machine's.
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { formatDurationMs } from './duration.ts';
import { UsageError } from './usage-error.ts';

const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;
const INSTANT = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,3})?Z$/;

/** Milliseconds since 1970 of `2026-03-01` (midnight in UTC) or `2026-03-01T09:00:00Z`; undefined for anything else. */
export function readInstantMs(text: string | undefined): number | undefined {
  if (text === undefined || !(DATE.test(text) || INSTANT.test(text))) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) || ms < 0 ? undefined : ms;
}

/** The fields of a protobuf Timestamp for an instant. */
export function stampOf(ms: number): { readonly seconds: bigint; readonly nanos: number } {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 };
}

/** An instant as an option. Throws UsageError. */
export function parseInstant(text: string): { readonly seconds: bigint; readonly nanos: number } {
  const ms = readInstantMs(text);
  if (ms === undefined) throw new UsageError(`"${text}" is not a time: write 2026-03-01 or 2026-03-01T09:00:00Z`);
  return stampOf(ms);
}

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
