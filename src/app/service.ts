// A service from its configuration to its end: database, migrations, store, coordinator, servers, in this order, and back.
// Used by main, by the tests and by the bench, so that all of them run the same thing.
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningServer } from '../api/running-server.ts';
import type { Clock } from '../lane/clock.ts';
import { type RunningCoordinator, startCoordinator } from '../lane/create-coordinator.ts';
import type { PriceOptions } from '../lane/price-keeper.ts';
import { createPostgresStore } from '../store/postgres-store.ts';
import { openSnapshots } from '../store/snapshot.ts';
import { startTelemetry, type TelemetryOptions } from '../telemetry/start-telemetry.ts';
import { BackgroundVerify, type VerifyStatus } from './background-verify.ts';
import { packageVersion, type ServiceConfig } from './config.ts';
import { openDatabase } from './database.ts';
import type { Logger } from './logger.ts';
import { loadPriceCatalogue } from './price-catalogue.ts';
import { startServers, stopServers } from './servers.ts';
import { TELEMETRY_LABELS } from './telemetry-labels.ts';

/** What tests replace. */
export interface ServiceOverrides {
  /** Where decisions read the time from. Default: the database's clock. */
  readonly clock?: Clock;
  /** Where spans go beside the exporters of the configuration. */
  readonly spanProcessors?: NonNullable<TelemetryOptions['spanProcessors']>;
}

/** A running service. */
export interface Service {
  readonly host: string;
  readonly grpcPort: number;
  readonly connectPort: number;
  readonly databaseKind: 'embedded' | 'external';
  /** Connects as the service's role. */
  readonly databaseUrl: string;
  /**
   * Resolves when this process is the writer (undefined) or when it is clear after `waitMs` that another one is: its
   * address, empty if it is not known.
   */
  standsBehind(waitMs: number): Promise<string | undefined>;
  /** Calls back once if the service can't go on: its own PostgreSQL has ended. */
  onFatal(callback: (error: Error) => void): void;
  /** Finishes what was let in, then closes everything. A second call joins the first. */
  stop(): Promise<void>;
}

/** How often the journal's partitions of the coming months are made; the store keeps two months ahead. */
const PARTITION_ROUND_MS = 24 * 3_600_000;

/** How often a start looks whether it leads by now. */
const LEADER_LOOK_MS = 50;

/** Starts a service. Whatever was started is stopped again where a later step fails. */
export async function startService(
  config: ServiceConfig,
  logger: Logger,
  overrides: ServiceOverrides = {},
): Promise<Service> {
  const closers: (() => Promise<void>)[] = [];
  // One that fails must not keep the others open: the embedded PostgreSQL would be left running.
  const closeAll = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (const close of closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'parts of the service did not stop in order');
  };
  try {
    return await start(config, logger, overrides, closers, closeAll);
  } catch (error) {
    await closeAll();
    throw error;
  }
}

