// A database, replicas of the service in processes of their own, a proxy before each of them, clients and their history: all
// that a scenario breaks, and the audit that it ends with.
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import type { GetServerInfoResponse } from '../../src/gen/budgetd/v1/server_info_pb.ts';
import { ServerInfoService } from '../../src/gen/budgetd/v1/server_info_pb.ts';
import { createRpcClient } from '../scenarios/runner/rpc-client.ts';
import { createDatabase } from '../support/postgres.ts';
import { ServiceUnderTest } from '../support/service-under-test.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { type AuditReport, audit } from './audit.ts';
import { freePort } from './free-port.ts';
import { History } from './history.ts';
import type { Random } from './random.ts';
import { startWireProxy, type WireProxy } from './wire-proxy.ts';
import { makeTrees, WorkClient } from './workload.ts';

/** The grace of every service here: long enough to see, short enough to wait for. */
const GRACE_MS = 1_000;

// A takeover takes 10 s at the most; everything else is faster. Beyond this it is not coming any more.
const PATIENCE_MS = 30_000;
const POLL_MS = 20;

/** How to set a world up. */
export interface WorldOptions {
  readonly random: Random;
  readonly replicas?: number;
  readonly trees?: number;
  /** A database to use instead of a fresh one on the shared server. */
  readonly databaseUrl?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** One replica with its ways to the database. */
export interface Replica {
  readonly port: number;
  readonly service: ServiceUnderTest;
  /** Stops single appends. */
  readonly wire: WireProxy;
  /** Cuts, stalls and slows everything. */
  readonly network: TcpProxy;
}

/** See the head of this file. */
export class FaultWorld {
  readonly history = new History();
  readonly random: Random;
  readonly databaseUrl: string;
  readonly trees: readonly string[];
  readonly replicas: Replica[] = [];
  /** A superuser's connection past all proxies. */
  readonly admin: postgres.Sql;
  readonly #closers: (() => Promise<unknown>)[] = [];

  private constructor(options: WorldOptions, databaseUrl: string) {
    this.random = options.random;
    this.databaseUrl = databaseUrl;
    this.trees = Array.from({ length: options.trees ?? 3 }, (_, i) => `t${i}`);
    this.admin = postgres(databaseUrl, { max: 4, onnotice: () => undefined });
    this.#closers.push(() => this.admin.end({ timeout: 1 }));
  }

  /** Sets up a world, runs `work` in it and takes it down. */
  static async with<T>(options: WorldOptions, work: (world: FaultWorld) => Promise<T>): Promise<T> {
    const database = options.databaseUrl === undefined ? await createDatabase() : undefined;
    const world = new FaultWorld(options, database?.url ?? (options.databaseUrl as string));
    try {
      for (let i = 0; i < (options.replicas ?? 1); i++) await world.#addReplica(options.environment ?? {});
      return await work(world);
    } finally {
      for (const close of world.#closers.reverse()) await close();
      await database?.drop();
    }
  }

  get first(): Replica {
    return this.replicas[0] as Replica;
  }

  get ports(): readonly number[] {
    return this.replicas.map(({ port }) => port);
  }

  makeTrees(): Promise<void> {
    return makeTrees(this, this.history, this.random);
  }

  /** Runs clients while `fault` goes on, and after it until each of them has got something done again. */
  async underLoad(fault: () => Promise<void>, clientCount = 8): Promise<void> {
    let over = false;
    const clients = Array.from(
      { length: clientCount },
      (_, i) => new WorkClient(`c${this.history.operations.length}-${i}`, this, this.history, this.random.fork()),
    );
    const running = Promise.all(clients.map((client) => client.run(() => over)));
    try {
      await until('every client works', () => clients.every(({ okCount }) => okCount > 2));
      await fault();
      const before = clients.map(({ okCount }) => okCount);
      await until('every client works again', () =>
        clients.every(({ okCount }, i) => okCount > (before[i] as number) + 2),
      );
    } catch (cause) {
      const standing = clients.map((client) => client.standing);
      const logs = this.replicas.map(({ service }) => service.logTail().slice(-4_000));
      throw new Error(`under load: ${String(cause)}\n${standing.join('\n')}\n${logs.join('\n')}`, { cause });
    } finally {
      over = true;
      await running;
    }
  }

  /** Lets a lease that its dead holder left run out now instead of in some seconds. */
  async endLease(): Promise<void> {
    await this.admin`UPDATE budgetd.writer_lease SET expire_at = '-infinity'`;
  }

  async info({ port }: Replica): Promise<GetServerInfoResponse | undefined> {
    const rpc = createRpcClient(port);
    try {
      return await rpc.call(ServerInfoService.method.getServerInfo, {});
    } catch {
      // It is down, or starting: the caller asks again.
      return undefined;
    } finally {
      rpc.close();
    }
  }

  /** The replica that leads, as it says itself. */
  async leader(): Promise<Replica> {
    let found: Replica | undefined;
    await until('somebody leads', async () => {
      for (const replica of this.replicas) if ((await this.info(replica))?.leader === true) found = replica;
      return found !== undefined;
    });
    return found as Replica;
  }

  /** Whether a replica still says that it leads is not enough after a fault: waits until this one does. */
  async leads(replica: Replica): Promise<void> {
    await until('the replica leads', async () => (await this.info(replica))?.leader === true);
  }

  /** How many rows the journal has. */
  async entryCount(type?: string): Promise<number> {
    const [row] = await this.admin<[{ count: string }]>`
      SELECT count(*) FROM budgetd.journal_entries WHERE type = ${type ?? null} OR ${type ?? null}::text IS NULL`;
    return Number(row.count);
  }

  audit(damaged?: ReadonlySet<string>): Promise<AuditReport> {
    return audit(this.databaseUrl, this.history, damaged);
  }

  async #addReplica(environment: Readonly<Record<string, string>>): Promise<void> {
    const url = new URL(this.databaseUrl);
    const network = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
    this.#closers.push(() => network.close());
    const wire = await startWireProxy({ host: '127.0.0.1', port: network.port });
    this.#closers.push(() => wire.close());
    url.host = `127.0.0.1:${wire.port}`;
    const port = await freePort();
    const service = await ServiceUnderTest.start({
      databaseUrl: url.href,
      environment: {
        BUDGETD_GRPC_PORT: String(port),
        BUDGETD_GRACE: `${GRACE_MS}ms`,
        BUDGETD_LOG_LEVEL: 'warn',
        BUDGETD_SHUTDOWN_GRACE: '1s',
        ...environment,
      },
    });
    this.#closers.push(async () => {
      // A stopped process takes no other signal.
      service.signal('SIGCONT');
      await service.kill();
    });
    this.replicas.push({ port, service, wire, network });
  }
}

/** Waits for a real condition, bounded. */
export async function until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadlineMs = performance.now() + PATIENCE_MS; !(await condition()); await delay(POLL_MS)) {
    if (performance.now() > deadlineMs) throw new Error(`in vain: ${what}`);
  }
}

/** Waits until something that is not there to be seen has had so long to happen. */
export async function elapse(ms: number): Promise<void> {
  const sinceMs = performance.now();
  await until(`${ms} ms`, () => performance.now() - sinceMs >= ms);
}
