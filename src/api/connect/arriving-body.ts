// The body of a request while it arrives: counted as it is read, and broken off where it may not go on. Stands before everything
// that reads bodies, so that the handler answers with the status of the cut, in whatever protocol the request came.
import { type ContextValues, createContextKey } from '@connectrpc/connect';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { Arrival, Arrivals } from '../arrivals.ts';
import { bareStatus, type CallStatus } from '../errors/call-status.ts';
import { connectError } from './connect-error.ts';
import type { HttpRequest, HttpResponse } from './http-call.ts';

/** Tells that the frames of a stream that have come so far are taken. Default: does nothing, for a unary call. */
export const FRAMES_TAKEN = createContextKey<() => void>(() => undefined);

const RESET = bareStatus(Code.CANCELLED, 'the request was reset before its end');

/** Resolves when the first bytes of a body are there, or that there are none, or when the call is over. */
export function firstBytes(request: HttpRequest, response: HttpResponse): Promise<void> {
  if (request.readableLength > 0 || request.complete) return Promise.resolve();
  return new Promise((resolve) => {
    // Also comes where the body ends without any.
    request.once('readable', resolve);
    response.once('close', resolve);
  });
}

/** A body whose bytes are counted. */
export interface CountedBody {
  /** The same bytes. Throws a ConnectError where they may not go on. */
  read(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** The call is over. */
  over(): void;
}

/** The body of a unary request. */
export class ArrivingBody implements CountedBody {
  readonly #arrival: Arrival;
  readonly #broken: Promise<never>;
  readonly #request: HttpRequest;
  #isRead = false;

  /** `turnAway` is called where the request may not go on and nobody reads its body yet or any more. */
  constructor(request: HttpRequest, arrivals: Arrivals, turnAway: (status: CallStatus) => void) {
    const { promise, reject } = Promise.withResolvers<never>();
    // Where nobody waits for more of the body, nobody hears of it.
    promise.catch(() => undefined);
    this.#request = request;
    this.#broken = promise;
    this.#arrival = arrivals.request((status) => {
      if (this.#isRead) reject(connectError(status));
      else turnAway(status);
    });
  }

  async *read(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const chunks = body[Symbol.asyncIterator]();
    this.#isRead = true;
    let isWaiting = false;
    try {
      for (;;) {
        isWaiting = true;
        const next = await Promise.race([chunks.next(), this.#broken]);
        isWaiting = false;
        if (next.done === true) {
          // A reset ends the body too, and what has come so far would be carried out.
          if (this.#request.aborted) throw connectError(RESET);
          return;
        }
        this.#arrival.add(next.value.length);
        yield next.value;
      }
    } finally {
      this.#isRead = false;
      this.#arrival.end();
      // A return would wait for the chunk that does not come; the stream goes with its answer.
      if (!isWaiting) await chunks.return?.();
    }
  }

  over(): void {
    this.#arrival.end();
  }
}

/** Counts the frames of a stream, which may last. `cut` resets it; how they are taken goes into `values`. */
export function countFrames(arrivals: Arrivals, values: ContextValues, cut: () => void): CountedBody {
  const arrival = arrivals.stream(cut);
  values.set(FRAMES_TAKEN, () => arrival.take(Number.POSITIVE_INFINITY));
  return {
    async *read(body) {
      for await (const chunk of body) {
        arrival.add(chunk.length);
        yield chunk;
      }
    },
    over: () => arrival.end(),
  };
}
