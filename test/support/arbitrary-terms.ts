// Random terms of budgets for the stories: limits in windows of every kind, rates, bounds and policies. Stands alone from the steps
// because the tree that a story begins with and its edits draw from the same.
import fc from 'fast-check';
import type { OnExpiry, OverrunPolicy, Shape } from '../../src/kernel/budget.ts';
import type { RateInput } from '../../src/kernel/rate.ts';
import { rollingRule, type WindowRule } from '../../src/kernel/window.ts';
import type { LimitsOption } from './commands.ts';
import { START_MS } from './start-time.ts';

/** Most that a limit of a story comes to: small, so that limits bind often. */
const LIMIT_MICROS_MAX = 150;

/** Most that a request of a story comes to. */
const REQUEST_MICROS_MAX = 60;

const HOUR_MS = 3_600_000;

/** Windows of a story, beside lifetime. One range is open from the start, the other begins later. */
const WINDOWS: readonly WindowRule[] = [
  { kind: 'calendar', unit: 'hour', timeZone: 'UTC' },
  { kind: 'calendar', unit: 'day', timeZone: 'UTC' },
  { kind: 'calendar', unit: 'month', timeZone: 'UTC' },
  rollingRule(HOUR_MS),
  rollingRule(24 * HOUR_MS),
  { kind: 'range', startMs: 0, endMs: START_MS + 20 * 24 * HOUR_MS },
];
const LATER_RANGE: WindowRule = { kind: 'range', startMs: START_MS + HOUR_MS, endMs: START_MS + 40 * 24 * HOUR_MS };

/** An amount of a request. */
export const micros = fc.integer({ min: 0, max: REQUEST_MICROS_MAX });

/** An amount of a limit that admits something. */
export const roomy = fc.integer({ min: 40, max: LIMIT_MICROS_MAX });

/** An amount of any limit. */
export const amount = fc.oneof(
  { weight: 4, arbitrary: roomy },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 40 }) },
);

const rule = fc.oneof(
  { weight: 14, arbitrary: fc.constantFrom(...WINDOWS) },
  // What comes and goes within a story.
  { weight: 5, arbitrary: fc.constant<WindowRule>(rollingRule(10_000)) },
  { weight: 1, arbitrary: fc.constant(LATER_RANGE) },
);

/** One limit, or two, so that the tighter one need not be the one listed first. */
export function limitsOf(of: fc.Arbitrary<number>): fc.Arbitrary<LimitsOption> {
  const limit = fc.oneof(of, fc.record({ amount: of, rule }));
  return fc.oneof(of, fc.record({ hard: limit, soft: limit }), fc.record({ hard: limit }));
}

export const policy = fc.constantFrom<OnExpiry[]>('release', 'charge', 'charge_started');

const rate: fc.Arbitrary<RateInput> = fc.record({
  kind: fc.constantFrom('requests' as const, 'tokens' as const),
  count: fc.integer({ min: 1, max: 6 }),
  perMs: fc.constantFrom(1_000, 60_000),
  burst: fc.integer({ min: 1, max: 8 }),
});

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 });

/** Bounds that leave room for the tree that a story begins with, and for something to happen. */
const shape: fc.Arbitrary<Shape> = fc.record({
  maxReservationMicros: maybe(fc.bigInt({ min: 10n, max: 60n })),
  maxActive: maybe(fc.integer({ min: 1, max: 4 })),
  maxChildren: maybe(fc.integer({ min: 2, max: 3 })),
  maxDepth: maybe(fc.integer({ min: 2, max: 4 })),
  maxLeaseMs: maybe(fc.constantFrom(5_000, HOUR_MS)),
  maxRenewals: maybe(fc.integer({ min: 0, max: 2 })),
  closeAfterMs: maybe(fc.constant(HOUR_MS)),
});

/** What a budget may have beside its limits. */
export interface Extras {
  readonly rates?: readonly RateInput[];
  readonly shape?: Partial<Shape>;
  readonly overrun?: OverrunPolicy;
  readonly floor?: number;
  readonly share?: number;
}

/** Most budgets have none of it. */
export const extras: fc.Arbitrary<Extras> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Extras>({}) },
  { weight: 1, arbitrary: fc.record({ rates: fc.array(rate, { minLength: 1, maxLength: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ shape }) },
  { weight: 1, arbitrary: fc.record({ floor: fc.integer({ min: 1, max: 20 }) }) },
  { weight: 1, arbitrary: fc.record({ share: fc.integer({ min: 30, max: 100 }) }) },
  { weight: 1, arbitrary: fc.record({ overrun: fc.constantFrom<OverrunPolicy[]>('record', 'reject') }) },
);
