// A real service with prices of its own, and what its tests do with it: reserve by a call, settle by usage, read, be refused. Prices
// are few and known, so that every figure can be written down; none of their names is in the catalogue.
import { setTimeout as delay } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { runVerify } from '../../src/app/verify.ts';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import type { ModelCallSchema, UsageSchema } from '../../src/gen/budgetd/v1/model_call_pb.ts';
import { type PriceRates, PriceService } from '../../src/gen/budgetd/v1/price_pb.ts';
import { type Reservation, ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { decodeRefusal, isServiceError, type RefusalSeen } from '../scenarios/runner/refusal.ts';
import { createRpcClient, type RpcClient } from '../scenarios/runner/rpc-client.ts';
import { createDatabase, type TestDatabase } from './postgres.ts';
import { ServiceUnderTest } from './service-under-test.ts';

const START_MS = Date.parse('2026-03-02T09:00:00Z');
const { method } = ReservationService;

/** A model's name. */
interface Name {
  readonly provider: string;
  readonly model: string;
}
export type CallInit = Exclude<MessageInitShape<typeof ModelCallSchema>, { $typeName: string }>;
export type UsageInit = Exclude<MessageInitShape<typeof UsageSchema>, { $typeName: string }>;

/** 2.50 USD a million tokens in, 10 out, 1.25 read from a cache. */
export const BIG = { provider: 'openai', model: 'big' };
/** 0.15 in, 0.60 out. */
export const SMALL = { provider: 'openai', model: 'small' };
/** 3 in, 15 out, 0.30 read from a cache, 3.75 written to one for five minutes. */
export const CLAUDE = { provider: 'anthropic', model: 'claude' };
/** 1 in, 1 out; its provider reports what a call cost. */
export const ROUTED = { provider: 'openrouter', model: 'x/y' };

/** A call of BIG: 1,000 tokens in, 100 out, which is 3,500 micros. */
export const callOf = (change: CallInit = {}): CallInit => ({
  candidates: [BIG],
  size: { case: 'inputTokens', value: 1_000n },
  maxOutputTokens: 100n,
  ...change,
});

/** A report as it came. */
export const raw = (kind: string, usage: unknown): UsageInit => ({
  report: { case: 'raw', value: { kind, json: JSON.stringify(usage) } },
});

/** A report as OpenAI's chat interface makes it. */
export const openai = (prompt: number, completion: number): UsageInit =>
  raw('openai_chat', { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion });

/** The refusal of a call that must be refused. */
export async function refused(call: Promise<unknown>): Promise<RefusalSeen> {
  try {
    await call;
  } catch (error) {
    if (isServiceError(error)) return decodeRefusal(error);
    throw error;
  }
  throw new Error('it was not refused');
}

/** See the head of this file. */
export class PricedWorld {
  readonly service: ServiceUnderTest;
  readonly #database: TestDatabase;
  rpc: RpcClient;
  /** The tree that reservations are made on. */
  tree = '';
  #count = 0;

  private constructor(database: TestDatabase, service: ServiceUnderTest) {
    this.#database = database;
    this.service = service;
    this.rpc = createRpcClient(service.grpcPort);
  }

  static async start(): Promise<PricedWorld> {
    const database = await createDatabase();
    const environment = { BUDGETD_GRACE: '0s' };
    const service = await ServiceUnderTest.start({ databaseUrl: database.url, clockMs: START_MS, environment });
    const world = new PricedWorld(database, service);
    await world.#serving();
    await world.addPrice(BIG, { input: 2_500_000n, output: 10_000_000n, cacheRead: 1_250_000n });
    await world.addPrice(SMALL, { input: 150_000n, output: 600_000n });
    const rates = { input: 3_000_000n, output: 15_000_000n, cacheRead: 300_000n, cacheWrite5m: 3_750_000n };
    await world.addPrice(CLAUDE, rates);
    await world.addPrice(ROUTED, { input: 1_000_000n, output: 1_000_000n });
    return world;
  }

  /** Ends it, and gives what the verifier found in its journal. */
  async stop(): Promise<readonly string[]> {
    this.rpc.close();
    await this.service.kill();
    const { differences } = await runVerify({ databaseUrl: this.#database.url, log: () => undefined });
    await this.#database.drop();
    return differences;
  }

  /** Kills the service and starts it again. */
  async restart(): Promise<void> {
    this.rpc.close();
    await this.service.restart();
    this.rpc = createRpcClient(this.service.grpcPort);
    await this.#serving();
  }

  /** A number that was not used before. */
  next(): number {
    this.#count += 1;
    return this.#count;
  }

  /** Goes on to a new tree with one limit; more terms as given. */
  async plant(terms: object = {}, { unit = 'USD', amountMicros = 100_000n } = {}): Promise<void> {
    this.tree = `t${this.next()}`;
    const budget = { budget: this.tree, unit, limits: [{ amountMicros }], ...terms } as never;
    await this.rpc.call(BudgetService.method.createBudget, { budget, idempotencyKey: 'create' });
  }

  /** Adds a row that counts from now on, and gives its hash. */
  async addPrice(name: Name, rates: Partial<PriceRates>): Promise<string> {
    const row = { ...name, rates, source: 'a test' } as never;
    return (await this.rpc.call(PriceService.method.addPrice, { row })).row?.rowHash ?? '';
  }

  async reserve(call: CallInit, more: object = {}): Promise<Reservation> {
    const idempotencyKey = `reserve-${this.next()}`;
    const request = { budget: this.tree, idempotencyKey, modelCall: call, ...more } as never;
    return there(await this.rpc.call(method.reserve, request));
  }

  async settle(reservationId: string, usage: UsageInit, more: object = {}): Promise<Reservation> {
    const cost = { case: 'usage', value: usage };
    const request = { reservationId, idempotencyKey: 'settle', cost, ...more } as never;
    return there(await this.rpc.call(method.settle, request));
  }

  async get(reservationId: string): Promise<Reservation> {
    return there(await this.rpc.call(method.getReservation, { reservationId }));
  }

  async #serving(): Promise<void> {
    while ((await this.rpc.health()) !== 'SERVING') await delay(20);
  }
}

function there({ reservation }: { readonly reservation?: Reservation | undefined }): Reservation {
  if (reservation === undefined) throw new Error('an answer without a reservation');
  return reservation;
}
