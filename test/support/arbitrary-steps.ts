// Random stories on one small tree, for the properties: what callers, operators and time do, as plain data that shrinks.
// Reservations and earlier commands are named by number, so that a step means something whatever came before it.
import fc from 'fast-check';
import type { BudgetTerms, OnExpiry } from '../../src/kernel/budget.ts';
import type { Command } from '../../src/kernel/command.ts';
import { amount, type Extras, extras, limitsOf, micros, policy, roomy } from './arbitrary-terms.ts';
import type { Commands, LimitsOption } from './commands.ts';

/** The budgets of every story, parents first. */
export const STORY_PATHS = ['t', 't/a', 't/a/x', 't/b'] as const;

/** Budgets that a story makes by reserving on them. */
export const RUN_PATHS = ['t/a/run-1', 't/a/run-2', 't/a/run-1/sub'] as const;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const budget = fc.constantFrom(...STORY_PATHS);
const dispensable = fc.constantFrom('t/a/x' as const, ...RUN_PATHS);
const anyBudget = fc.oneof({ weight: 3, arbitrary: budget }, { weight: 2, arbitrary: fc.constantFrom(...RUN_PATHS) });
// Counted from the latest.
const ref = fc.nat(7);
// Few keys, so that they are used again, for the same request and for others.
const key = fc.option(fc.constantFrom('k1', 'k2', 'k3'), { nil: undefined, freq: 2 });
const between = (min: number, max: number) => fc.integer({ min, max });
const ttlMs = fc.oneof(
  { weight: 5, arbitrary: between(SECOND_MS, 9 * SECOND_MS) },
  { weight: 2, arbitrary: between(HOUR_MS, DAY_MS) },
);
// Mostly within a lease; now and then past the turn of an hour, a day or a month.
const ms = fc.oneof(
  { weight: 10, arbitrary: between(1, 6 * SECOND_MS) },
  { weight: 2, arbitrary: between(MINUTE_MS, 2 * HOUR_MS) },
  { weight: 2, arbitrary: between(2 * HOUR_MS, 30 * HOUR_MS) },
  { weight: 1, arbitrary: between(2 * DAY_MS, 12 * DAY_MS) },
);

// Whatever there is, or some of it, or all of it.
const least = fc.oneof(fc.constant(0), micros);

const reserve = fc.record({
  do: fc.constant('reserve' as const),
  budget: anyBudget,
  also: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(anyBudget, { minLength: 1, maxLength: 2 }) },
  ),
  max: micros,
  min: least,
  tokens: fc.nat(6),
  ttlMs,
  key,
});

const step = fc.oneof(
  { weight: 9, arbitrary: reserve },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('extend' as const), ref, add: micros, min: least, key }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      ref,
      actual: fc.option(micros, { nil: undefined, freq: 6 }),
      keepOpen: fc.boolean(),
      retain: fc.option(micros, { nil: undefined }),
      key,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), ref, key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('renew' as const), ref, ttlMs, key }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance' as const), ms }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('turn' as const), unitMs: fc.constantFrom(SECOND_MS, HOUR_MS, DAY_MS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('again' as const), ref }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('setLimits' as const), budget, limits: limitsOf(amount) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('topUp' as const),
      budget,
      limit: fc.constantFrom(undefined, 'hard', 'soft'),
      add: fc.integer({ min: 1, max: 50 }),
      key,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('setPolicy' as const), budget, policy }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('setExtras' as const), budget: anyBudget, extras }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('close' as const, 'closeIdle' as const), budget: dispensable }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('suspend' as const, 'resume' as const, 'resume' as const),
      budget,
      key,
    }),
  },
);

/** One thing that happens. */
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

type ReservationStep = Extract<Step, { do: 'extend' | 'settle' | 'release' | 'renew' }>;

/** A tree to begin with and what happens on it. */
export interface Story {
  /** One for each of STORY_PATHS; undefined: no limit of its own. */
  readonly limits: readonly (LimitsOption | undefined)[];
  readonly policies: readonly OnExpiry[];
  /** One for each of STORY_PATHS, and the last for what the template makes. */
  readonly extras: readonly Extras[];
  /** Limits of what the template of t/a makes; undefined: there is no template. */
  readonly runLimits: LimitsOption | undefined;
  readonly graceMs: number;
  readonly steps: readonly Step[];
}

/** How much time a step lets pass: to the very instant at which a second, an hour or a day begins, where it says so. */
export function passOf(step: Step, nowMs: number): number {
  if (step.do === 'advance') return step.ms;
  return step.do === 'turn' ? step.unitMs - (nowMs % step.unitMs) : 0;
}

