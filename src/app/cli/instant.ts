// Instants as people write and read them: in UTC, and how far away they are. Its own file because every option, window and file must take
// the same forms, and because leases are shown everywhere and must always be measured by the coordinator's clock, not by this machine's.
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { formatDurationMs, parseDurationOr } from './duration.ts';
import { UsageError } from './usage-error.ts';

const INSTANT = /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?Z)?$/;
const FORMS = 'write 2026-03-01 or 2026-03-01T09:00:00Z';

/**
 * Milliseconds since 1970 of `2026-03-01` (midnight in UTC), `2026-03-01T09:00Z` or `2026-03-01T09:00:00Z`, with a fraction of up to 3
 * digits; undefined for anything else, and for a day or a time that there is not, such as `2026-02-30`.
 */
export function readInstantMs(text: string | undefined): number | undefined {
  if (text === undefined || !INSTANT.test(text)) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms) || ms < 0) return undefined;
  // The 30th of February is taken for the 2nd of March, 24:00 for the next day.
  return new Date(ms).toISOString().startsWith(text.replace('Z', '')) ? ms : undefined;
}

/** The fields of a protobuf Timestamp for an instant. */
export function stampOf(ms: number): { readonly seconds: bigint; readonly nanos: number } {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 };
}

/** An instant as an option. Throws UsageError. */
export function parseInstant(text: string): { readonly seconds: bigint; readonly nanos: number } {
  const ms = readInstantMs(text);
  if (ms === undefined) throw new UsageError(`"${text}" is not a time: ${FORMS}`);
  return stampOf(ms);
}

/** Milliseconds since 1970 of an instant, or of a time ago (`7d`). Throws UsageError. */
export function parseSinceMs(text: string, nowMs: number): number {
  const ms = readInstantMs(text);
  if (ms !== undefined) return ms;
  // No length of time begins so.
  if (/^[0-9]+-/.test(text)) throw new UsageError(`"${text}" is not a time: ${FORMS}`);
  return nowMs - parseDurationOr(text, `${FORMS}, or 7d for so long ago`, 'a time');
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
