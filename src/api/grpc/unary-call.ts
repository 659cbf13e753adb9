// One unary call, on its HTTP/2 stream. grpc-js, which serves all else on its port, takes twice the time that Node needs for a
// stream (docs/benchmarks.md), and most calls are unary ones.
//
//   arriving   its message is not whole
//   running    it is with its handler
//   over       answered, late, or its stream is closed: whatever its handler says reaches nobody
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type DescMethod, toBinary } from '@bufbuild/protobuf';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { OutgoingCall } from '../answer-watch.ts';
import { type ApiObserver, NO_API_OBSERVER, type ObservedCall } from '../api-observer.ts';
import { type ApiRefusal, isRefusal } from '../api-refusal.ts';
import type { Arrival } from '../arrivals.ts';
import type { Actor } from '../auth/actor.ts';
import { bareStatus, type CallStatus, faultStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { CallContext } from '../services/handler.ts';
import { type AnyHandler, methodPath } from '../services/served-methods.ts';
import type { ServingWaits, WaitingCall } from '../serving-waits.ts';
import { MESSAGE_BYTES_MAX } from '../transport-limits.ts';
import { answerMessage, answerStatus, refuseStream } from './answer-stream.ts';
import { decodeRequest, type GrpcCallDeps } from './grpc-call.ts';
import type { ServeStream, StreamGuards } from './guard-streams.ts';
import { OneMessage } from './one-message.ts';
import { timeoutMsOf } from './timeout-header.ts';

/** What calls of one port share. */
export interface UnaryCallParts extends GrpcCallDeps, StreamGuards {
  readonly waits: ServingWaits;
}

interface ServedMethod extends UnaryCallParts {
  readonly method: DescMethod;
  readonly handler: AnyHandler;
  readonly path: string;
  readonly observer: ApiObserver;
}

/** Longer ones Node would make the shortest. */
const TIMER_MS_MAX = 2 ** 31 - 1;

const LATE = bareStatus(Code.DEADLINE_EXCEEDED, 'the deadline has passed');
const NOT_ONE = bareStatus(Code.UNIMPLEMENTED, 'this method takes one whole message');
// Whatever comes compressed is refused by its headers, and no other flag means anything.
const FLAGGED = bareStatus(Code.INTERNAL, 'a message has a flag that its headers do not explain');
const TOO_LARGE = bareStatus(Code.RESOURCE_EXHAUSTED, `a message may have ${MESSAGE_BYTES_MAX} bytes`);

/** See the head of this file. */
class UnaryCall implements OutgoingCall, WaitingCall {
  readonly unary = true;
  /** Kept, since the stream forgets it at its end. */
  readonly connection: object | undefined;
  readonly #served: ServedMethod;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #arrival: Arrival;
  /** Undefined once it has been read: a call may run for long. */
  #message: OneMessage | undefined = new OneMessage();
  readonly #deadlineMs: number | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #observed: ObservedCall | undefined;
  #isOver = false;
  /** Told once nobody waits for the answer. */
  readonly #watchers = new Set<() => void>();

  constructor(served: ServedMethod, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, timeoutMs?: number) {
    this.#served = served;
    this.#stream = stream;
    this.connection = stream.session;
    this.#headers = headers;
    this.#arrival = served.arrivals.request((status) => this.#refuse(status));
    served.answers.opened(this);
    stream.on('data', (piece: Buffer) => this.#take(piece));
    stream.once('end', () => this.#arrived());
    stream.once('close', () => this.#closed());
    if (timeoutMs === undefined) return;
    this.#deadlineMs = Date.now() + timeoutMs;
    if (timeoutMs <= TIMER_MS_MAX) this.#timer = setTimeout(() => this.#refuse(LATE), timeoutMs);
  }

  hasBegun(): boolean {
    return this.#stream.headersSent;
  }

  hasLeft(): boolean {
    return this.#stream.writableFinished;
  }

  unreadBytes(): number {
    return this.#stream.writableLength;
  }

  close(): void {
    this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  cut(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  watch(gone: () => void): () => void {
    if (this.#isOver) gone();
    this.#watchers.add(gone);
    return () => this.#watchers.delete(gone);
  }

  #take(piece: Buffer): void {
    const message = this.#message;
    if (this.#isOver || message === undefined) return;
    this.#arrival.add(piece.length);
    message.add(piece);
    if ((message.length ?? 0) > MESSAGE_BYTES_MAX) this.#refuse(TOO_LARGE);
    else if (message.isExceeded) this.#refuse(NOT_ONE);
  }

  #arrived(): void {
    this.#arrival.end();
    const arrived = this.#message;
    this.#message = undefined;
    // A reset ends the reading side too: nobody asked for what has come so far.
    if (this.#isOver || this.#stream.closed || arrived === undefined) return;
    const { observer, path, method, log } = this.#served;
    const observed = observer.call(path, (name) => this.#header(name));
    this.#observed = observed;
    this.#serve(observed, arrived).catch((cause: unknown) => {
      observer.faulted();
      this.#failed(observed.run(() => faultStatus(cause, method.name, log)));
    });
  }

  #header(name: string): string | undefined {
    const value = this.#headers[name];
    return typeof value === 'string' ? value : undefined;
  }

  async #serve(observed: ObservedCall, { flags, message }: OneMessage): Promise<void> {
    const { authenticate, method, handler } = this.#served;
    const actor = authenticate(this.#header('authorization'));
    if (isRefusal(actor)) this.#refused(actor);
    else if (message === undefined) this.#failed(NOT_ONE);
    else if (flags !== 0) this.#failed(FLAGGED);
    else {
      const request = decodeRequest(method, message);
      const reply = isRefusal(request) ? request : await observed.run(() => handler(request, this.#context(actor)));
      if (isRefusal(reply)) this.#refused(reply);
      else this.#succeeded(observed, toBinary(method.output, reply));
    }
  }

  #context(actor: Actor): CallContext {
    const deadlineMs = this.#deadlineMs;
    return {
      actor,
      cancelled: () => this.#isOver || this.#stream.closed,
      timeLeftMs: () => (deadlineMs === undefined ? undefined : deadlineMs - Date.now()),
      wait: (work) => this.#served.waits.during(this, work),
    };
  }

  #succeeded(observed: ObservedCall, bytes: Uint8Array): void {
    observed.end(Code.OK);
    if (!this.#isOver) answerMessage(this.#stream, bytes);
  }

  #refused(refusal: ApiRefusal): void {
    this.#served.observer.refused(refusal.reason);
    this.#failed(refusalStatus(refusal));
  }

  #failed(status: CallStatus): void {
    this.#observed?.end(status.code);
    if (!this.#isOver) answerStatus(this.#stream, status);
  }

  // Whatever has come of it, and whatever its handler does.
  #refuse(status: CallStatus): void {
    if (this.#isOver) return;
    if (this.#observed === undefined) refuseStream(this.#stream, status);
    else this.#failed(status);
    this.#end();
  }

  #closed(): void {
    this.#arrival.end();
    this.#served.answers.closed(this);
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const gone of this.#watchers) gone();
  }
}

/** Serves the streams of one method. */
export function unaryCall(method: DescMethod, handler: AnyHandler, parts: UnaryCallParts): ServeStream {
  const served = { ...parts, method, handler, path: methodPath(method), observer: parts.observer ?? NO_API_OBSERVER };
  return (stream, headers) => {
    const timeout = headers['grpc-timeout'];
    const timeoutMs = typeof timeout === 'string' ? timeoutMsOf(timeout) : undefined;
    if (timeout !== undefined && timeoutMs === undefined) {
      refuseStream(stream, bareStatus(Code.INTERNAL, 'grpc-timeout must be at most eight digits and a unit'));
      return;
    }
    new UnaryCall(served, stream, headers, timeoutMs);
  };
}
