// A stream of answers over Connect, which asks for each message when the one before has been taken. HTTP/1.1 and HTTP/2.
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { ApiLog } from '../api-log.ts';
import type { ApiObserver, ObservedCall } from '../api-observer.ts';
import { type ApiRefusal, isRefusal } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { type CallStatus, faultStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { MessageStream, StreamContext } from '../services/handler.ts';
import { type OpenStream, type ServingStreams, STREAM_FLUSH_MS, STREAM_STOPPED } from '../serving-streams.ts';
import { connectError } from './connect-error.ts';

/** What a stream needs from around it. */
export interface StreamBridgeDeps {
  readonly streams: ServingStreams;
  readonly log: ApiLog;
  readonly observer: ApiObserver;
  readonly observed: ObservedCall;
  readonly method: DescMethod;
}

/** The call under it. */
export interface StreamBridgeCall {
  readonly actor: Actor;
  /** Aborts when the peer is gone. */
  readonly signal: AbortSignal;
  /** Resets the stream. */
  readonly cut: () => void;
}

type Open = (context: StreamContext) => Promise<MessageStream<Message> | ApiRefusal>;

/** Runs one stream. Throws ConnectError where it ends with a status. */
export async function* bridgeStream(
  deps: StreamBridgeDeps,
  open: Open,
  { actor, signal, cut }: StreamBridgeCall,
): AsyncGenerator<Message> {
  const { streams, observed } = deps;
  const stream = streams.open(actor);
  if (isRefusal(stream)) throw failed(deps, refusalStatus(stream), stream);
  const { controller } = stream;
  const onGone = () => {
    controller.abort();
    // At once: what is written to a peer that is gone may never be asked for again.
    streams.closed(stream);
    observed.end(Code.CANCELLED);
  };
  signal.addEventListener('abort', onGone);
  let cutting: NodeJS.Timeout | undefined;
  // A status cannot get past what is not read.
  const onAbort = () => {
    if (stream.stopped) cutting = setTimeout(cut, STREAM_FLUSH_MS).unref();
  };
  controller.signal.addEventListener('abort', onAbort);
  try {
    const status = yield* messagesOf(deps, open, { actor, signal: controller.signal }, stream);
    if (status !== undefined) throw failed(deps, status);
    observed.end(Code.OK);
  } finally {
    clearTimeout(cutting);
    signal.removeEventListener('abort', onGone);
    streams.closed(stream);
    observed.end(Code.CANCELLED);
  }
}

async function* messagesOf(
  deps: StreamBridgeDeps,
  open: Open,
  context: StreamContext,
  stream: OpenStream,
): MessageStream<Message> {
  const { observed, observer, log, method } = deps;
  try {
    const messages = await observed.run(() => open(context));
    if (isRefusal(messages)) {
      observer.refused(messages.reason);
      return refusalStatus(messages);
    }
    const status = yield* messages;
    return stream.stopped ? STREAM_STOPPED : status;
  } catch (cause) {
    observer.faulted();
    return observed.run(() => faultStatus(cause, method.name, log));
  }
}

function failed({ observed, observer }: StreamBridgeDeps, status: CallStatus, refusal?: ApiRefusal) {
  if (refusal !== undefined) observer.refused(refusal.reason);
  observed.end(status.code);
  return connectError(status);
}
