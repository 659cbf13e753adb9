// The native gRPC server: the fast way in. Streams, health and reflection, which are always on, are served by grpc-js, unary calls on
// the HTTP/2 streams below it.
import { createServer } from 'node:net';
import { Server, ServerCredentials, type ServerOptions, type ServiceDefinition } from '@grpc/grpc-js';
import { AnswerWatch } from '../answer-watch.ts';
import type { ApiLog } from '../api-log.ts';
import type { ApiObserver } from '../api-observer.ts';
import { Arrivals } from '../arrivals.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import { ConnectionBound } from '../connection-bound.ts';
import { PortInUseError, type RunningServer } from '../running-server.ts';
import type { Services } from '../services/create-services.ts';
import { methodPath, SESSION_METHOD, type ServedService, servedServices } from '../services/served-methods.ts';
import { ServingSessions } from '../serving-sessions.ts';
import { ServingStreams } from '../serving-streams.ts';
import { ServingWaits } from '../serving-waits.ts';
import { SESSION_LIMITS, type SessionLimits } from '../session/session-limits.ts';
import { TRANSPORT_LIMITS, type TransportLimits } from '../transport-bounds.ts';
import {
  CONNECTION_AGE_GRACE_MS,
  CONNECTION_AGE_MS,
  MESSAGE_BYTES_MAX,
  STREAMS_PER_CONNECTION_MAX,
} from '../transport-limits.ts';
import type { GrpcCallDeps } from './grpc-call.ts';
import { guardStreams, type ServeStream } from './guard-streams.ts';
import { serveHealth } from './health.ts';
import { serveReflection } from './reflection.ts';
import { sessionCall } from './session-call.ts';
import { streamCall } from './stream-call.ts';
import { TrackedStreams } from './tracked-streams.ts';
import { type UnaryCallParts, unaryCall } from './unary-call.ts';

/** What the server is made from. */
export interface GrpcServerOptions {
  /** Address to listen on, for example "127.0.0.1" or "::". */
  readonly host: string;
  /** Port to listen on; 0 takes a free one. */
  readonly port: number;
  readonly services: Services;
  readonly authenticate: Authenticate;
  readonly log: ApiLog;
  /** Default: nobody. */
  readonly observer?: ApiObserver | undefined;
  /** Bounds of Sessions. Default: SESSION_LIMITS. */
  readonly sessionLimits?: SessionLimits;
  /** Bounds of what peers may do. Default: TRANSPORT_LIMITS. */
  readonly limits?: TransportLimits;
}

const serverOptions = ({ keepaliveMs, keepaliveTimeoutMs }: TransportLimits): ServerOptions => ({
  'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
  // Responses are bounded where they are made; refusing one here would hide an effect that took place.
  'grpc.max_send_message_length': -1,
  'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION_MAX,
  'grpc.keepalive_time_ms': keepaliveMs,
  'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
  'grpc.max_connection_age_ms': CONNECTION_AGE_MS,
  'grpc.max_connection_age_grace_ms': CONNECTION_AGE_GRACE_MS,
  // Nothing reads channelz here, but without it grpc-js forgets its connections and cannot cut them (1.14).
  'grpc.enable_channelz': 1,
});

const asIs = (bytes: Buffer): Buffer => bytes;

function addStreams(
  server: Server,
  { desc, streams }: ServedService,
  open: { readonly sessions: ServingSessions; readonly streams: ServingStreams },
  deps: GrpcCallDeps,
): void {
  const definition: Record<string, ServiceDefinition[string]> = {};
  const implementation: Parameters<Server['addService']>[1] = {};
  for (const method of desc.methods.filter(({ methodKind }) => methodKind !== 'unary')) {
    definition[method.name] = {
      path: `/${methodPath(method)}`,
      requestStream: method.methodKind === 'bidi_streaming',
      responseStream: true,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    };
    if (method === SESSION_METHOD) implementation[method.name] = sessionCall(open.sessions, deps);
    const stream = streams[method.localName];
    if (stream !== undefined) implementation[method.name] = streamCall(method, stream, open.streams, deps);
  }
  if (Object.keys(definition).length > 0) server.addService(definition, implementation);
}

function unaryCalls(services: Services, parts: UnaryCallParts): ReadonlyMap<string, ServeStream> {
  const calls = new Map<string, ServeStream>();
  for (const { desc, handlers } of servedServices(services)) {
    for (const method of desc.methods) {
      const handler = handlers[method.localName];
      if (handler !== undefined) calls.set(`/${methodPath(method)}`, unaryCall(method, handler, parts));
    }
  }
  return calls;
}

// grpc-js writes a line of its own to standard error before it says that it can't listen, so the port is tried before it.
function tryPort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // Clients of a server that was here before may connect meanwhile. Node closes this before it takes them in, and they are
    // reset; one that was taken in all the same would wait for ever for an answer, and this for its end.
    const probe = createServer((socket) => socket.destroy());
    probe.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new PortInUseError(host, port) : error);
    });
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  });
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  if (port !== 0) await tryPort(host, port);
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      // Taken since it was tried. grpc-js gives no code, only a text with those of its attempts.
      else reject(error.message.includes('EADDRINUSE') ? new PortInUseError(host, port) : error);
    });
  });
}

function shutDown(server: Server, graceMs: number, log: ApiLog): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      log.warn({ graceMs }, 'gRPC connections that had not ended were cut');
      server.forceShutdown();
      resolve();
    }, graceMs);
    server.tryShutdown((error) => {
      clearTimeout(timer);
      // It reports only that a server was closed already, which is what was wanted.
      if (error !== undefined) log.warn({ err: error }, 'gRPC server closed with an error');
      resolve();
    });
  });
}

/** Starts the server; it listens when the promise resolves. Health says NOT_SERVING until told otherwise. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<RunningServer> {
  const { host, services, log } = options;
  const limits = options.limits ?? TRANSPORT_LIMITS;
  const server = new Server(serverOptions(limits));
  const tracked = new TrackedStreams();
  const sessions = new ServingSessions(services, options.sessionLimits ?? SESSION_LIMITS);
  const streams = new ServingStreams();
  const waits = new ServingWaits(limits.waits);
  const guards = { arrivals: new Arrivals(limits.arrivals), answers: new AnswerWatch(limits.answers) };
  const connections = new ConnectionBound(limits.connectionsMax, log);
  const { authenticate, observer } = options;
  const unary = unaryCalls(services, { authenticate, log, observer, waits, ...guards });
  guardStreams(server, { ...guards, connections, unary });
  for (const served of servedServices(services)) addStreams(server, served, { sessions, streams }, options);
  const setServing = serveHealth(server, tracked);
  serveReflection(server, tracked);
  const port = await listen(server, host, options.port);
  let stopping: Promise<void> | undefined;
  const stop = ({ graceMs }: { readonly graceMs: number }): Promise<void> => {
    if (stopping === undefined) {
      setServing(false);
      tracked.end();
      sessions.stop();
      streams.stop();
      waits.stop();
      stopping = shutDown(server, graceMs, log);
    }
    return stopping;
  };
  return { host, port, stop, setServing: (serving) => setServing(serving && stopping === undefined) };
}
