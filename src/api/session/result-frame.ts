// Puts results into frames (SessionResponse messages). What became known in one turn is encoded at once when it is sent, the
// last result first, straight from the kernel's answers (wire/write-reply).
import { toBinary } from '@bufbuild/protobuf';
import { type SessionResult, SessionResultSchema } from '../../gen/budgetd/v1/reservation_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import type { ReservationAnswer } from '../../kernel/answer.ts';
import type { PricePins } from '../../kernel/price.ts';
import { type CallStatus, statusMessage } from '../errors/call-status.ts';
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

/** Field numbers of SessionResult, from the contract itself. */
export const RESULT_FIELDS = Object.fromEntries(
  SessionResultSchema.fields.map((field) => [field.localName, field.number]),
) as Readonly<Record<NonNullable<SessionResult['result']['case']>, number>>;

// Everything in a reply but its texts: 20 numbers, tags and lengths.
const REPLY_BYTES = 256;
// UTF-8 needs at most three bytes for one of JavaScript's characters.
const BYTES_PER_CHAR = 3;

const RESULTS_TAG = 0x0a;
const COMMAND_ID_TAG = 0x08;

// One for all Sessions: a frame is written within one turn and copied out of it.
const writer = new ReverseWriter(FRAME_BYTES_MAX);

/**
 * The frame that holds as many of the results, from `start` on, as fit, and the index of the first that did not. A result that can't
 * be written is answered with the status that `faulted` gives for why; the others of its frame are not touched by it.
 */
export function resultFrame(
  results: readonly ReadyResult[],
  start: number,
  faulted: (cause: unknown) => CallStatus,
): { readonly frame: Buffer; readonly next: number } {
  // What was left by a frame that could not be made.
  writer.rewind(0);
  let next = start;
  for (let size = 0; next < results.length; next += 1) {
    size += bytesAtMost(results[next] as ReadyResult);
    if (next > start && size > FRAME_BYTES_MAX) break;
  }
  for (let at = next - 1; at >= start; at -= 1) writeSound(results[at] as ReadyResult, faulted);
  return { frame: writer.take(), next };
}

function writeSound(result: ReadyResult, faulted: (cause: unknown) => CallStatus): void {
  const end = writer.length;
  try {
    writeResult(result);
  } catch (cause) {
    writer.rewind(end);
    writeResult({ commandId: result.commandId, ...errorResult(faulted(cause)) });
  }
}

/** A status as the content of a result. */
export function errorResult(status: CallStatus): Omit<ReadyResult, 'commandId'> {
  return { field: RESULT_FIELDS.error, content: toBinary(StatusSchema, statusMessage(status)) };
}

function writeResult({ commandId, field, content }: ReadyResult): void {
  const end = writer.length;
  if (content instanceof Uint8Array) writer.raw(content);
  else writeReply(writer, content);
  writer.close((field << 3) | 2, end);
  writer.uint64(COMMAND_ID_TAG, commandId);
  writer.close(RESULTS_TAG, end);
}

// Hashes have 43 characters; names of models are bounded by what a catalogue calls them, rarely above 60.
const HASH_CHARS = 48;

function pinsCharsAtMost({ rowHashes, aliases = [] }: PricePins): number {
  let chars = (rowHashes.length + 1) * HASH_CHARS + REPLY_BYTES;
  for (const { provider, model, target } of aliases) {
    chars += provider.length + model.length + target.provider.length + target.model.length + 16;
  }
  return chars;
}

// Enough to keep frames small, without looking at every text's bytes.
function bytesAtMost({ content }: ReadyResult): number {
  if (content instanceof Uint8Array) return content.length + REPLY_BYTES;
  const { reservation, headroom } = content;
  let chars =
    2 * reservation.budget.length + headroom.budget.length + headroom.limit.length + 2 * reservation.unit.length;
  chars += reservation.holder.length + reservation.actingFor.length + reservation.figures.releaseReason.length;
  if (reservation.queued !== undefined) chars += reservation.queued.blockedBy.length + 2 * REPLY_BYTES;
  if (reservation.price !== undefined) chars += pinsCharsAtMost(reservation.price.pins);
  if (reservation.priced !== undefined) chars += REPLY_BYTES;
  for (const path of reservation.also) chars += path.length + 4;
  for (const [key, value] of reservation.labels) chars += key.length + value.length + 4;
  return REPLY_BYTES + BYTES_PER_CHAR * chars;
}
