// Frames of a Session over Connect, put together before Connect decodes them, so that one with far too much in it is refused from
// its bytes. Connect itself would decode it first, and that takes a second.
import { Code, ConnectError } from '@connectrpc/connect';
import { SessionRequestSchema } from '../../gen/budgetd/v1/reservation_pb.ts';
import { isCrowdedJson, isCrowdedMessage } from '../crowded-message.ts';
import { ENVELOPE_BYTES } from '../envelope.ts';
import { MESSAGE_BYTES_MAX } from '../transport-limits.ts';

/**
 * The same bytes. Throws where a frame is too crowded, as Connect does where one can't be read. Frames longer than the largest
 * pass unchecked, piece by piece: Connect refuses them for their size.
 */
export async function* checkedFrames(body: AsyncIterable<Uint8Array>, isJson: boolean): AsyncGenerator<Uint8Array> {
  let pending: Buffer[] = [];
  let size = 0;
  let wanted = ENVELOPE_BYTES;
  for await (const chunk of body) {
    pending.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
    size += chunk.length;
    if (size < wanted) continue;
    let bytes = Buffer.concat(pending, size);
    for (wanted = frameBytes(bytes); bytes.length >= wanted; wanted = frameBytes(bytes)) {
      const frame = bytes.subarray(0, wanted);
      const message = frame.subarray(ENVELOPE_BYTES);
      if (isJson ? isCrowdedJson(message) : isCrowdedMessage(SessionRequestSchema, message)) {
        throw new ConnectError('too much in one frame', Code.Internal);
      }
      yield frame;
      bytes = bytes.subarray(wanted);
    }
    if (wanted > MESSAGE_BYTES_MAX + ENVELOPE_BYTES) {
      yield bytes;
      yield* body;
      return;
    }
    pending = [bytes];
    size = bytes.length;
  }
  if (size > 0) yield Buffer.concat(pending, size);
}

// Of the envelope alone where not even that is there.
function frameBytes(bytes: Buffer): number {
  return bytes.length < ENVELOPE_BYTES ? ENVELOPE_BYTES : ENVELOPE_BYTES + bytes.readUInt32BE(1);
}
