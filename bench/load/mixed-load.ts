// The mixed load. A reservation is begun when it is due, whether or not earlier ones are answered, and its story is drawn by its
// number, so that a run can be told from another only by the service. Each story ends within 20 s, so that the open holds come to
// a steady number in the first half minute.
import { type ClientHttp2Session, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type DescMethodUnary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { percentiles } from './load.ts';
import type { MixedPlan, MixedSample } from './mixed.ts';
import { callUnary, type UnaryReply } from './unary-call.ts';
import { readReservationId } from './wire.ts';

const TICK_MS = 5;
/** A connection is used for so long: the service asks connections to go after half an hour, and calls on one that goes fail. */
const CONNECTION_MS = 5 * 60_000;
const GRANT_MICROS = 1_000n;
const reservations = ReservationService.method;
const budgets = BudgetService.method;

type Step = (id: string, key: string) => Promise<void>;

class MixedLoad {
  readonly #plan: MixedPlan;
  readonly #run = `m${Date.now()}`;
  #session: ClientHttp2Session;
  #sessionMs = performance.now();
  #begun = 0;
  #open = 0;
  #calls = 0;
  #latenciesUs: number[] = [];
  #refusals: Record<string, number> = {};
  readonly #working = new Set<Promise<void>>();

  constructor(plan: MixedPlan) {
    this.#plan = plan;
    this.#session = connect(`http://${plan.address}`);
  }

  async run(tell: (sample: MixedSample) => void): Promise<void> {
    const { perSecond, countMs, sampleMs } = this.#plan;
    const startMs = performance.now();
    const telling = setInterval(() => tell(this.#sample()), sampleMs);
    for (let atMs = 0; atMs < countMs; atMs = performance.now() - startMs) {
      this.#changeConnection();
      for (; this.#begun < (atMs * perSecond) / 1_000; this.#begun += 1) {
        this.#track(this.#story(startMs + (this.#begun * 1_000) / perSecond, this.#begun));
      }
      await sleep(TICK_MS);
    }
    clearInterval(telling);
    await Promise.all(this.#working);
    tell(this.#sample());
    this.#session.close();
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#working.delete(tracked));
    this.#working.add(tracked);
  }

  // Ends when its last call is answered.
  #changeConnection(): void {
    if (performance.now() - this.#sessionMs < CONNECTION_MS) return;
    this.#session.close();
    this.#session = connect(`http://${this.#plan.address}`);
    this.#sessionMs = performance.now();
  }

  #sample(): MixedSample {
    const at = percentiles(this.#latenciesUs);
    const sample = {
      calls: this.#calls,
      refusals: this.#refusals,
      p50Us: at(0.5),
      p99Us: at(0.99),
      maxUs: at(1),
      open: this.#open,
    };
    this.#calls = 0;
    this.#latenciesUs = [];
    this.#refusals = {};
    return sample;
  }

  async #call<Method extends DescMethodUnary>(
    method: Method,
    request: MessageInitShape<Method['input']>,
  ): Promise<UnaryReply> {
    const bytes = toBinary(method.input, create(method.input, request));
    const reply = await this.#send(method.name, bytes, `/${method.parent.typeName}`);
    this.#calls += 1;
    if (reply.refusal !== undefined) this.#refusals[reply.refusal] = (this.#refusals[reply.refusal] ?? 0) + 1;
    return reply;
  }

  // A call that had not left when its connection was changed goes over the next one: nobody has seen it.
  async #send(name: string, bytes: Uint8Array, service: string): Promise<UnaryReply> {
    for (;;) {
      const session = this.#session;
      try {
        return await callUnary(session, name, bytes, service);
      } catch (error) {
        if (session === this.#session || !String(error).includes('REFUSED_STREAM')) throw error;
      }
    }
  }

  async #story(dueMs: number, no: number): Promise<void> {
    const budget = this.#plan.budgets[no % this.#plan.budgets.length] as string;
    // One in a hundred of those who look on or set up; the rest reserve.
    if (no % 100 === 50) return this.#lookOn(budget, no);
    const lapses = no % 10 === 9;
    const reserved = await this.#call(reservations.reserve, {
      budget,
      idempotencyKey: `${this.#run}-${no}`,
      maxMicros: GRANT_MICROS,
      ttl: { seconds: lapses ? 5n : 30n },
      holder: `worker-${no % 50}`,
      labels: { run: `${no % 1_000}` },
    });
    this.#latenciesUs.push((performance.now() - dueMs) * 1_000);
    if (reserved.refusal !== undefined) return;
    this.#open += 1;
    // One in ten is forgotten: its lease runs out.
    if (!lapses) await this.#end(no)(readReservationId(reserved.body), `e${no}`);
    this.#open -= 1;
  }

  #end(no: number): Step {
    const settle: Step = async (reservationId, idempotencyKey) => {
      const cost = { case: 'actualMicros' as const, value: no % 7 === 0 ? GRANT_MICROS + 10n : 700n };
      await this.#call(reservations.settle, { reservationId, idempotencyKey, cost });
    };
    const kinds: readonly Step[] = [
      settle,
      async (id, key) => {
        await sleep(200 + (no % 17) * 100);
        await settle(id, key);
      },
      async (id, key) => {
        await sleep(500);
        await this.#call(reservations.renew, { reservationId: id, ttl: { seconds: 30n } });
        await sleep(5_000 + (no % 10) * 1_000);
        await settle(id, key);
      },
      async (id, key) => {
        await this.#call(reservations.extend, { reservationId: id, idempotencyKey: `x${key}`, addMicros: 100n });
        await sleep(300);
        await settle(id, key);
      },
      async (id, key) => {
        await sleep(100);
        await this.#call(reservations.release, { reservationId: id, idempotencyKey: key, reason: 'not needed' });
      },
    ];
    return kinds[no % kinds.length] as Step;
  }

  async #lookOn(budget: string, no: number): Promise<void> {
    const tree = budget.split('/', 1)[0] as string;
    const turn = Math.floor(no / 100) % 4;
    if (turn === 0) await this.#call(reservations.listReservations, { budget: tree, pageSize: 100 });
    else if (turn === 1) await this.#call(budgets.listBudgets, { parent: tree, recursive: true });
    else if (turn === 2) {
      await this.#call(budgets.updateBudget, {
        budget: { budget, owner: `owner-${no}` },
        updateMask: { paths: ['owner'] },
        idempotencyKey: `u${this.#run}-${no}`,
      });
    } else await this.#call(budgets.getBudget, { budget });
  }
}

process.once('message', (plan: MixedPlan) => {
  new MixedLoad(plan)
    .run((sample) => void process.send?.(sample))
    .then(
      () => process.disconnect(),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        process.exit(1);
      },
    );
});
