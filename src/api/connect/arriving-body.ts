// The body of a request while it arrives: counted as it is read, and broken off where it may not go on. Stands before everything
// that reads bodies, so that the handler answers with the status of the cut, in whatever protocol the request came.
import { createContextKey } from '@connectrpc/connect';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import type { Arrival, Arrivals } from '../arrivals.ts';
import type { CallStatus } from '../errors/call-status.ts';
import { connectError } from './connect-error.ts';

/** Tells that the frames of a stream that have come so far are taken. Default: does nothing, for a unary call. */
export const FRAMES_TAKEN = createContextKey<() => void>(() => undefined);

/** What a request is counted with. */
export interface Arriving {
  readonly arrivals: Arrivals;
  /** Whether it is a stream of frames, which may last. */
  readonly isStream: boolean;
  /** Resets the stream under the request, where nobody reads its body any more. */
  readonly cut: () => void;
}

/** The same request, counted; and how to tell that it is over. */
export function arrivingRequest(
  request: UniversalServerRequest,
  { arrivals, isStream, cut }: Arriving,
): { readonly request: UniversalServerRequest; readonly over: () => void } {
  const { body } = request;
  // Connect reads bodies of its own handlers as they come from Node.
  if (typeof body !== 'object' || body === null || !(Symbol.asyncIterator in body)) {
    return { request, over: () => undefined };
  }
  if (isStream) {
    const arrival = arrivals.stream(cut);
    request.contextValues?.set(FRAMES_TAKEN, () => arrival.take(Number.POSITIVE_INFINITY));
    return { request: { ...request, body: counted(body, arrival) }, over: () => arrival.end() };
  }
  const { promise: broken, reject } = Promise.withResolvers<never>();
  // Where nobody waits for more of the body, nobody hears of it.
  broken.catch(() => undefined);
  const arrival = arrivals.request((status: CallStatus) => reject(connectError(status)));
  return { request: { ...request, body: breakable(body, arrival, broken) }, over: () => arrival.end() };
}

async function* counted(body: AsyncIterable<Uint8Array>, arrival: Arrival): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    arrival.add(chunk.length);
    yield chunk;
  }
}

async function* breakable(
  body: AsyncIterable<Uint8Array>,
  arrival: Arrival,
  broken: Promise<never>,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  let isWaiting = false;
  try {
    for (;;) {
      isWaiting = true;
      const next = await Promise.race([chunks.next(), broken]);
      isWaiting = false;
      if (next.done === true) return;
      arrival.add(next.value.length);
      yield next.value;
    }
  } finally {
    arrival.end();
    // A return would wait for the chunk that does not come; the stream goes with its answer.
    if (!isWaiting) await chunks.return?.();
  }
}
