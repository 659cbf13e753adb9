// Session over Connect: turns a Session's pushes into the async iterable that Connect pulls. HTTP/2 only, as every
// two-way stream there.
import { fromBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  type SessionRequest,
  type SessionResponse,
  SessionResponseSchema,
} from '../../gen/budgetd/v1/reservation_pb.ts';
import { Code as GrpcCode } from '../../gen/google/rpc/code_pb.ts';
import type { ApiObserver, ObservedCall } from '../api-observer.ts';
import { isRefusal, undecodable } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { bareStatus, type CallStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { ServingSessions } from '../serving-sessions.ts';
import type { Session, SessionSink } from '../session/session.ts';
import { connectError } from './connect-error.ts';

/** Frames on their way out, one at a time: the next is asked for when the transport has taken the one before. */
class FrameQueue implements SessionSink {
  readonly #frames: Buffer[] = [];
  #end: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;
  #pause: Promise<void> | undefined;
  #resume: (() => void) | undefined;
  readonly #observed: ObservedCall;
  readonly cut: () => void;

  constructor(observed: ObservedCall, cut: () => void) {
    this.#observed = observed;
    this.cut = cut;
  }

  write(frame: Buffer): boolean {
    this.#frames.push(frame);
    this.#wake?.();
    return false;
  }

  end(status: CallStatus | undefined): void {
    this.#observed.end(status?.code ?? GrpcCode.OK);
    this.#end ??= { error: status === undefined ? undefined : connectError(status) };
    this.resumeReading();
    this.#wake?.();
  }

  pauseReading(): void {
    this.#pause ??= new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  resumeReading(): void {
    this.#pause = undefined;
    this.#resume?.();
  }

  /** Resolves when the next request frame may be taken. */
  async readable(): Promise<void> {
    await this.#pause;
  }

  /** The frames until the end; throws the error that it ended with. */
  async *frames(session: Session): AsyncGenerator<SessionResponse> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) {
        yield fromBinary(SessionResponseSchema, frame);
        session.writable();
      } else if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

async function pump(
  requests: AsyncIterable<SessionRequest>,
  session: Session,
  queue: FrameQueue,
  { observed, framesTaken }: BridgeDeps,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const frame of requests) {
      framesTaken();
      observed.run(() => session.receive(frame));
      await queue.readable();
    }
    session.close(undefined);
  } catch (cause) {
    if (signal.aborted) return;
    // As on grpc-js: a frame that cannot be read ends the Session after what is outstanding. Connect calls it internal.
    const { code, rawMessage } = ConnectError.from(cause);
    session.close(code === Code.Internal ? refusalStatus(undecodable()) : bareStatus(code, rawMessage));
  }
}

/** What a Session needs from around it. */
export interface BridgeDeps {
  readonly sessions: ServingSessions;
  readonly observer: ApiObserver;
  readonly observed: ObservedCall;
  /** Resets the stream under the Session. */
  readonly cut: () => void;
  /** The frames that have come so far are taken. */
  readonly framesTaken: () => void;
}

/** Runs one Session; `signal` aborts when the peer is gone. Throws ConnectError where it ends with a status. */
export async function* bridgeSession(
  deps: BridgeDeps,
  actor: Actor,
  requests: AsyncIterable<SessionRequest>,
  signal: AbortSignal,
): AsyncGenerator<SessionResponse> {
  const { sessions, observer, observed, cut } = deps;
  const queue = new FrameQueue(observed, cut);
  const session = sessions.open(actor, queue);
  if (isRefusal(session)) {
    const status = refusalStatus(session);
    observer.refused(session.reason);
    observed.end(status.code);
    throw connectError(status);
  }
  const onAbort = () => {
    session.cancel();
    // At once: what is written to a peer that is gone may never be asked for again.
    sessions.closed(session);
    observed.end(GrpcCode.CANCELLED);
    queue.end(undefined);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const pumping = pump(requests, session, queue, deps, signal);
  try {
    yield* queue.frames(session);
  } finally {
    signal.removeEventListener('abort', onAbort);
    session.cancel();
    sessions.closed(session);
    observed.end(GrpcCode.CANCELLED);
    // It may still wait for a frame that never comes, so nobody waits for it; it cannot reject.
    pumping.catch(() => undefined);
  }
}
