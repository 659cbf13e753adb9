// Load at a steady rate instead of as fast as it goes: calls are due at their times whether or not earlier ones are answered, and
// a latency counts from when its call was due, so that a stall shows in all the calls that it held up.
import { type ClientHttp2Session, connect } from 'node:http2';
import { type PacedPlan, type PacedReport, percentiles } from './load.ts';
import { callUnary } from './unary-call.ts';
import { readReservationId, reserveRequest, settleRequest } from './wire.ts';

const TICK_MS = 2;

class PacedLoad {
  readonly #plan: PacedPlan;
  readonly #session: ClientHttp2Session;
  readonly #latenciesUs: number[] = [];
  readonly #refusals: Record<string, number> = {};
  readonly #working: Promise<void>[] = [];

  constructor(plan: PacedPlan) {
    this.#plan = plan;
    this.#session = connect(`http://${plan.address}`);
  }

  async run(): Promise<PacedReport> {
    await this.#start();
    await Promise.all(this.#working);
    this.#session.close();
    const at = percentiles(this.#latenciesUs);
    return {
      count: this.#latenciesUs.length,
      refusals: this.#refusals,
      p50Us: at(0.5),
      p99Us: at(0.99),
      maxUs: at(1),
      sent: this.#working.length,
    };
  }

  #start(): Promise<void> {
    const { perSecond, warmUpMs, countMs } = this.#plan;
    const startMs = performance.now();
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        const atMs = Math.min(performance.now() - startMs, warmUpMs + countMs);
        for (let no = this.#working.length; no < (atMs * perSecond) / 1_000; no += 1) {
          const dueMs = startMs + (no * 1_000) / perSecond;
          this.#working.push(this.#cycle(dueMs, no, startMs + warmUpMs));
        }
        if (atMs < warmUpMs + countMs) return;
        clearInterval(timer);
        resolve();
      }, TICK_MS);
    });
  }

  async #cycle(dueMs: number, no: number, countFromMs: number): Promise<void> {
    const { budgets, keyPrefix } = this.#plan;
    const budget = budgets[no % budgets.length] as string;
    const reserved = await callUnary(this.#session, 'Reserve', reserveRequest(budget, `${keyPrefix}-${no}`, 1));
    if (reserved.refusal !== undefined) {
      this.#refusals[reserved.refusal] = (this.#refusals[reserved.refusal] ?? 0) + 1;
      return;
    }
    if (dueMs >= countFromMs) this.#latenciesUs.push((performance.now() - dueMs) * 1_000);
    await callUnary(this.#session, 'Settle', settleRequest(readReservationId(reserved.body), 's', 1));
  }
}

process.once('message', (plan: PacedPlan) => {
  new PacedLoad(plan).run().then(
    (report) => process.send?.(report, () => process.disconnect()),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
