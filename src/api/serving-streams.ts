// The calls of one server that it answers with streams: how many there may be, and their end when the server stops.

import { Code } from '../gen/google/rpc/code_pb.ts';
import type { ApiRefusal } from './api-refusal.ts';
import type { Actor } from './auth/actor.ts';
import { bareStatus } from './errors/call-status.ts';
import { OpenCalls } from './open-calls.ts';
import { EVENT_STREAMS_MAX, EVENT_STREAMS_PER_CALLER_MAX } from './transport-limits.ts';

/** How streams end with their server. */
export const STREAM_STOPPED = bareStatus(
  Code.UNAVAILABLE,
  'the server is stopping: open another stream with the last cursor',
);

/** How long a stream's status may take to leave a server that stops, past what its reader has not read. */
export const STREAM_FLUSH_MS = 1_000;

/** A stream of answers. */
export interface OpenStream {
  /** Ends the work for it. */
  readonly controller: AbortController;
  /** Its server stops. */
  stopped: boolean;
}

/** Opens streams and keeps track of them. */
export class ServingStreams {
  readonly #open = new OpenCalls<OpenStream>({
    max: EVENT_STREAMS_MAX,
    perCallerMax: EVENT_STREAMS_PER_CALLER_MAX,
    plural: 'watches',
  });
  #stopping = false;

  /** Opens a stream, unless there are too many. The caller reports its end with `closed`. */
  open(actor: Actor): OpenStream | ApiRefusal {
    const refusal = this.#open.refusal(actor.name);
    if (refusal !== undefined) return refusal;
    const stream: OpenStream = { controller: new AbortController(), stopped: false };
    this.#open.add(stream, actor.name);
    if (this.#stopping) this.#stop(stream);
    return stream;
  }

  /** The stream is over, one way or another. */
  closed(stream: OpenStream): void {
    this.#open.delete(stream);
  }

  /** Ends every stream; later ones too, at once. */
  stop(): void {
    this.#stopping = true;
    for (const stream of [...this.#open.all]) this.#stop(stream);
  }

  #stop(stream: OpenStream): void {
    stream.stopped = true;
    stream.controller.abort();
  }
}
