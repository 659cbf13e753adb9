// Random stories about a tree where requests wait: what callers, operators and time do, as plain data that shrinks. Its own file
// beside arbitrary-steps.ts because here nearly everything is short, time stops on the very instants at which something happens,
// and callers go and come back.
import fc from 'fast-check';
import type { BudgetTerms, Shape } from '../../src/kernel/budget.ts';
import type { Command } from '../../src/kernel/command.ts';
import type { Enforcement } from '../../src/kernel/enforcement.ts';
import type { ReservationId } from '../../src/kernel/names.ts';
import { type Extras, extras, limitsOf } from './arbitrary-terms.ts';
import type { CheckedQueue } from './checked-queue.ts';
import type { Commands, LimitsOption } from './commands.ts';

/** The budgets of every story, parents first. */
export const QUEUE_PATHS = ['t', 't/a', 't/a/x', 't/a/x/p', 't/b', 't/m'] as const;

/** Budgets that a grant makes. */
export const RUN_PATHS = ['t/b/run-1', 't/b/run-2', 't/b/run-1/sub'] as const;

const DAY_MS = 86_400_000;
const between = (min: number, max: number) => fc.integer({ min, max });
const budget = fc.constantFrom(...QUEUE_PATHS);
const anyBudget = fc.constantFrom(...QUEUE_PATHS, ...QUEUE_PATHS, ...RUN_PATHS);
const amount = between(20, 70);
const micros = between(0, 45);
const ref = fc.nat(9);
const priority = fc.constantFrom(
  'background' as const,
  'normal' as const,
  'normal' as const,
  'interactive' as const,
  'critical' as const,
);
const rarely = <T>(rare: fc.Arbitrary<T>, usual: T, usually = 4): fc.Arbitrary<T> =>
  fc.oneof({ weight: usually, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: rare });

const enforcement: fc.Arbitrary<Partial<Enforcement>> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: fc.constant({ onExhaustion: 'degrade' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kept: fc.constantFrom(
        [{ priority: 'critical' as const, micros: 10n }],
        [
          { priority: 'critical' as const, micros: 5n },
          { priority: 'interactive' as const, micros: 5n },
        ],
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ mode: 'soft' as const, toleranceMicros: 10n }) },
  { weight: 1, arbitrary: fc.record({ mode: fc.constantFrom('observe' as const, 'warn' as const) }) },
);

const toolRate = fc.record({
  rates: fc.constant([{ kind: 'tool_calls' as const, count: 1, perMs: 1_000, burst: 4 }]),
});

/** What a budget of a story has beside its limits. */
export interface QueueTerms extends Omit<Extras, 'floor' | 'share'> {
  readonly enforcement: Partial<Enforcement>;
  /** Undefined: an edit says nothing of floor and share. */
  readonly floor: number | undefined;
  readonly share: number | undefined;
  readonly weight: number;
}

const shares = fc.record({
  floor: rarely<number | undefined>(between(1, 20), undefined),
  share: rarely<number | undefined>(between(30, 100), undefined),
});

const terms: fc.Arbitrary<QueueTerms> = fc
  .tuple(
    fc.oneof({ weight: 3, arbitrary: extras }, { weight: 1, arbitrary: toolRate }),
    enforcement,
    between(1, 4),
    shares,
  )
  .map(([given, each, weight, { floor = 0, share }]) => ({
    ...given,
    ...onceEach(given),
    enforcement: each,
    weight,
    floor,
    share,
  }));

// Two rates of one kind and time are one.
function onceEach({ rates }: Extras): Pick<Extras, 'rates'> {
  return rates === undefined
    ? {}
    : { rates: [...new Map(rates.map((rate) => [`${rate.kind} ${rate.perMs}`, rate])).values()] };
}

const reserve = fc.record({
  do: fc.constant('reserve' as const),
  budget: anyBudget,
  also: rarely(fc.array(anyBudget, { minLength: 1, maxLength: 2 }), [] as string[]),
  max: micros,
  min: fc.oneof({ weight: 3, arbitrary: fc.constant(1_000) }, { weight: 2, arbitrary: micros }),
  tokens: rarely(between(1, 5), 0, 2),
  toolCalls: rarely(between(1, 3), 0),
  priority,
  waitMs: fc.oneof(
    { weight: 2, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: between(1_000, 20_000) },
    { weight: 5, arbitrary: between(60_000, 600_000) },
    { weight: 1, arbitrary: fc.constant(2 * DAY_MS) },
  ),
  alternatives: rarely(fc.array(between(0, 12), { minLength: 1, maxLength: 2 }), [] as number[]),
  ttlMs: fc.oneof(between(1_000, 9_000), between(60_000, 120_000), fc.constant(DAY_MS)),
});

