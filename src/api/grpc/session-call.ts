// Session on grpc-js: joins the stream's events to a Session.
import { fromBinary } from '@bufbuild/protobuf';
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import { type SessionRequest, SessionRequestSchema } from '../../gen/budgetd/v1/reservation_pb.ts';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import { NO_API_OBSERVER, type ObservedCall } from '../api-observer.ts';
import { isRefusal, undecodable } from '../api-refusal.ts';
import { isCrowdedMessage } from '../crowded-message.ts';
import { ENVELOPE_BYTES } from '../envelope.ts';
import type { CallStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import { SESSION_PATH } from '../services/served-methods.ts';
import type { ServingSessions } from '../serving-sessions.ts';
import type { Session, SessionSink } from '../session/session.ts';
import { cutStream, streamOf } from './cut-stream.ts';
import { type GrpcCallDeps, headersOf } from './grpc-call.ts';
import { arrivalOf } from './guard-streams.ts';
import { serviceError } from './service-error.ts';

type SessionStream = ServerDuplexStream<Buffer, Buffer>;

function endStream(call: SessionStream, observed: ObservedCall, status: CallStatus | undefined): void {
  observed.end(status?.code ?? Code.OK);
  // An error event is how grpc-js is told the status; what has been written still goes out before it.
  if (status === undefined) call.end();
  else call.emit('error', serviceError(status));
}

// grpc-js reads sixteen messages ahead of a reader that has paused: 16 MiB a Session. One is enough, since a frame that is
// taken makes room for the next in the same turn.
function readOneAhead(call: SessionStream): void {
  const { _readableState: state } = call as unknown as { readonly _readableState?: { highWaterMark: number } };
  if (state !== undefined) state.highWaterMark = 1;
}

function sinkOf(call: SessionStream, observed: ObservedCall): SessionSink {
  return {
    write: (frame) => call.write(frame),
    end: (status) => endStream(call, observed, status),
    cut: () => cutStream(call),
    pauseReading: () => {
      call.pause();
    },
    resumeReading: () => {
      call.resume();
    },
  };
}

function decode(bytes: Buffer): SessionRequest | undefined {
  if (isCrowdedMessage(SessionRequestSchema, bytes)) return undefined;
  try {
    return fromBinary(SessionRequestSchema, bytes);
  } catch {
    // The caller is told that its bytes are no frame; what the reader stumbled over tells it nothing more.
    return undefined;
  }
}

// After a frame that cannot be read, nothing says what its commands were: the Session ends.
function receive(session: Session, bytes: Buffer): void {
  const frame = decode(bytes);
  if (frame === undefined) session.close(refusalStatus(undecodable()));
  else session.receive(frame);
}

/** The function that grpc-js calls for each Session. */
export function sessionCall(sessions: ServingSessions, deps: GrpcCallDeps): handleBidiStreamingCall<Buffer, Buffer> {
  const observer = deps.observer ?? NO_API_OBSERVER;
  return (call) => {
    const header = headersOf(call.metadata);
    const observed = observer.call(SESSION_PATH, header);
    const actor = deps.authenticate(header('authorization'));
    const session = isRefusal(actor) ? actor : sessions.open(actor, sinkOf(call, observed));
    if (isRefusal(session)) {
      observer.refused(session.reason);
      return endStream(call, observed, refusalStatus(session));
    }
    readOneAhead(call);
    const stream = streamOf(call);
    call.on('data', (bytes: Buffer) => {
      if (stream !== undefined) arrivalOf(stream)?.take(bytes.length + ENVELOPE_BYTES);
      observed.run(() => receive(session, bytes));
    });
    call.on('end', () => session.close(undefined));
    call.on('drain', () => session.writable());
    // Comes for every stream, however it ended.
    call.on('cancelled', () => {
      session.cancel();
      sessions.closed(session);
      observed.end(Code.CANCELLED);
    });
  };
}
