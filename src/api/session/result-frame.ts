// Puts results into frames (SessionResponse messages). What became known in one turn is encoded at once when it is sent, the
// last result first, straight from the kernel's answers (wire/write-reply).
import type { ReservationAnswer } from '../../kernel/answer.ts';
import { ReverseWriter } from '../wire/reverse-writer.ts';
import { writeReply } from '../wire/write-reply.ts';

/** A result that waits to be sent: an answer, or an encoded google.rpc.Status. */
export interface ReadyResult {
  readonly commandId: bigint;
  /** Number of the result's field in SessionResult. */
  readonly field: number;
  readonly content: ReservationAnswer | Uint8Array;
}

/**
 * Largest frame, in bytes, unless a single result is larger: far below the 4 MiB that gRPC clients take by default, large
 * enough that what a frame costs in itself no longer shows (1,000 grants).
 */
export const FRAME_BYTES_MAX = 256 * 1024;

// Everything in a reply but its texts: 20 numbers, tags and lengths.
const REPLY_BYTES = 256;
// UTF-8 needs at most three bytes for one of JavaScript's characters.
const BYTES_PER_CHAR = 3;

const RESULTS_TAG = 0x0a;
const COMMAND_ID_TAG = 0x08;

// One for all Sessions: a frame is written within one turn and copied out of it.
const writer = new ReverseWriter(FRAME_BYTES_MAX);

/** The frame that holds as many of the results, from `start` on, as fit, and the index of the first that did not. */
export function resultFrame(
  results: readonly ReadyResult[],
  start: number,
): { readonly frame: Buffer; readonly next: number } {
  let next = start;
  for (let size = 0; next < results.length; next += 1) {
    size += bytesAtMost(results[next] as ReadyResult);
    if (next > start && size > FRAME_BYTES_MAX) break;
  }
  for (let at = next - 1; at >= start; at -= 1) writeResult(results[at] as ReadyResult);
  return { frame: writer.take(), next };
}

function writeResult({ commandId, field, content }: ReadyResult): void {
  const end = writer.length;
  if (content instanceof Uint8Array) writer.raw(content);
  else writeReply(writer, content);
  writer.close((field << 3) | 2, end);
  writer.micros(COMMAND_ID_TAG, commandId);
  writer.close(RESULTS_TAG, end);
}

// Enough to keep frames small, without looking at every text's bytes.
function bytesAtMost({ content }: ReadyResult): number {
  if (content instanceof Uint8Array) return content.length + REPLY_BYTES;
  const { reservation, headroom } = content;
  let chars =
    2 * reservation.budget.length + headroom.budget.length + headroom.limit.length + 2 * reservation.unit.length;
  chars += reservation.holder.length + reservation.actingFor.length + reservation.figures.releaseReason.length;
  if (reservation.queued !== undefined) chars += reservation.queued.blockedBy.length + 2 * REPLY_BYTES;
  for (const [key, value] of reservation.labels) chars += key.length + value.length + 4;
  return REPLY_BYTES + BYTES_PER_CHAR * chars;
}