/** Stories of up to `stepCountMax` steps. */
export function arbitraryStory(stepCountMax: number): fc.Arbitrary<Story> {
  const below = fc.option(limitsOf(amount), { nil: undefined, freq: 2 });
  const story = fc.record({
    limits: fc.tuple(limitsOf(roomy), below, below, below),
    policies: fc.array(policy, { minLength: STORY_PATHS.length, maxLength: STORY_PATHS.length }),
    extras: fc.array(extras, { minLength: STORY_PATHS.length + 1, maxLength: STORY_PATHS.length + 1 }),
    runLimits: fc.option(limitsOf(amount), { nil: undefined, freq: 4 }),
    graceMs: fc.constantFrom(0, 500),
    // The usual size stays near the shortest: a story needs room to come to something.
    steps: fc.array(step, { minLength: 5, maxLength: stepCountMax, size: 'max' }),
  });
  // Small amounts and the first of each choice come often enough by themselves: the edges have tables of their own.
  return fc.noBias(story);
}

// A root has nothing above it; and a floor of more than the budget above may use is refused, where the tree has to begin.
function sharesOn(path: string, { floor, share, ...rest }: Extras): Extras {
  if (path === 't') return rest;
  const floors = floor === undefined || path === 't/a/x' ? {} : { floor };
  return { ...rest, ...floors, ...(share === undefined ? {} : { share }) };
}

function editOf(path: string, extras: Extras) {
  const { share, ...rest } = path === 't' ? sharesOn(path, extras) : extras;
  return share === undefined ? rest : { ...rest, share: { to: share } };
}

/** What a story needs to know of itself in order to go on. */
export class StoryTeller {
  readonly #make: Commands;
  readonly ids: string[] = [];
  readonly #told: Command[] = [];

  constructor(make: Commands) {
    this.#make = make;
  }

  /** The commands that make the tree. */
  opening(story: Story): Command[] {
    return STORY_PATHS.map((path, i) => {
      const given = story.limits[i];
      const onExpiry = story.policies[i] ?? 'release';
      const template = path === 't/a' ? this.#template(story) : undefined;
      return this.#make.create(path, {
        ...sharesOn(path, story.extras[i] ?? {}),
        onExpiry,
        ...(given === undefined ? {} : { limits: given }),
        ...(template === undefined ? {} : { template }),
      });
    });
  }

  // Runs may make budgets below them too, bounded by their run alone.
  #template({ runLimits, extras: given, policies }: Story): BudgetTerms | undefined {
    if (runLimits === undefined) return undefined;
    const below = this.#make.terms({ budgetKind: 'step' });
    const onExpiry = policies[0] ?? 'release';
    return this.#make.terms({ ...given[STORY_PATHS.length], limits: runLimits, onExpiry, template: below });
  }

  /** The command of a step; undefined for one that is none, or that has nothing to act on yet. */
  commandOf(step: Step): Command | undefined {
    const command = this.#commandOf(step);
    if (command !== undefined) this.#told.push(command);
    if (command?.kind === 'Reserve') this.ids.push(command.id);
    return command;
  }

  #commandOf(step: Step): Command | undefined {
    const make = this.#make;
    const keyed = 'key' in step && step.key !== undefined ? { key: step.key } : {};
    switch (step.do) {
      case 'advance':
      case 'turn':
        return undefined;
      case 'again': {
        const earlier = this.#told.at(-1 - (step.ref % Math.max(1, this.#told.length)));
        return earlier === undefined ? undefined : make.again(earlier);
      }
      case 'reserve': {
        const min = Math.min(step.min, step.max);
        const { also, tokens } = step;
        return make.reserve(step.budget, step.max, { min, ttlMs: step.ttlMs, also, tokens, ...keyed });
      }
      case 'setLimits':
        return make.update(step.budget, { limits: step.limits });
      case 'setPolicy':
        return make.update(step.budget, { onExpiry: step.policy });
      case 'setExtras':
        return make.update(step.budget, editOf(step.budget, step.extras));
      case 'close':
      case 'closeIdle':
        return make[step.do](step.budget);
      case 'topUp':
        return make.topUp(step.budget, step.add, {
          ...keyed,
          ...(step.limit === undefined ? {} : { limit: step.limit }),
        });
      case 'suspend':
      case 'resume':
        return make[step.do](step.budget, keyed);
      case 'extend':
      case 'settle':
      case 'release':
      case 'renew': {
        const id = this.ids.at(-1 - (step.ref % Math.max(1, this.ids.length)));
        return id === undefined ? undefined : this.#onReservation(step, id, keyed);
      }
    }
  }

  #onReservation(step: ReservationStep, id: string, keyed: { readonly key?: string }): Command {
    const make = this.#make;
    switch (step.do) {
      case 'extend':
        return make.extend(id, step.add, { min: Math.min(step.min, step.add), ...keyed });
      case 'settle': {
        // Unknown usage ends a reservation: the api lets it through without keep_open only.
        const keepOpen = step.keepOpen && step.actual !== undefined;
        const retained = keepOpen && step.retain !== undefined ? { retain: step.retain } : {};
        return make.settle(id, step.actual, { keepOpen, ...retained, ...keyed });
      }
      case 'release':
        return make.release(id, keyed);
      case 'renew':
        return make.renew(id, step.ttlMs, keyed);
    }
  }
}
