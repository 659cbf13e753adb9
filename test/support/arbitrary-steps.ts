// Random stories on one small tree, for the properties: what callers, operators and time do, as plain data that shrinks.
// Reservations and earlier commands are named by number, so that a step means something whatever came before it.
import fc from 'fast-check';
import type { OnExpiry } from '../../src/kernel/budget.ts';
import type { Command } from '../../src/kernel/command.ts';
import type { Commands, LimitsOption } from './commands.ts';

/** The budgets of every story, parents first. */
export const STORY_PATHS = ['t', 't/a', 't/a/x', 't/b'] as const;

/** Most that a limit or a request of a story comes to: small, so that limits bind often. */
const STORY_MICROS_MAX = 120;

const POLICIES: readonly OnExpiry[] = ['release', 'charge', 'charge_started'];

const micros = fc.integer({ min: 0, max: STORY_MICROS_MAX });
// One limit, or two, so that the tighter one need not be the one listed first.
const limitsOf = (amount: fc.Arbitrary<number>): fc.Arbitrary<LimitsOption> =>
  fc.oneof(amount, fc.record({ hard: amount, soft: amount }));
const budget = fc.constantFrom(...STORY_PATHS);
const policy = fc.constantFrom(...POLICIES);
const ref = fc.nat(30);
// Few keys, so that they are used again, for the same request and for others.
const key = fc.option(fc.constantFrom('k1', 'k2', 'k3'), { nil: undefined, freq: 2 });
const ttlMs = fc.integer({ min: 1_000, max: 9_000 });

const reserve = fc.record({ do: fc.constant('reserve' as const), budget, max: micros, min: micros, ttlMs, key });

const step = fc.oneof(
  { weight: 6, arbitrary: reserve },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('extend' as const), ref, add: micros, min: micros, key }) },
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
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 6_000 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('again' as const), ref }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('setLimits' as const), budget, limits: limitsOf(micros) }) },
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
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('suspend' as const, 'resume' as const), budget, key }) },
);

/** One thing that happens. */
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

type ReservationStep = Extract<Step, { do: 'extend' | 'settle' | 'release' | 'renew' }>;

/** A tree to begin with and what happens on it. */
export interface Story {
  /** One for each of STORY_PATHS; undefined: no limit of its own. */
  readonly limits: readonly (LimitsOption | undefined)[];
  readonly policies: readonly OnExpiry[];
  readonly graceMs: number;
  readonly steps: readonly Step[];
}

/** Stories of up to `stepCountMax` steps. */
export function arbitraryStory(stepCountMax: number): fc.Arbitrary<Story> {
  const below = fc.option(limitsOf(micros), { nil: undefined, freq: 4 });
  return fc.record({
    limits: fc.tuple(limitsOf(fc.integer({ min: 20, max: STORY_MICROS_MAX })), below, below, below),
    policies: fc.array(policy, { minLength: STORY_PATHS.length, maxLength: STORY_PATHS.length }),
    graceMs: fc.constantFrom(0, 500),
    steps: fc.array(step, { minLength: 5, maxLength: stepCountMax }),
  });
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
  opening({ limits, policies }: Story): Command[] {
    return STORY_PATHS.map((path, i) => {
      const given = limits[i];
      const onExpiry = policies[i] ?? 'release';
      return this.#make.create(path, given === undefined ? { onExpiry } : { limits: given, onExpiry });
    });
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
        return undefined;
      case 'again': {
        const earlier = this.#told[step.ref % Math.max(1, this.#told.length)];
        return earlier === undefined ? undefined : make.again(earlier);
      }
      case 'reserve': {
        const min = Math.min(step.min, step.max);
        return make.reserve(step.budget, step.max, { min, ttlMs: step.ttlMs, ...keyed });
      }
      case 'setLimits':
        return make.update(step.budget, { limits: step.limits });
      case 'setPolicy':
        return make.update(step.budget, { onExpiry: step.policy });
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
        const id = this.ids[step.ref % Math.max(1, this.ids.length)];
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
