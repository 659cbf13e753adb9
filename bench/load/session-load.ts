// Load over Sessions: keeps a number of commands in flight and puts into one frame what came together in one turn.
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import { type LoadPlan, type LoadReport, Meter } from './load.ts';
import { FrameWriter, type PricedLoad, readResults } from './wire.ts';

const METHOD = '/budgetd.v1.ReservationService/Session';
const asIs = (bytes: Buffer): Buffer => bytes;

/** The contract's bound on one frame. */
const FRAME_COMMANDS_MAX = 4_096;

interface Waiting {
  readonly sentMs: number;
  readonly settles: boolean;
}

class Stream {
  readonly #plan: LoadPlan;
  readonly #meter: Meter;
  readonly #name: string;
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #frame = new FrameWriter();
  readonly #priced: PricedLoad | undefined;
  readonly ended: Promise<void>;
  #next = 0;

  constructor(client: Client, plan: LoadPlan, meter: Meter, no: number) {
    this.#plan = plan;
    this.#meter = meter;
    this.#name = `${plan.keyPrefix}-${no}`;
    const { priced } = plan;
    this.#priced = priced && {
      call: Buffer.from(priced.call, 'base64'),
      usage: Buffer.from(priced.usage, 'base64'),
    };
    this.#call = client.makeBidiStreamRequest(METHOD, asIs, asIs);
    this.ended = new Promise((resolve, reject) => {
      this.#call.on('end', resolve);
      this.#call.on('error', reject);
    });
    this.#call.on('data', (bytes: Buffer) => this.#take(bytes));
    const share = Math.ceil(plan.inFlight / plan.streams);
    for (let i = 0; i < share; i++) this.#reserve();
    this.#send();
  }

  #take(bytes: Buffer): void {
    readResults(bytes, ({ commandId, refusal, reservationId }) => {
      const waiting = this.#waiting.get(commandId);
      if (waiting === undefined) throw new Error(`an answer to command ${commandId}, which does not wait`);
      this.#waiting.delete(commandId);
      const goesOn = this.#plan.mode === 'cycle' && !waiting.settles && refusal === undefined;
      this.#meter.answer(waiting.sentMs, refusal, !goesOn);
      if (goesOn) this.#settle(reservationId);
      else if (!this.#meter.over) this.#reserve();
    });
    this.#send();
    if (this.#waiting.size === 0) this.#call.end();
  }

  #reserve(): void {
    const no = this.#next++;
    const budget = this.#plan.budgets[no % this.#plan.budgets.length] as string;
    const key = `${this.#name}-${no}`;
    if (this.#priced === undefined) this.#frame.reserve(no, budget, key, 1, this.#plan.priority);
    else this.#frame.reserveCall(no, budget, key, this.#priced);
    this.#waiting.set(no, { sentMs: performance.now(), settles: false });
    if (this.#frame.count === FRAME_COMMANDS_MAX) this.#send();
  }

  #settle(reservationId: string): void {
    const no = this.#next++;
    if (this.#priced === undefined) this.#frame.settle(no, reservationId, 's', 1);
    else this.#frame.settleUsage(no, reservationId, 's', this.#priced);
    this.#waiting.set(no, { sentMs: performance.now(), settles: true });
    if (this.#frame.count === FRAME_COMMANDS_MAX) this.#send();
  }

  #send(): void {
    if (this.#frame.count === 0) return;
    this.#meter.sent += this.#frame.count;
    this.#call.write(this.#frame.take());
  }
}

async function run(plan: LoadPlan): Promise<LoadReport> {
  const meter = new Meter(plan);
  const client = new Client(plan.address, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  const streams = Array.from({ length: plan.streams }, (_, no) => new Stream(client, plan, meter, no));
  await Promise.all(streams.map((stream) => stream.ended));
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
