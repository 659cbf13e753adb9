// Clients that do, each from its own chance, what orchestrators do: reserve, work, extend, renew, settle well or badly,
// forget, repeat; and an operator who edits and suspends budgets meanwhile. Budgets are small, so that ceilings are met.
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { type Call, Caller, callOf } from './caller.ts';
import { type History, type Method, type Operation, spelled, type Told } from './history.ts';
import type { Random } from './random.ts';

/** What a workload needs to know of the world that it works on. */
export interface WorkPlace {
  readonly ports: readonly number[];
  readonly trees: readonly string[];
}

const reservations = ReservationService.method;
const budgets = BudgetService.method;

/** Budgets of one tree below its root: path after the root's name, and amount. */
const SHAPE: readonly (readonly [suffix: string, amount: number])[] = [
  ['', 900],
  ['/a', 500],
  ['/a/x', 250],
  ['/a/y', 300],
  ['/b', 600],
  ['/b/z', 600],
];
const ON_EXPIRY = [1, 2, 3] as const;

/** Makes the trees. Throws where that fails. */
export async function makeTrees(place: WorkPlace, history: History, random: Random): Promise<void> {
  const caller = new Caller(place.ports);
  try {
    for (const tree of place.trees) {
      for (const [suffix, amount] of SHAPE) {
        const budget = `${tree}${suffix}`;
        const operation = history.begin('CreateBudget', budget, 'make');
        const limits = [{ name: 'all', amountMicros: BigInt(amount) }];
        const told = await caller.perform(
          operation,
          callOf(budgets.createBudget, {
            budget: { budget, limits, onExpiry: random.pick(ON_EXPIRY) },
            idempotencyKey: 'make',
          }),
          () => operation.told.length > 400,
        );
        if (told.kind !== 'ok') throw new Error(`${budget} could not be made: ${spelled(told)}`);
      }
    }
  } finally {
    caller.close();
  }
}

/** A client's own view of what it holds. */
interface Held {
  readonly id: string;
  readonly granted: bigint;
}

interface Step {
  readonly method: Method;
  readonly resource: string;
  readonly key: string;
  readonly call: Call;
}

/** One client. Runs until it is told to stop, then ends after the operation at hand. */
export class WorkClient {
  readonly #name: string;
  readonly #place: WorkPlace;
  readonly #history: History;
  readonly #random: Random;
  readonly #caller: Caller;
  readonly #mine: Held[] = [];
  readonly #suspended: string[] = [];
  readonly #exhausted: string[] = [];
  readonly #usesSession: boolean;
  #current: Operation | undefined;
  #no = 0;
  okCount = 0;

  constructor(name: string, place: WorkPlace, history: History, random: Random) {
    this.#name = name;
    this.#place = place;
    this.#history = history;
    this.#random = random;
    this.#usesSession = random.chance(0.5);
    this.#caller = new Caller(place.ports, this.#usesSession);
  }

  /** What it is at, in words, for messages. */
  get standing(): string {
    const who = `${this.#name}, ${this.#usesSession ? 'on a Session' : 'unary'}, ${this.okCount} done`;
    if (this.#current === undefined) return `${who}, has not begun`;
    const { method, resource, told } = this.#current;
    const last = told.at(-1);
    return `${who}: ${method} ${resource}, ${told.length} attempts, last ${last === undefined ? 'unanswered' : spelled(last)}`;
  }

  async run(over: () => boolean): Promise<void> {
    while (!over()) {
      const step = this.#step();
      const operation = this.#history.begin(step.method, step.resource, step.key);
      this.#current = operation;
      this.#take(operation, await this.#caller.perform(operation, step.call, over));
      // As a client does that crashed between the answer and writing it down.
      if (this.#random.chance(0.1) && !over()) {
        this.#take(operation, await this.#caller.perform(operation, step.call, over));
      }
    }
    this.#caller.close();
  }

  #take({ method, resource }: Operation, told: Told): void {
    if (told.kind === 'ok') {
      this.okCount += 1;
      const shown = told.reservation;
      if (method === 'Reserve' && shown?.state === 'ACTIVE' && !this.#mine.some(({ id }) => id === shown.id)) {
        this.#mine.push({ id: shown.id, granted: shown.granted });
      }
    }
    // Spent for good: somebody has to raise it at every level, or nothing would be granted any more.
    if (told.kind === 'refused' && told.reason === 'BUDGET_EXHAUSTED' && method === 'Reserve') {
      const segments = resource.split('/');
      for (let depth = 1; depth <= segments.length; depth++) this.#exhausted.push(segments.slice(0, depth).join('/'));
    }
    const ends = method === 'Release' || (method === 'Settle' && told.kind === 'ok' && told.reservation?.held === 0n);
    const gone = told.kind === 'refused' && /^RESERVATION_/.test(told.reason);
    if (!ends && !gone) return;
    const at = this.#mine.findIndex(({ id }) => id === resource);
    if (at >= 0) this.#mine.splice(at, 1);
  }

