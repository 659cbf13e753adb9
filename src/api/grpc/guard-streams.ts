// Stands before grpc-js, which trusts its peers: bounds what arrives, what is not taken, and how many connections there are.
// grpc-js takes a whole request before anybody is asked whose it is, waits for it as long as it takes, and unpacks whatever
// comes compressed, so all of this is done on the HTTP/2 streams below it. Streams of unary calls go past it.
import { constants, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { AnswerWatch } from '../answer-watch.ts';
import type { Arrival, Arrivals } from '../arrivals.ts';
import type { ConnectionBound } from '../connection-bound.ts';
import { bareStatus, type CallStatus } from '../errors/call-status.ts';
import { answersWithStream, SESSION_PATH } from '../services/served-methods.ts';
import { HEADER_BYTES_MAX, STREAMS_PER_CONNECTION_MAX } from '../transport-limits.ts';
import { refuseStream } from './answer-stream.ts';

// Unpacked, a kilobyte may be a megabyte, sixteen of which grpc-js would unpack at once for each stream. Requests are too
// small to gain by it.
const COMPRESSED = bareStatus(Code.UNIMPLEMENTED, 'compressed messages are not taken here: send them as they are');

const HEALTH_WATCH = '/grpc.health.v1.Health/Watch';
const REFLECTION = '/grpc.reflection.';

// What each stream holds of frames that have not been taken, for whoever takes them.
const arrivals = new WeakMap<ServerHttp2Stream, Arrival>();

/** The frames of a stream that lasts; undefined: they are not counted. */
export function arrivalOf(stream: ServerHttp2Stream): Arrival | undefined {
  return arrivals.get(stream);
}

/** What bounds the streams of one port. */
export interface StreamGuards {
  readonly arrivals: Arrivals;
  readonly answers: AnswerWatch;
}

/** Serves a stream that has just been opened, and keeps to the guards by itself. */
export type ServeStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** What is guarded, and how. */
export interface GuardedStreams extends StreamGuards {
  readonly connections: ConnectionBound;
  /** What is served past grpc-js, by path. */
  readonly unary: ReadonlyMap<string, ServeStream>;
}

/** Guards whatever the server will listen on. To be called before it binds. */
export function guardStreams(server: Server, guarded: GuardedStreams): void {
  // grpc-js makes its HTTP/2 servers when it binds, and shows them to nobody.
  const inner = server as unknown as { createHttp2Server(credentials: unknown): Http2Server };
  const create = inner.createHttp2Server.bind(server);
  inner.createHttp2Server = (credentials) => {
    const http2 = create(credentials);
    guardServer(http2, guarded);
    return http2;
  };
}

function guardServer(http2: Http2Server, { connections, unary, ...guards }: GuardedStreams): void {
  http2.updateSettings({ maxConcurrentStreams: STREAMS_PER_CONNECTION_MAX, maxHeaderListSize: HEADER_BYTES_MAX });
  http2.on('session', (session) => connections.opened(session));
  const serve = http2.listeners('stream') as ServeStream[];
  http2.removeAllListeners('stream');
  http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    // Reset in the same packet that opened it: to answer would throw.
    if (stream.destroyed || stream.closed) return;
    const path = headers[':path'] ?? '';
    const serveHere = refusing(headers) ?? unary.get(path);
    // What is no gRPC at all gets grpc-js's answer.
    if (serveHere !== undefined && headers['content-type']?.startsWith('application/grpc') === true) {
      // Nobody else listens: a peer's reset says all that there is to say by its end.
      stream.on('error', () => undefined);
      serveHere(stream, headers);
      return;
    }
    for (const listener of serve) listener(stream, headers);
    watch(stream, path, guards);
  });
}

/** What answers a call that its headers alone forbid. */
function refusing(headers: IncomingHttpHeaders): ServeStream | undefined {
  if (headers[':method'] !== constants.HTTP2_METHOD_POST) return refuseMethod;
  return isCompressed(headers) ? refuseCompressed : undefined;
}

// gRPC has no other. Whoever stands between may send again what is said to change nothing.
function refuseMethod(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': constants.HTTP_STATUS_METHOD_NOT_ALLOWED, allow: 'POST' }, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR);
}

function refuseCompressed(stream: ServerHttp2Stream): void {
  refuseStream(stream, COMPRESSED);
}

function isCompressed(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['grpc-encoding'];
  return encoding !== undefined && encoding !== 'identity';
}

function watch(stream: ServerHttp2Stream, path: string, { arrivals: arriving, answers }: StreamGuards): void {
  const isReflection = path.startsWith(REFLECTION);
  const isSession = path === `/${SESSION_PATH}`;
  const call = {
    unary: !isReflection && path !== HEALTH_WATCH && !answersWithStream(path),
    hasBegun: () => stream.headersSent,
    hasLeft: () => stream.writableFinished,
    unreadBytes: () => stream.writableLength,
    close: () => stream.close(constants.NGHTTP2_NO_ERROR),
    cut: () => stream.close(constants.NGHTTP2_CANCEL),
  };
  answers.opened(call);
  stream.once('close', () => answers.closed(call));
  // Refused by its headers alone: nothing of it is read, and Node closes it.
  if (stream.headersSent) return;
  const cut = (status: CallStatus) => refuseStream(stream, status);
  const arrival = isReflection || isSession ? arriving.stream(cut) : arriving.request(cut);
  if (isSession) arrivals.set(stream, arrival);
  stream.on('data', (chunk: Buffer) => arrival.add(chunk.length));
  if (!isSession) stream.once('end', () => arrival.end());
  stream.once('close', () => arrival.end());
  endOnlyWhole(stream);
}

// A reset ends the reading side too, and grpc-js would carry out what has come so far as if the client had ended it.
function endOnlyWhole(stream: ServerHttp2Stream): void {
  const atEnd = stream.listeners('end') as (() => void)[];
  stream.removeAllListeners('end');
  stream.once('end', () => {
    if (!stream.closed) for (const listener of atEnd) listener.call(stream);
  });
}
