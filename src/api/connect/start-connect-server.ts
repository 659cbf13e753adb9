// The HTTP server: Connect, gRPC-Web and JSON for browsers and curl, gRPC over HTTP/2, the probes, and room for metrics
// and the console. Slower than grpc-js by three to four times; busy callers use that one.
import { createServer as createHttp1Server, type Server as Http1Server } from 'node:http';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { AnswerWatch } from '../answer-watch.ts';
import type { ApiLog } from '../api-log.ts';
import type { ApiObserver } from '../api-observer.ts';
import { Arrivals } from '../arrivals.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import { ConnectionBound } from '../connection-bound.ts';
import { PortInUseError, type RunningServer } from '../running-server.ts';
import type { Services } from '../services/create-services.ts';
import { ServingSessions } from '../serving-sessions.ts';
import { ServingStreams } from '../serving-streams.ts';
import { ServingWaits } from '../serving-waits.ts';
import { SESSION_LIMITS, type SessionLimits } from '../session/session-limits.ts';
import { TRANSPORT_LIMITS, type TransportLimits } from '../transport-bounds.ts';
import {
  HEADER_BYTES_MAX,
  HEADERS_TIMEOUT_MS,
  IDLE_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  STREAMS_PER_CONNECTION_MAX,
  TIMEOUT_CHECK_MS,
} from '../transport-limits.ts';
import { createRoutes } from './connect-routes.ts';
import { keepAlive } from './keep-alive.ts';
import { switchProtocols } from './protocol-switch.ts';
import { createRequestListener, type ServeOther } from './request-listener.ts';

/** What the server is made from. */
export interface ConnectServerOptions {
  /** Address to listen on, for example "127.0.0.1" or "::". */
  readonly host: string;
  /** Port to listen on; 0 takes a free one. */
  readonly port: number;
  readonly services: Services;
  readonly authenticate: Authenticate;
  readonly log: ApiLog;
  /** Default: nobody. */
  readonly observer?: ApiObserver | undefined;
  /** Refuses requests that name another host or come from a page of another site; for where there are no tokens. Default: false. */
  readonly localOnly?: boolean;
  /** Serves metrics and the console. It authenticates by itself. Default: nothing. */
  readonly serveOther?: ServeOther;
  /** Bounds of Sessions. Default: SESSION_LIMITS. */
  readonly sessionLimits?: SessionLimits;
  /** Bounds of what peers may do. Default: TRANSPORT_LIMITS. */
  readonly limits?: TransportLimits;
}

// Short beside any grace, long beside the look through the connections that it costs.
const SWEEP_MS = 50;

function listen(server: Http1Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new PortInUseError(host, port) : error);
    };
    server.once('error', onError);
    server.listen({ host, port }, () => {
      server.off('error', onError);
      // A server that listens on a port has an address with one.
      resolve((server.address() as AddressInfo).port);
    });
  });
}

// A quarter of the places is for HTTP/1.1, and for who has not said yet what it is.
const HTTP2_SHARE = 3 / 4;

function boundConnections(
  http1: Http1Server,
  http2: Http2Server,
  limits: TransportLimits,
  log: ApiLog,
): ConnectionBound {
  const { connectionsMax } = limits;
  const connections = new ConnectionBound(Math.ceil(connectionsMax * HTTP2_SHARE), log);
  http2.on('session', (session) => {
    connections.opened(session);
    keepAlive(session, limits);
  });
  http1.maxConnections = connectionsMax;
  // All places are taken: those that only wait for another request make room.
  http1.on('drop', () => http1.closeIdleConnections());
  return connections;
}

function createServers(listener: ReturnType<typeof createRequestListener>) {
  const http1 = createHttp1Server(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    listener,
  );
  // Without it a client that does not read its answer keeps it here for ever.
  http1.timeout = IDLE_TIMEOUT_MS;
  const settings = { maxConcurrentStreams: STREAMS_PER_CONNECTION_MAX, maxHeaderListSize: HEADER_BYTES_MAX };
  const http2 = createHttp2Server({ settings }, listener);
  return { http1, http2 };
}

/** Starts the server; it listens when the promise resolves. `/readyz` says no until told otherwise. */
export async function startConnectServer(options: ConnectServerOptions): Promise<RunningServer> {
  const { host, services, authenticate, log } = options;
  const sessions = new ServingSessions(services, options.sessionLimits ?? SESSION_LIMITS);
  const streams = new ServingStreams();
  const limits = options.limits ?? TRANSPORT_LIMITS;
  const waits = new ServingWaits(limits.waits);
  let serving = false;
  const { http1, http2 } = createServers(
    createRequestListener({
      routes: createRoutes({ services, sessions, streams, waits, authenticate, log, observer: options.observer }),
      isServing: () => serving,
      serveOther: options.serveOther ?? (() => false),
      log,
      localOnly: options.localOnly ?? false,
      arrivals: new Arrivals(limits.arrivals),
      answers: new AnswerWatch(limits.answers),
    }),
  );
  const connections = boundConnections(http1, http2, limits, log);
  const closeUndecided = switchProtocols(http1, http2);
  const port = await listen(http1, host, options.port);
  const shutDown = (graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      // A connection that was busy when the server closed becomes idle later, and nothing else closes it then.
      const sweep = setInterval(() => http1.closeIdleConnections(), SWEEP_MS);
      const timer = setTimeout(() => {
        log.warn({ graceMs }, 'HTTP connections that had not ended were cut');
        for (const session of connections.open) session.destroy();
        http1.closeAllConnections();
      }, graceMs);
      http1.close(() => {
        clearInterval(sweep);
        clearTimeout(timer);
        resolve();
      });
      closeUndecided();
      for (const session of connections.open) session.close();
    });
  let stopping: Promise<void> | undefined;
  const stop = ({ graceMs }: { readonly graceMs: number }): Promise<void> => {
    if (stopping === undefined) {
      serving = false;
      sessions.stop();
      streams.stop();
      waits.stop();
      stopping = shutDown(graceMs);
    }
    return stopping;
  };
  const setServing = (now: boolean): void => {
    serving = now && stopping === undefined;
  };
  return { host, port, stop, setServing };
}
