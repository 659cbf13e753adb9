// How a gRPC call is answered on its HTTP/2 stream, past grpc-js.
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { toBinary } from '@bufbuild/protobuf';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { ENVELOPE_BYTES } from '../envelope.ts';
import { type CallStatus, STATUS_DETAILS_HEADER, statusMessage } from '../errors/call-status.ts';

const HEADERS: OutgoingHttpHeaders = {
  ':status': constants.HTTP_STATUS_OK,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': 'identity',
};
const OK_TRAILERS: OutgoingHttpHeaders = { 'grpc-status': '0' };
const WITH_TRAILERS = { waitForTrailers: true };
const AT_ONCE = { endStream: true };

function sendOk(this: ServerHttp2Stream): void {
  this.sendTrailers(OK_TRAILERS);
}

/** Whether an answer still reaches anybody. */
function takesAnswer(stream: ServerHttp2Stream): boolean {
  return !stream.destroyed && !stream.closed && !stream.headersSent;
}

/** Answers with one message and the status OK. Nothing, where the stream is over or answered. */
export function answerMessage(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (!takesAnswer(stream)) return;
  const enveloped = Buffer.allocUnsafe(ENVELOPE_BYTES + message.length);
  enveloped.writeUInt8(0, 0);
  enveloped.writeUInt32BE(message.length, 1);
  enveloped.set(message, ENVELOPE_BYTES);
  stream.respond(HEADERS, WITH_TRAILERS);
  stream.once('wantTrailers', sendOk);
  stream.end(enveloped);
}

/** Answers with a status and no message. Nothing, where the stream is over or answered. */
export function answerStatus(stream: ServerHttp2Stream, status: CallStatus): void {
  if (!takesAnswer(stream)) return;
  const { code, message, details } = status;
  const bytes = details.length === 0 ? undefined : toBinary(StatusSchema, statusMessage(status));
  stream.respond(
    {
      ...HEADERS,
      'grpc-status': code,
      'grpc-message': encodeURI(message.toWellFormed()),
      ...(bytes !== undefined && { [STATUS_DETAILS_HEADER]: Buffer.from(bytes).toString('base64') }),
    },
    AT_ONCE,
  );
}

/** Answers a stream whose request goes no further, and reads no more of it; resets one that is being answered. */
export function refuseStream(stream: ServerHttp2Stream, status: CallStatus): void {
  if (stream.destroyed || stream.closed) return;
  if (stream.headersSent) {
    stream.close(constants.NGHTTP2_CANCEL);
    return;
  }
  answerStatus(stream, status);
  stream.close(constants.NGHTTP2_NO_ERROR);
}