const step = fc.oneof(
  { weight: 14, arbitrary: reserve },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      ref,
      actual: micros,
      keepOpen: rarely(fc.constant(true), false),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('release' as const), ref }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), ref }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('go' as const), ref }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('again' as const), ref }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('extend' as const), ref, add: micros }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      ms: fc.oneof(between(1, 9_000), between(10_000, 70_000), between(60_000, 7_200_000)),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('due' as const), early: fc.constantFrom(0, 0, 1) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('turn' as const),
      unitMs: fc.constantFrom(1_000, 10_000, 3_600_000, DAY_MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('setLimits' as const), budget, limits: limitsOf(amount) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('topUp' as const),
      budget,
      limit: fc.constantFrom(undefined, 'hard', 'soft'),
      add: between(1, 30),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('setTerms' as const), budget: anyBudget, terms }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('make' as const),
      budget: fc.constantFrom(...RUN_PATHS),
      amount,
      weight: between(1, 4),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('suspend' as const, 'resume' as const, 'resume' as const), budget }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('close' as const), budget: fc.constantFrom('t/m', ...RUN_PATHS) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'inVain' as const) }) },
);

/** One thing that happens. */
export type QueueStep = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A tree to begin with and what happens on it. */
export interface QueueStory {
  /** One for each of QUEUE_PATHS; undefined: no limit of its own. */
  readonly limits: readonly (LimitsOption | undefined)[];
  /** One for each of QUEUE_PATHS, and one for what the template makes. */
  readonly terms: readonly QueueTerms[];
  readonly runLimits: LimitsOption | undefined;
  readonly steps: readonly QueueStep[];
}

/** Stories of up to `stepCountMax` steps. */
export function arbitraryQueueStory(stepCountMax: number): fc.Arbitrary<QueueStory> {
  const below = fc.option(limitsOf(amount), { nil: undefined, freq: 2 });
  return fc.noBias(
    fc.record({
      limits: fc.tuple(limitsOf(between(40, 110)), below, below, below, below, below),
      terms: fc.array(terms, { minLength: QUEUE_PATHS.length + 1, maxLength: QUEUE_PATHS.length + 1 }),
      runLimits: below,
      steps: fc.array(step, { minLength: 10, maxLength: stepCountMax, size: 'max' }),
    }),
  );
}

/** Tells a story to a queue, step by step. */
export class QueueTeller {
  readonly #queue: CheckedQueue;
  #keyCount = 0;
  readonly #told: Command[] = [];
  #inVain = false;

  constructor(queue: CheckedQueue) {
    this.#queue = queue;
  }

  open({ limits, terms: given, runLimits }: QueueStory): void {
    const { make } = this.#queue;
    QUEUE_PATHS.forEach((path, at) => {
      const own = limits[at];
      const template = path === 't/b' ? this.#template(runLimits, given[QUEUE_PATHS.length]) : undefined;
      const { floor, ...rest } = madeWith(path, given[at]);
      const options = {
        ...rest,
        ...(own !== undefined && { limits: own }),
        ...(template !== undefined && { template }),
      };
      const answer = this.#queue.run(make.create(path, { ...options, floor: floor ?? 0 }));
      // More floors than there is: the tree has to begin all the same.
      if (answer.kind === 'refusal') this.#queue.run(make.create(path, options));
    });
  }

