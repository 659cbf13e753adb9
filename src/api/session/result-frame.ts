// Puts encoded results into frames (SessionResponse messages) by hand: each result is encoded once, as soon as it is
// known, so that a frame's size is known exactly before it is sent.

// Field 1 of SessionResponse, length-delimited.
const RESULTS_TAG = 0x0a;
const VARINT_SIGN = 0x80;

/**
 * Largest frame, in bytes, unless a single result is larger: far below the 4 MiB that gRPC clients take by default, large
 * enough that what a frame costs in itself no longer shows (1,000 grants).
 */
export const FRAME_BYTES_MAX = 256 * 1024;

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= VARINT_SIGN; rest >>>= 7) bytes += 1;
  return bytes;
}

/** The frame that holds as many of the results, from `start` on, as fit, and the index of the first that did not. */
export function resultFrame(
  results: readonly Uint8Array[],
  start: number,
): { readonly frame: Buffer; readonly next: number } {
  let size = 0;
  let next = start;
  for (; next < results.length; next += 1) {
    const length = results[next]?.length ?? 0;
    const bytes = 1 + varintBytes(length) + length;
    if (size > 0 && size + bytes > FRAME_BYTES_MAX) break;
    size += bytes;
  }
  const frame = Buffer.allocUnsafe(size);
  let at = 0;
  for (const result of results.slice(start, next)) {
    frame[at] = RESULTS_TAG;
    at += 1;
    let rest = result.length;
    for (; rest >= VARINT_SIGN; rest >>>= 7) {
      frame[at] = (rest & 0x7f) | VARINT_SIGN;
      at += 1;
    }
    frame[at] = rest;
    at += 1;
    frame.set(result, at);
    at += result.length;
  }
  return { frame, next };
}
