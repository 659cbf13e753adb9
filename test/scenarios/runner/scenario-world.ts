// The world of one scenario: a fresh database, the real service in its own process behind a proxy to that database, a
// client, and the injected clock. Opened and closed as a whole, so that no scenario sees another's leavings.
import { setTimeout as delay } from 'node:timers/promises';
import { runVerify } from '../../../src/app/verify.ts';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService, ReservationState } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { createDatabase } from '../../support/postgres.ts';
import type { RestingProcesses } from '../../support/resting-processes.ts';
import { ServiceUnderTest } from '../../support/service-under-test.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { LeaseBook } from './lease-book.ts';
import { NamedAnswers, type WaitingPlace } from './named-answers.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import type { Scenario } from './parse-scenarios.ts';
import { createRpcClient, type RpcClient } from './rpc-client.ts';
import type { CallStep } from './step-fields.ts';
import { type CallWorld, sendCall } from './verbs.ts';

// A service that was killed comes back as a standby until the dead writer's lease runs out, which takes seconds.
const SERVING_DEADLINE_MS = 30_000;
// Health turns to SERVING within milliseconds of a start; asking oftener would only take processor time from it.
const HEALTH_POLL_MS = 20;

/** Everything that the steps of one scenario act on. */
export class ScenarioWorld implements CallWorld {
  readonly answers = new NamedAnswers();
  readonly leases: LeaseBook;
  readonly #database: Awaited<ReturnType<typeof createDatabase>>;
  readonly #proxy: TcpProxy;
  readonly #service: ServiceUnderTest;
  readonly #firstBudget: string;
  #rpc: RpcClient;
  #keyCount = 0;
  #isStoreUp = true;

  private constructor(
    scenario: Scenario,
    database: Awaited<ReturnType<typeof createDatabase>>,
    proxy: TcpProxy,
    service: ServiceUnderTest,
  ) {
    this.leases = new LeaseBook(scenario.graceMs);
    this.#firstBudget = scenario.budgets[0]?.name ?? 'none';
    this.#database = database;
    this.#proxy = proxy;
    this.#service = service;
    this.#rpc = createRpcClient(service.grpcPort);
  }

  /** Opens the world of a scenario and waits until its service is SERVING. The process may come from `processes`, and goes back. */
  static async open(scenario: Scenario, processes?: RestingProcesses): Promise<ScenarioWorld> {
    const undo = new AsyncDisposableStack();
    try {
      return await ScenarioWorld.#open(scenario, undo, processes);
    } catch (error) {
      await undo.disposeAsync();
      throw error;
    }
  }

  static async #open(
    scenario: Scenario,
    undo: AsyncDisposableStack,
    processes: RestingProcesses | undefined,
  ): Promise<ScenarioWorld> {
    const database = await createDatabase();
    undo.defer(() => database.drop());
    const url = new URL(database.url);
    const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
    undo.defer(() => proxy.close());
    url.host = `127.0.0.1:${proxy.port}`;
    const service = await ServiceUnderTest.start({
      databaseUrl: url.href,
      clockMs: scenario.startMs,
      environment: { BUDGETD_GRACE: `${scenario.graceMs}ms`, BUDGETD_REAPER: scenario.reaper },
      ...(processes === undefined ? {} : { processes }),
    });
    undo.defer(() => service.kill());
    const world = new ScenarioWorld(scenario, database, proxy, service);
    undo.defer(() => world.#rpc.close());
    await world.#untilServing();
    return world;
  }

  get rpc(): RpcClient {
    return this.#rpc;
  }

  get nowMs(): number {
    return this.#service.nowMs;
  }

  freshKey(): string {
    this.#keyCount += 1;
    return `fresh-${this.#keyCount}`;
  }

  async reservationId(name: string): Promise<string> {
    const where = this.answers.waitingAt(name);
    return (where && (await this.#waitingId(where))) ?? this.answers.reservationId(name);
  }

  // Nobody has been told the id of what waits, so it is looked for as a person would.
  async #waitingId(where: WaitingPlace): Promise<string | undefined> {
    const request = { ...where, state: ReservationState.QUEUED };
    const { reservations } = await this.#rpc.call(ReservationService.method.listReservations, request);
    return reservations.at(-1)?.reservationId;
  }

  /** Sends the call of a step once, and takes note of the lease that its answer shows. */
  async send(step: CallStep): Promise<Outcome> {
    const outcome = await outcomeOf(sendCall(step, this));
    if (outcome.kind === 'answered') this.leases.see(outcome.reservation);
    return outcome;
  }

  /** Moves the clock to an instant, stopping at each one before it at which something falls due. */
  async advanceTo(targetMs: number): Promise<void> {
    if (targetMs < this.nowMs)
      throw new Error(`the clock can only go forward; it is ${new Date(this.nowMs).toISOString()}`);
    for (const { atMs, budget } of this.leases.dueBetween(this.nowMs, targetMs)) {
      if (atMs !== this.nowMs) await this.#service.moveClock(atMs);
      // A read lets the service see the instant; without a store it could only refuse.
      if (this.#isStoreUp) await this.#rpc.call(BudgetService.method.getBudget, { budget });
    }
    if (targetMs !== this.nowMs) await this.#service.moveClock(targetMs);
  }

  /** Kills the service and starts it on the same database, at the same time. */
  async restart(): Promise<void> {
    this.#rpc.close();
    await this.#service.restart();
    this.#rpc = createRpcClient(this.#service.grpcPort);
    if (this.#isStoreUp) await this.#untilServing();
  }

  /** Takes the store away: live connections break, new ones are refused. */
  storeDown(): void {
    this.#isStoreUp = false;
    this.#proxy.refuse();
  }

  /** Gives the store back, and waits until the service has noticed: until its health says so and a read is answered. */
  async storeUp(): Promise<void> {
    this.#isStoreUp = true;
    this.#proxy.pass();
    const deadline = performance.now() + SERVING_DEADLINE_MS;
    do {
      await this.#untilServing();
      const read = await outcomeOf(this.#rpc.call(BudgetService.method.getBudget, { budget: this.#firstBudget }));
      if (read.kind === 'answered' || read.refusal.status !== 'UNAVAILABLE') return;
      // Health follows the store in rounds, so for a moment it may still say what was true before the store went away.
      await delay(HEALTH_POLL_MS);
    } while (performance.now() < deadline);
    throw new Error(`the service does not find its store again\n${this.#service.logTail()}`);
  }

  /** Runs the journal's verifier against the database itself; the differences that it found. */
  async verify(): Promise<readonly string[]> {
    const result = await runVerify({ databaseUrl: this.#database.url, log: () => undefined });
    if (result.ok !== (result.differences.length === 0))
      return ['the verdict does not fit the differences', ...result.differences];
    return result.differences;
  }

  async close(): Promise<void> {
    this.#rpc.close();
    try {
      // Without its store it has nothing to stop in order with.
      await (this.#isStoreUp ? this.#service.rest() : this.#service.kill());
    } finally {
      await this.#proxy.close();
      await this.#database.drop();
    }
  }

  async #untilServing(): Promise<void> {
    const deadline = performance.now() + SERVING_DEADLINE_MS;
    let status: string | undefined;
    while (performance.now() < deadline) {
      status = await this.#rpc.health();
      if (status === 'SERVING') return;
      await delay(HEALTH_POLL_MS);
    }
    throw new Error(`the service is ${status ?? 'silent'}, not SERVING\n${this.#service.logTail()}`);
  }
}
