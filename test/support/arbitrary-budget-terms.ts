// Terms of budgets as the contract has them, over the whole range of every field, templates inside templates included. Apart from
// arbitrary-terms.ts, which draws small ones for stories in which limits bind.
import fc from 'fast-check';
import { windowName } from '../../src/api/validate/window-name.ts';
import type { BudgetTerms, LimitInput, Shape } from '../../src/kernel/budget.ts';
import type { Enforcement } from '../../src/kernel/enforcement.ts';
import { MICROS_MAX } from '../../src/kernel/money.ts';
import type { ModelRules } from '../../src/kernel/price.ts';
import type { RateInput } from '../../src/kernel/rate.ts';
import { rollingRule, type WindowRule } from '../../src/kernel/window.ts';

const DAY_MS = 86_400_000;
const YEAR_10000_MS = 253_402_300_800_000;

const micros = fc.bigInt(0n, MICROS_MAX);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const int32 = fc.nat({ max: 2_147_483_647 });

/** Windows of every kind. */
export const window: fc.Arbitrary<WindowRule> = fc.oneof(
  fc.constant<WindowRule>({ kind: 'lifetime' }),
  fc.integer({ min: 1, max: 366 * 86_400 }).map((seconds) => rollingRule(seconds * 1_000)),
  fc
    .tuple(fc.integer({ min: 0, max: YEAR_10000_MS - 2 }), fc.integer({ min: 1, max: YEAR_10000_MS }))
    .map(([startMs, lengthMs]): WindowRule => {
      return { kind: 'range', startMs, endMs: Math.min(startMs + lengthMs, YEAR_10000_MS - 1) };
    }),
  fc.record({
    kind: fc.constant('calendar' as const),
    unit: fc.constantFrom('hour', 'day', 'week', 'month'),
    timeZone: fc.constantFrom(
      'UTC',
      'Europe/Amsterdam',
      'Asia/Kolkata',
      'America/Argentina/ComodRivadavia',
      'Etc/GMT+8',
    ),
  }),
);

const limit: fc.Arbitrary<LimitInput> = fc
  .record({ name: optional(fc.stringMatching(/^[A-Za-z0-9._:/+-]{1,63}$/)), rule: window, amountMicros: micros })
  .map(({ name, rule, amountMicros }) => ({ name: name ?? windowName(rule), rule, amountMicros }));

const units = fc.integer({ min: 1, max: 1_000_000_000_000 });
const rate: fc.Arbitrary<RateInput> = fc.record({
  kind: fc.constantFrom('requests', 'tokens', 'tool_calls'),
  count: units,
  perMs: fc.integer({ min: 1_000, max: DAY_MS }),
  burst: units,
});

const shape: fc.Arbitrary<Shape> = fc.record({
  maxReservationMicros: optional(micros),
  maxActive: optional(int32),
  maxChildren: optional(int32),
  maxDepth: optional(fc.nat({ max: 15 })),
  maxLeaseMs: optional(fc.integer({ min: 1_000, max: DAY_MS })),
  maxRenewals: optional(int32),
  closeAfterMs: optional(fc.integer({ min: 1_000, max: 366 * DAY_MS })),
});

const enforcement: fc.Arbitrary<Enforcement> = fc.record({
  mode: fc.constantFrom('observe', 'warn', 'soft', 'enforce'),
  toleranceMicros: micros,
  onExhaustion: fc.constantFrom('block', 'degrade'),
  kept: fc.uniqueArray(fc.record({ priority: fc.constantFrom('normal', 'interactive', 'critical'), micros }), {
    selector: ({ priority }) => priority,
  }),
});

const alertAt = fc
  .uniqueArray(fc.integer({ min: 1, max: 1_000 }), { maxLength: 8 })
  .map((percents) => percents.sort((a, b) => a - b));

const model = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,8}\/[!-~]{1,20}$/);
const models: fc.Arbitrary<ModelRules> = fc.record({
  allowed: optional(fc.uniqueArray(model, { maxLength: 5 })),
  maxTier: optional(fc.constantFrom('flex', 'standard', 'priority')),
});

/** Terms with templates nested `depth` deep at the most, themselves included. */
export function termsTo(depth: number): fc.Arbitrary<BudgetTerms> {
  return fc.record({
    budgetKind: fc.stringMatching(/^[A-Za-z0-9._-]{0,63}$/),
    uncapped: fc.boolean(),
    limits: fc.uniqueArray(limit, { selector: ({ name }) => name, maxLength: 4 }),
    rates: fc.uniqueArray(rate, { selector: ({ kind, perMs }) => `${kind} ${perMs}`, maxLength: 3 }),
    shape,
    onExpiry: fc.constantFrom('release', 'charge', 'charge_started'),
    overrun: fc.constantFrom('record', 'reject'),
    enforcement,
    alertAt,
    weight: fc.integer({ min: 1, max: 1_000_000 }),
    floorMicros: micros,
    sharePercent: optional(fc.integer({ min: 1, max: 100 })),
    models,
    childTemplate: depth === 1 ? fc.constant(undefined) : optional(termsTo(depth - 1)),
  });
}
