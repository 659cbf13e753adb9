// A real service that a test attacks, and what must be true of it after each attack: others are served at once, on both ports;
// the log tells of no fault; nothing was charged that nobody reserved; memory and connections are given back.
import { expect, vi } from 'vitest';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ApiClient } from './api-servers.ts';
import { makeBudget } from './observed-service.ts';
import { createDatabase, type TestDatabase } from './postgres.ts';
import type { Holdings } from './service-messages.ts';
import { ServiceUnderTest } from './service-under-test.ts';

/** Paths that are attacked. */
export const RESERVE_PATH = '/budgetd.v1.ReservationService/Reserve';
export const SESSION_PATH = '/budgetd.v1.ReservationService/Session';

/** The budget of those who are not hostile. */
const BUDGET = 'honest';
/** A grant takes 10 ms; a machine that runs all tests at once may need much longer, one whose service hangs for ever. */
const GRANT_MAX_MS = 3_000;
/**
 * What may be in use more than before: compiled code, caches of the lane for what the attack sent, buffers of the pool. An attack
 * that is not cleaned up after holds ten times as much, by the sizes that the tests send.
 */
const KEPT_BYTES_MAX = 24 * 1024 * 1024;
/**
 * What may be resident more than before. Node gives memory back late or never, so that an attack leaves its peak; what it must not
 * do is to come near what it sent or asked for, which is some hundred MB in each test.
 */
const RESIDENT_BYTES_MAX = 256 * 1024 * 1024;
/** Until what was left behind is given back; what has a bound in time has a smaller one in these tests. */
const GIVEN_BACK_MS = 5_000;
/** The database's pool opens connections when it has use for them. */
const SOCKETS_MAX = 16;

/** See the head of this file. */
export class HostileWorld {
  readonly service: ServiceUnderTest;
  readonly #database: TestDatabase;
  readonly #before: Holdings;
  #grants: bigint;

  private constructor(service: ServiceUnderTest, database: TestDatabase, before: Holdings, grants = 0n) {
    this.#grants = grants;
    this.service = service;
    this.#database = database;
    this.#before = before;
  }

  /** Starts a service with one budget, which has granted before it is measured. */
  static async start(environment: Readonly<Record<string, string>> = {}): Promise<HostileWorld> {
    const database = await createDatabase();
    const service = await ServiceUnderTest.start({ databaseUrl: database.url, environment });
    const client = new ApiClient(service.grpcPort);
    // It becomes the writer a moment after it listens.
    const isServing = () => fetch(`http://127.0.0.1:${service.connectPort}/readyz`).then(({ status }) => status);
    await vi.waitFor(async () => expect(await isServing()).toBe(200), { timeout: 10_000 });
    await makeBudget(client, BUDGET, 1_000_000n);
    client.close();
    // What is loaded and compiled with the first calls is no attack's doing.
    const first = new HostileWorld(service, database, await service.measure());
    await first.#grantOnBoth();
    return new HostileWorld(service, database, await service.measure(), first.#grants);
  }

  /** Its ports. */
  get ports(): readonly [number, number] {
    return [this.service.grpcPort, this.service.connectPort];
  }

  /** Fails unless others are served while the attack lasts. */
  async expectServing(): Promise<void> {
    await this.#grantOnBoth();
  }

  /** Fails unless the service is as it was. */
  async expectUnharmed(): Promise<void> {
    await this.#grantOnBoth();
    await this.#expectNothingElseCharged();
    // A fault, or words that no logger wrote: Node's about an exception, a library's own.
    const lines = this.service
      .logTail()
      .split('\n')
      .filter((line) => line !== '');
    expect(lines.filter((line) => !/^\{"level":[1-4]0,/.test(line))).toEqual([]);
    // It notices a moment later that they have gone.
    await vi.waitFor(
      async () => {
        const { sockets, usedBytes, residentBytes } = await this.service.measure();
        expect(sockets).toBeLessThan(SOCKETS_MAX);
        expect(usedBytes - this.#before.usedBytes).toBeLessThan(KEPT_BYTES_MAX);
        expect(residentBytes - this.#before.residentBytes).toBeLessThan(RESIDENT_BYTES_MAX);
      },
      { timeout: GIVEN_BACK_MS },
    );
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.#database.drop();
  }

  async #grantOnBoth(): Promise<void> {
    const client = new ApiClient(this.service.grpcPort);
    const request = () => {
      this.#grants += 1n;
      return { budget: BUDGET, idempotencyKey: `grant ${this.#grants}`, maxMicros: 1n };
    };
    const startMs = performance.now();
    expect(await client.call(ReservationService.method.reserve, request())).toHaveProperty('reservation');
    const response = await fetch(`http://127.0.0.1:${this.service.connectPort}${RESERVE_PATH}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...request(), maxMicros: '1' }),
    });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    expect(performance.now() - startMs).toBeLessThan(GRANT_MAX_MS);
    client.close();
  }

  async #expectNothingElseCharged(): Promise<void> {
    const client = new ApiClient(this.service.grpcPort);
    const reply = await client.call(BudgetService.method.getBudget, { budget: BUDGET });
    client.close();
    expect(reply).toMatchObject({ budget: { totals: { activeReservations: this.#grants } } });
  }
}
