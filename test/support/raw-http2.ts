// HTTP/2 as no library would speak it: frames made by hand over a plain connection, and calls whose bytes and pace the test
// chooses. What hostile peers are made of.
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { fromBinary } from '@bufbuild/protobuf';
import { ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import { findDetail } from './api-servers.ts';

/** Types of frames. */
export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, windowUpdate: 8, continuation: 9 } as const;

/** Flags of frames. */
export const FLAG = { endStream: 1, endHeaders: 4 } as const;

/** Bytes of one frame. */
export function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** What a client sends first. */
export const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(FRAME.settings, 0, 0)]);

/** Bytes of an uncompressed header; name and value of at most 126 bytes. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);
}

/** Header block of a POST. */
export function postHeaders(path: string, contentType = 'application/grpc'): Buffer {
  // From the static table: method POST, scheme http.
  const pseudo = [Buffer.of(0x83, 0x86), literal(':path', path), literal(':authority', 'localhost')];
  return Buffer.concat([...pseudo, literal('content-type', contentType), literal('te', 'trailers')]);
}

/** A gRPC message in its envelope; `length` lies where it is given. */
export function envelope(message: Uint8Array, { flag = 0, length = message.length } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** A plain connection, open, whose failures are its own business. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connectSocket(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes over a plain connection and reads until the other side closes it, or until its end is asked for. */
export async function sendRaw(
  port: number,
  bytes: Uint8Array,
): Promise<{ readonly socket: Socket; end(): Promise<void> }> {
  const socket = await openSocket(port);
  socket.resume();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(bytes);
  return {
    socket,
    end: async () => {
      socket.destroy();
      await closed;
    },
  };
}

/** An HTTP/2 connection of Node's own client, whose failures are its own business. */
export async function openHttp2(port: number): Promise<ClientHttp2Session> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  await once(session, 'remoteSettings');
  return session;
}

/** Opens a stream that is not ended; its failures are its own business. */
export function openStream(
  session: ClientHttp2Session,
  path: string,
  headers: OutgoingHttpHeaders = {},
): ClientHttp2Stream {
  const type = { 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request({ ':method': 'POST', ':path': path, ...type, ...headers }, { endStream: false });
  stream.on('error', () => undefined);
  return stream;
}

/** How a gRPC call ended. */
export interface RawEnd {
  readonly httpStatus: number | undefined;
  /** Of grpc-status; undefined: there was none. */
  readonly code: number | undefined;
  /** Of the ErrorInfo in its details. */
  readonly reason: string | undefined;
  /** Of the reset that it ended with; 0: none. */
  readonly resetCode: number;
}

/** Resolves when the stream is over. */
export async function endOf(stream: ClientHttp2Stream): Promise<RawEnd> {
  let headers: IncomingHttpHeaders = {};
  const take = (more: IncomingHttpHeaders) => {
    headers = { ...headers, ...more };
  };
  stream.on('response', take);
  stream.on('trailers', take);
  stream.resume();
  if (!stream.closed) await once(stream, 'close').catch(() => undefined);
  const { 'grpc-status': code, 'grpc-status-details-bin': details, ':status': httpStatus } = headers;
  const status = details === undefined ? undefined : fromBinary(StatusSchema, Buffer.from(String(details), 'base64'));
  return {
    httpStatus: httpStatus === undefined ? undefined : Number(httpStatus),
    code: code === undefined ? undefined : Number(code),
    reason: findDetail(status, ErrorInfoSchema)?.reason,
    resetCode: stream.rstCode ?? constants.NGHTTP2_NO_ERROR,
  };
}
