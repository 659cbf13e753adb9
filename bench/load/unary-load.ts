// Load by unary calls, each on a stream of its own.
import { Http2Client } from './http2-client.ts';
import { type LoadPlan, type LoadReport, Meter } from './load.ts';
import { readReservationId, reserveRequest, settleRequest } from './wire.ts';

/** Why is in the trailers, which the client does not decode. */
const REFUSED = 'refused';

const RESERVE = '/budgetd.v1.ReservationService/Reserve';
const SETTLE = '/budgetd.v1.ReservationService/Settle';

/** One caller, who makes a call when the last one is answered. */
class Worker {
  readonly #client: Http2Client;
  readonly #plan: LoadPlan;
  readonly #meter: Meter;
  readonly #no: number;
  readonly #onEnd: () => void;
  #count = 0;

  constructor(client: Http2Client, plan: LoadPlan, meter: Meter, no: number, onEnd: () => void) {
    this.#client = client;
    this.#plan = plan;
    this.#meter = meter;
    this.#no = no;
    this.#onEnd = onEnd;
  }

  reserve(): void {
    if (this.#meter.over) {
      this.#onEnd();
      return;
    }
    const { budgets, inFlight, keyPrefix, mode } = this.#plan;
    const i = this.#count++;
    const budget = budgets[(this.#no + i * inFlight) % budgets.length] as string;
    const request = reserveRequest(budget, `${keyPrefix}-${this.#no}-${i}`, 1);
    this.#call(RESERVE, request, mode === 'reserve', (message) => {
      if (mode === 'reserve' || message === undefined) this.reserve();
      else this.#settle(readReservationId(message));
    });
  }

  #settle(reservationId: string): void {
    this.#call(SETTLE, settleRequest(reservationId, 's', 1), true, () => this.reserve());
  }

  #call(path: string, request: Uint8Array, counts: boolean, onReply: (message: Buffer | undefined) => void): void {
    const sentMs = performance.now();
    this.#meter.sent += 1;
    this.#client.call(path, request, (message) => {
      this.#meter.answer(sentMs, message === undefined ? REFUSED : undefined, counts);
      onReply(message);
    });
  }
}

async function run(plan: LoadPlan): Promise<LoadReport> {
  const meter = new Meter(plan);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const client = new Http2Client(plan.address, reject);
  const ended = Array.from(
    { length: plan.inFlight },
    (_, no) => new Promise<void>((resolve) => new Worker(client, plan, meter, no, resolve).reserve()),
  );
  await Promise.race([Promise.all(ended), failed]);
  client.close();
  return meter.report();
}

process.once('message', (plan: LoadPlan) => {
  run(plan).then(
    (report) => process.send?.(report, () => process.disconnect()),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
