// Stands before grpc-js, which trusts its peers: bounds what arrives, what is not taken, and how many connections there are.
// grpc-js takes a whole request before anybody is asked whose it is, waits for it as long as it takes, and unpacks whatever
// comes compressed, so all of this is done on the HTTP/2 streams below it.
import { constants, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { Metadata, type Server } from '@grpc/grpc-js';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import { AnswerWatch } from '../answer-watch.ts';
import { type Arrival, Arrivals } from '../arrivals.ts';
import type { ConnectionBound } from '../connection-bound.ts';
import { bareStatus, type CallStatus } from '../errors/call-status.ts';
import { answersWithStream, SESSION_PATH } from '../services/served-methods.ts';
import type { TransportLimits } from '../transport-bounds.ts';
import { HEADER_BYTES_MAX, STREAMS_PER_CONNECTION_MAX } from '../transport-limits.ts';
import { serviceError } from './service-error.ts';

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

interface Guards {
  readonly arrivals: Arrivals;
  readonly answers: AnswerWatch;
}

/** Guards whatever the server will listen on. To be called before it binds. */
export function guardStreams(server: Server, limits: TransportLimits, connections: ConnectionBound): void {
  const guards: Guards = { arrivals: new Arrivals(limits.arrivals), answers: new AnswerWatch(limits.answers) };
  // grpc-js makes its HTTP/2 servers when it binds, and shows them to nobody.
  const inner = server as unknown as { createHttp2Server(credentials: unknown): Http2Server };
  const create = inner.createHttp2Server.bind(server);
  inner.createHttp2Server = (credentials) => {
    const http2 = create(credentials);
    guardServer(http2, guards, connections);
    return http2;
  };
}

function guardServer(http2: Http2Server, guards: Guards, connections: ConnectionBound): void {
  http2.updateSettings({ maxConcurrentStreams: STREAMS_PER_CONNECTION_MAX, maxHeaderListSize: HEADER_BYTES_MAX });
  http2.on('session', (session) => connections.opened(session));
  const serve = http2.listeners('stream') as ((stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void)[];
  http2.removeAllListeners('stream');
  http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    // Reset in the same packet that opened it: grpc-js would answer, which throws.
    if (stream.destroyed || stream.closed) return;
    if (isCompressed(headers)) {
      // It is refused whatever becomes of it, and grpc-js, which listens otherwise, never sees it.
      stream.on('error', () => undefined);
      refuse(stream, COMPRESSED);
      return;
    }
    for (const listener of serve) listener(stream, headers);
    watch(stream, headers[':path'] ?? '', guards);
  });
}

function isCompressed(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['grpc-encoding'];
  return encoding !== undefined && encoding !== 'identity';
}

function watch(stream: ServerHttp2Stream, path: string, { arrivals: arriving, answers }: Guards): void {
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
  const cut = (status: CallStatus) => refuse(stream, status);
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

/** Answers a stream whose request goes no further, past grpc-js, which sees it as cancelled. */
function refuse(stream: ServerHttp2Stream, status: CallStatus): void {
  if (stream.destroyed || stream.closed) return;
  if (stream.headersSent) {
    stream.close(constants.NGHTTP2_CANCEL);
    return;
  }
  const { code, details, metadata = new Metadata() } = serviceError(status);
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'grpc-status': code,
      'grpc-message': encodeURI(details ?? ''),
      'grpc-accept-encoding': 'identity',
      ...metadata.toHttp2Headers(),
    },
    { endStream: true },
  );
  stream.close(constants.NGHTTP2_NO_ERROR);
}