  #step(): Step {
    const random = this.#random;
    // What is suspended must not stay so, or the rest of the run would only be refused.
    const suspended = random.chance(0.3) ? this.#suspended.shift() : undefined;
    if (suspended !== undefined) return this.#resume(suspended);
    const exhausted = this.#exhausted.shift();
    if (exhausted !== undefined) return this.#topUp(exhausted);
    if (this.#mine.length > 6 || (this.#mine.length > 0 && random.chance(0.55))) return this.#onHold();
    return random.chance(0.06) ? this.#onBudget() : this.#reserve();
  }

  #key(): string {
    this.#no += 1;
    return `${this.#name}-${this.#no}`;
  }

  #reserve(): Step {
    const random = this.#random;
    const [suffix] = random.pick(SHAPE);
    const resource = `${random.pick(this.#place.trees)}${suffix}`;
    const key = this.#key();
    const max = random.between(0, 120);
    const call = callOf(reservations.reserve, {
      budget: resource,
      idempotencyKey: key,
      maxMicros: BigInt(max),
      ...(random.chance(0.5) && { minMicros: BigInt(random.between(0, max)) }),
      ttl: { seconds: BigInt(random.pick([1, 1, 2, 5, 60])) },
      holder: this.#name,
      ...(random.chance(0.2) && { labels: { step: key } }),
    });
    return { method: 'Reserve', resource, key, call };
  }

  #onHold(): Step {
    const random = this.#random;
    const { id, granted } = random.pick(this.#mine);
    const key = this.#key();
    const target = { reservationId: id, idempotencyKey: key };
    const part = BigInt(random.between(0, Number(granted)));
    const over = granted + BigInt(random.between(1, 60));
    const exactly = (value: bigint) => ({ case: 'actualMicros' as const, value });
    const settle = (rest: object): Step => ({
      method: 'Settle',
      resource: id,
      key,
      call: callOf(reservations.settle, { ...target, ...rest }),
    });
    const choices: readonly (() => Step)[] = [
      () => settle({ cost: exactly(part) }),
      () => settle({ cost: exactly(granted) }),
      () => settle({ cost: exactly(over) }),
      () => settle({ cost: { case: 'usageUnknown', value: {} } }),
      () => settle({ cost: exactly(part / 3n), keepOpen: true }),
      () => settle({ cost: exactly(part / 3n), keepOpen: true, retainMicros: part }),
      () => ({
        method: 'Release',
        resource: id,
        key,
        call: callOf(reservations.release, { ...target, reason: 'done' }),
      }),
      () => ({
        method: 'Extend',
        resource: id,
        key,
        call: callOf(reservations.extend, {
          ...target,
          addMicros: BigInt(random.between(0, 60)),
          ...(random.chance(0.5) && { minMicros: 0n }),
        }),
      }),
      () => ({
        method: 'Renew',
        resource: id,
        key,
        call: callOf(reservations.renew, { ...target, ttl: { seconds: BigInt(random.between(1, 3)) } }),
      }),
      () => ({
        method: 'Renew',
        resource: id,
        key: '',
        call: callOf(reservations.renew, { reservationId: id, ttl: { seconds: 2n } }),
      }),
      () => ({
        method: 'GetReservation',
        resource: id,
        key: '',
        call: callOf(reservations.getReservation, { reservationId: id }),
      }),
    ];
    return random.pick(choices)();
  }

  #onBudget(): Step {
    const random = this.#random;
    const [suffix, amount] = random.pick(SHAPE);
    const resource = `${random.pick(this.#place.trees)}${suffix}`;
    const key = this.#key();
    const choices: readonly (() => Step)[] = [
      () => ({
        method: 'UpdateBudget',
        resource,
        key,
        call: callOf(budgets.updateBudget, {
          budget: {
            budget: resource,
            limits: [{ name: 'all', amountMicros: BigInt(amount + random.between(-100, 900)) }],
          },
          updateMask: { paths: ['limits'] },
          idempotencyKey: key,
        }),
      }),
      () => {
        this.#suspended.push(resource);
        const call = callOf(budgets.suspendBudget, { budget: resource, idempotencyKey: key, reason: 'look' });
        return { method: 'SuspendBudget', resource, key, call };
      },
    ];
    return random.pick(choices)();
  }

  #topUp(resource: string): Step {
    const key = this.#key();
    const addMicros = BigInt(this.#random.between(1, 300));
    const call = callOf(budgets.topUp, { budget: resource, idempotencyKey: key, addMicros });
    return { method: 'TopUp', resource, key, call };
  }

  #resume(resource: string): Step {
    const key = this.#key();
    const call = callOf(budgets.resumeBudget, { budget: resource, idempotencyKey: key, reason: 'go on' });
    return { method: 'ResumeBudget', resource, key, call };
  }
}
