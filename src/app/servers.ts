// The two servers of a service, over the same services: gRPC, and HTTP with Connect, JSON and metrics.
import { createAuthenticator } from '../api/auth/authenticator.ts';
import { startConnectServer } from '../api/connect/start-connect-server.ts';
import { startGrpcServer } from '../api/grpc/start-grpc-server.ts';
import { PortInUseError, type RunningServer } from '../api/running-server.ts';
import { createServices } from '../api/services/create-services.ts';
import { TRANSPORT_LIMITS } from '../api/transport-bounds.ts';
import type { RunningCoordinator } from '../lane/create-coordinator.ts';
import type { PostgresStore } from '../store/postgres-store.ts';
import type { startTelemetry } from '../telemetry/start-telemetry.ts';
import { type PortConfig, packageVersion, type ServiceConfig } from './config.ts';
import type { Logger } from './logger.ts';
import { serveMetrics } from './serve-metrics.ts';

/** What the servers serve. */
export interface Served {
  readonly config: ServiceConfig;
  readonly logger: Logger;
  readonly coordinator: RunningCoordinator;
  readonly store: PostgresStore;
  readonly telemetry: Awaited<ReturnType<typeof startTelemetry>>;
  readonly databaseKind: 'embedded' | 'external';
}

/** Starts both. Each is added to `started` as soon as it listens, so that it is stopped even where the other fails. */
export async function startServers(
  { config, logger, coordinator, store, telemetry, databaseKind }: Served,
  started: RunningServer[],
): Promise<{ readonly grpc: RunningServer; readonly connect: RunningServer }> {
  const authenticate = createAuthenticator(config.tokens);
  const options = {
    host: config.host,
    services: createServices({
      coordinator,
      reads: store,
      log: logger.api,
      observer: telemetry?.api,
      version: packageVersion(),
      databaseKind,
    }),
    authenticate,
    log: logger.api,
    observer: telemetry?.api,
    limits: { ...TRANSPORT_LIMITS, connectionsMax: config.connectionsMax },
  };
  const httpOptions = {
    ...options,
    localOnly: config.tokens.length === 0,
    ...(telemetry === undefined ? {} : { serveOther: serveMetrics({ telemetry, authenticate, log: logger.api }) }),
  };
  const grpc = await listen(config.grpcPort, logger, (port) => startGrpcServer({ ...options, port }));
  started.push(grpc);
  const connect = await listen(config.httpPort, logger, (port) => startConnectServer({ ...httpOptions, port }));
  started.push(connect);
  return { grpc, connect };
}

/** Stops both at once and within one grace: while one finishes, the other must not let work in. */
export async function stopServers(servers: readonly RunningServer[], graceMs: number): Promise<void> {
  for (const server of servers) server.setServing(false);
  await Promise.all(servers.map((server) => server.stop({ graceMs })));
}

// A default port that is busy must not keep a newcomer from starting; one that was asked for must not be traded silently.
async function listen(
  { port, explicit }: PortConfig,
  logger: Logger,
  startServer: (port: number) => Promise<RunningServer>,
): Promise<RunningServer> {
  try {
    return await startServer(port);
  } catch (error) {
    if (explicit || !(error instanceof PortInUseError)) throw error;
    const server = await startServer(0);
    logger.lane('warn', `port ${port} is in use; listening on ${server.port} instead`);
    return server;
  }
}