  tell(step: QueueStep): void {
    const queue = this.#queue;
    switch (step.do) {
      case 'advance':
        queue.advance(step.ms);
        queue.look();
        return;
      case 'turn':
        queue.advance(step.unitMs - (queue.nowMs % step.unitMs));
        queue.look();
        return;
      case 'due': {
        // Not before what has happened; the last millisecond before it, too.
        const inMs = queue.state.queueDueMs - queue.nowMs - step.early;
        if (Number.isFinite(inMs) && inMs > 0) queue.advance(inMs);
        queue.look();
        return;
      }
      case 'restart':
        queue.restart();
        return;
      case 'inVain':
        this.#inVain = true;
        return;
      case 'go': {
        const id = nth(this.#waiting(), step.ref);
        if (id !== undefined) queue.gone.add(id);
        return;
      }
      default: {
        const command = this.#commandOf(step);
        if (command === undefined) return;
        this.#told.push(command);
        if (this.#inVain) queue.runInVain(queue.make.again(command));
        this.#inVain = false;
        queue.run(command);
      }
    }
  }

  /** Has the command of a step decided and taken back. */
  tellInVain(step: QueueStep): void {
    switch (step.do) {
      case 'advance':
      case 'turn':
      case 'due':
      case 'restart':
      case 'inVain':
      case 'go':
        return;
      default: {
        const command = this.#commandOf(step);
        if (command !== undefined) this.#queue.runInVain(this.#queue.make.again(command));
      }
    }
  }

  #commandOf(
    step: Exclude<QueueStep, { do: 'advance' | 'turn' | 'due' | 'restart' | 'inVain' | 'go' }>,
  ): Command | undefined {
    const { make } = this.#queue;
    switch (step.do) {
      case 'reserve':
        return this.#reserve(step, make);
      case 'settle':
      case 'release':
      case 'extend':
      case 'leave':
        return this.#onReservation(step, make);
      case 'again': {
        const earlier = nth(this.#told, step.ref);
        return earlier?.kind === 'Reserve' ? make.again(earlier) : undefined;
      }
      case 'setLimits':
        return make.update(step.budget, { limits: step.limits });
      case 'topUp':
        return make.topUp(step.budget, step.add, step.limit === undefined ? {} : { limit: step.limit });
      case 'setTerms': {
        const { share, ...own } = madeWith(step.budget, step.terms);
        return make.update(step.budget, own.floor === undefined ? own : { ...own, share: { to: share } });
      }
      case 'make':
        return make.create(step.budget, { limits: step.amount, weight: step.weight });
      case 'suspend':
      case 'resume':
      case 'close':
        return make[step.do](step.budget);
    }
  }

  #reserve(step: Extract<QueueStep, { do: 'reserve' }>, make: Commands): Command {
    this.#keyCount += 1;
    const { max, tokens, toolCalls, also, waitMs, ttlMs } = step;
    const alternatives = step.alternatives.map((each, at) => ({
      label: `alt-${at}`,
      maxMicros: BigInt(Math.min(each, max)),
    }));
    const asked = { min: Math.min(step.min, max), tokens, toolCalls, also, waitMs, ttlMs, alternatives };
    return make.reserve(step.budget, max, { ...asked, priority: step.priority, key: `q${this.#keyCount}` });
  }

  #onReservation(
    step: Extract<QueueStep, { do: 'settle' | 'release' | 'extend' | 'leave' }>,
    make: Commands,
  ): Command | undefined {
    const id = nth(step.do === 'leave' ? this.#waiting() : this.#held(), step.ref);
    if (id === undefined) return undefined;
    switch (step.do) {
      case 'settle':
        return make.settle(id, step.actual, step.keepOpen ? { keepOpen: true } : {});
      case 'extend':
        return make.extend(id, step.add, { min: 0 });
      default:
        return make.release(id);
    }
  }

  #template(limits: LimitsOption | undefined, given: QueueTerms | undefined): BudgetTerms {
    const { make } = this.#queue;
    const below = make.terms({ budgetKind: 'step' });
    const own = { ...madeWith('t/b/run-1', given), template: below };
    return make.terms(limits === undefined ? own : { ...own, limits });
  }

  #waiting(): ReservationId[] {
    return this.#idsIn('QUEUED');
  }

  #held(): ReservationId[] {
    return this.#idsIn('ACTIVE');
  }

  #idsIn(state: 'QUEUED' | 'ACTIVE'): ReservationId[] {
    return [...this.#queue.state.reservations()]
      .filter(({ figures }) => figures.state === state)
      .map(({ id }) => id)
      .sort();
  }
}

interface Made extends Extras {
  readonly enforcement?: Partial<Enforcement>;
  readonly weight?: number;
  readonly shape: Partial<Shape>;
}

// A root has nothing above it.
function madeWith(path: string, given: QueueTerms | undefined): Made {
  const { floor, share, ...rest } = given ?? {};
  const own = { ...rest, shape: roomyShape(given) };
  return path === 't' || floor === undefined ? own : { ...own, floor, ...(share !== undefined && { share }) };
}

// Nothing that would keep a story from coming to anything.
function roomyShape(given: QueueTerms | undefined): Partial<Shape> {
  const { maxActive, maxReservationMicros } = given?.shape ?? {};
  return {
    maxActive,
    maxReservationMicros: maxReservationMicros === undefined ? undefined : maxReservationMicros + 20n,
  };
}

function nth<T>(all: readonly T[], ref: number): T | undefined {
  return all.at(-1 - (ref % Math.max(1, all.length)));
}