async function start(
  config: ServiceConfig,
  logger: Logger,
  overrides: ServiceOverrides,
  closers: (() => Promise<void>)[],
  closeAll: () => Promise<void>,
): Promise<Service> {
  const telemetry = await startTelemetry(telemetryOptions(config, logger, overrides));
  // Ended last: what the others do while they stop is told too.
  if (telemetry !== undefined) closers.push(() => telemetry.stop());
  const database = await openDatabase(config, logger);
  closers.push(() => database.close());
  const store = await createPostgresStore({
    url: database.serviceUrl,
    allowUnsafeDurability: config.allowUnsafeDatabase,
  });
  closers.push(() => store.close());
  closers.push(
    every(PARTITION_ROUND_MS, () => {
      store.ensurePartitions().catch((error: unknown) => {
        logger.lane('error', 'partitions of the journal could not be made', { error });
      });
      store.checkDurability().catch((error: unknown) => {
        logger.lane('error', 'whether PostgreSQL still keeps what it acknowledges could not be confirmed', { error });
      });
    }),
  );
  const servers: RunningServer[] = [];
  const setServing = (serving: boolean): void => {
    for (const server of servers) server.setServing(serving);
  };
  const coordinator = await startCoordinator({
    store,
    log: logger.lane,
    address: config.advertisedAddress ?? `${config.host}:${config.grpcPort.port}`,
    graceMs: config.graceMs,
    implausibleFactor: config.implausibleFactor,
    queue: { ageMs: config.queueAgeMs, countMax: config.queueCountMax },
    prices: await priceOptions(config),
    reaper: config.reaper,
    observer: telemetry?.lane,
    onServingChange: setServing,
    ...(overrides.clock === undefined ? {} : { clock: overrides.clock }),
  });
  closers.push(() => coordinator.stop());
  const verifying = verifyInBackground(config.verifyRate, database.serviceUrl, coordinator, logger.lane);
  closers.push(() => verifying.stop());
  telemetry?.observe(
    () => ({
      ...coordinator.status(),
      ...coordinator.measure(),
      prices: coordinator.prices.status(),
      verify: verifying.status(),
    }),
    buildInfo(database.kind),
  );
  closers.push(() => stopServers(servers, config.shutdownGraceMs));
  const { grpc, connect } = await startServers(
    { config, logger, coordinator, store, telemetry, databaseKind: database.kind },
    servers,
  );
  // The port may be another than the configured one.
  if (config.advertisedAddress === undefined) coordinator.announce(`${config.host}:${grpc.port}`);
  setServing(coordinator.status().serving);
  let stopping: Promise<void> | undefined;
  return {
    host: config.host,
    grpcPort: grpc.port,
    connectPort: connect.port,
    databaseKind: database.kind,
    databaseUrl: database.serviceUrl,
    standsBehind: (waitMs) => standsBehind(coordinator, waitMs),
    onFatal: (callback) => database.onExit(callback),
    stop() {
      stopping ??= closeAll();
      return stopping;
    },
  };
}

async function priceOptions(config: ServiceConfig): Promise<PriceOptions> {
  const { priceCatalogue, priceStaleAfterMs: staleAfterMs, outputTokensDefault } = config;
  return { catalogue: priceCatalogue ? await loadPriceCatalogue() : undefined, staleAfterMs, outputTokensDefault };
}

async function standsBehind(coordinator: RunningCoordinator, waitMs: number): Promise<string | undefined> {
  const untilMs = performance.now() + waitMs;
  for (;;) {
    const { leader, leaderAddress } = coordinator.status();
    const { loaded, problem } = coordinator.prices.status();
    // It decides already; what is priced only once it has its prices.
    if (leader && (loaded || problem !== undefined)) return undefined;
    if (performance.now() >= untilMs) return leader ? undefined : leaderAddress;
    await sleep(LEADER_LOOK_MS);
  }
}

// Off at 0. Only the writer verifies: it alone can put a tree out of service.
function verifyInBackground(
  entriesPerSecond: number,
  databaseUrl: string,
  coordinator: RunningCoordinator,
  log: Logger['lane'],
): { readonly status: () => VerifyStatus; readonly stop: () => Promise<void> } {
  const snapshots = openSnapshots(databaseUrl);
  const verify = new BackgroundVerify({
    withSnapshot: (work) => snapshots.run(work),
    entriesPerSecond,
    mayVerify: () => coordinator.status().serving,
    onCorrupt: (treeId, why, error) => coordinator.quarantine(treeId, why, error),
    log,
  });
  if (entriesPerSecond > 0) verify.start();
  return {
    status: () => verify.status,
    async stop() {
      await verify.stop();
      await snapshots.close();
    },
  };
}

function telemetryOptions(config: ServiceConfig, logger: Logger, overrides: ServiceOverrides): TelemetryOptions {
  return {
    settings: config.telemetry,
    labels: TELEMETRY_LABELS,
    version: packageVersion(),
    warn: (message) => logger.lane('warn', message),
    spanProcessors: overrides.spanProcessors ?? [],
  };
}

function buildInfo(databaseKind: string): Readonly<Record<string, string>> {
  return { version: packageVersion(), node: process.versions.node, database: databaseKind };
}

function every(ms: number, work: () => void): () => Promise<void> {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => {
    clearInterval(timer);
    return Promise.resolve();
  };
}
