// One method on grpc-js that answers with a stream. The next message is made when the transport has taken the one before: a
// reader that does not read stops the reading behind it.
import { type DescMethod, type Message, toBinary } from '@bufbuild/protobuf';
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import { NO_API_OBSERVER } from '../api-observer.ts';
import { isRefusal } from '../api-refusal.ts';
import { type CallStatus, faultStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { MessageStream } from '../services/handler.ts';
import { type AnyStreamHandler, methodPath } from '../services/served-methods.ts';
import { type OpenStream, type ServingStreams, STREAM_FLUSH_MS, STREAM_STOPPED } from '../serving-streams.ts';
import { cutStream } from './cut-stream.ts';
import { decodeRequest, type GrpcCallDeps, headersOf } from './grpc-call.ts';
import { serviceError } from './service-error.ts';

type StreamCall = ServerWritableStream<Buffer, Buffer>;

// Resolves when the transport takes messages again, or the stream is to end.
function writable(call: StreamCall, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      call.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    call.on('drain', done);
    signal.addEventListener('abort', done);
  });
}

async function send(
  call: StreamCall,
  method: DescMethod,
  messages: MessageStream<Message>,
  { controller: { signal } }: OpenStream,
): Promise<CallStatus | undefined> {
  try {
    while (!signal.aborted) {
      const next = await messages.next();
      if (next.done === true) return next.value;
      const { buffer, byteOffset, length } = toBinary(method.output, next.value);
      if (!signal.aborted && !call.write(Buffer.from(buffer, byteOffset, length))) await writable(call, signal);
    }
    return undefined;
  } finally {
    await messages.return(undefined);
  }
}

/** The function that grpc-js calls for each call of the method. */
export function streamCall(
  method: DescMethod,
  handler: AnyStreamHandler,
  streams: ServingStreams,
  deps: GrpcCallDeps,
): handleServerStreamingCall<Buffer, Buffer> {
  const path = methodPath(method);
  const observer = deps.observer ?? NO_API_OBSERVER;
  return (call) => {
    const header = headersOf(call.metadata);
    const observed = observer.call(path, header);
    const end = (status: CallStatus | undefined): void => {
      observed.end(status?.code ?? Code.OK);
      // As with Sessions: an error event is how grpc-js is told the status.
      if (status === undefined) call.end();
      else call.emit('error', serviceError(status));
    };
    const refuse = (refusal: Parameters<typeof refusalStatus>[0]): void => {
      observer.refused(refusal.reason);
      end(refusalStatus(refusal));
    };
    const actor = deps.authenticate(header('authorization'));
    if (isRefusal(actor)) return refuse(actor);
    const request = decodeRequest(method, call.request);
    if (isRefusal(request)) return refuse(request);
    const stream = streams.open(actor);
    if (isRefusal(stream)) return refuse(stream);
    const { signal } = stream.controller;
    let cutting: NodeJS.Timeout | undefined;
    // Comes for every stream, however it ended.
    call.on('cancelled', () => {
      stream.controller.abort();
      streams.closed(stream);
      clearTimeout(cutting);
      observed.end(Code.CANCELLED);
    });
    const run = async (): Promise<void> => {
      const messages = await handler(request, { actor, signal });
      if (isRefusal(messages)) return refuse(messages);
      const status = await send(call, method, messages, stream);
      if (!stream.stopped) return end(status);
      // A status cannot get past what is not read.
      cutting = setTimeout(() => cutStream(call), STREAM_FLUSH_MS).unref();
      end(STREAM_STOPPED);
    };
    observed.run(run).catch((cause: unknown) => {
      observer.faulted();
      end(observed.run(() => faultStatus(cause, method.name, deps.log)));
    });
  };
}
