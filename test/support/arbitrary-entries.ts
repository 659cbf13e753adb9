// fast-check arbitraries for journal entries of every type, as the codec must carry them: any amounts, any text that
// PostgreSQL can hold. They obey the types, not the rules of the kernel.
import fc from 'fast-check';
import {
  type BudgetDef,
  type BudgetTerms,
  type Counter,
  type LimitDef,
  type LimitInput,
  NO_SHAPE,
  type Shape,
  type WindowDef,
} from '../../src/kernel/budget.ts';
import { ENFORCED, type Enforcement } from '../../src/kernel/enforcement.ts';
import type {
  Alert,
  Alerted,
  BudgetChange,
  Effect,
  Enqueued,
  Entry,
  EntryBase,
  Expired,
  Extended,
  Graced,
  Granted,
  Headroom,
  Lapse,
  LeaseMove,
  LeftQueue,
  Refused,
  RefusedRenewal,
  Released,
  Renewed,
  Revisions,
  Settled,
} from '../../src/kernel/entry.ts';
import { ANY_MODEL, type ModelRules } from '../../src/kernel/price.ts';
import type { RateDef, RateInput } from '../../src/kernel/rate.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import type { WindowRule } from '../../src/kernel/window.ts';
import { optionalPrice, optionalPriced } from './arbitrary-price.ts';
import { accounts, figures, labels, mode, priority, reservation, waitingUnder } from './arbitrary-reservation.ts';
import { digest, id, micros, optionalMicros, path, signedMicros, text, timeMs } from './arbitrary-scalars.ts';

const effect: fc.Arbitrary<Effect> = fc.record({
  heldMicros: signedMicros,
  settledMicros: signedMicros,
  overrunMicros: signedMicros,
  active: fc.constantFrom(-1, 0, 1),
  accounts,
});
const effects = fc.array(effect, { maxLength: 3 });

const headroom: fc.Arbitrary<Headroom> = fc.record({ micros: optionalMicros, budget: text, limit: text });
const revisions: fc.Arbitrary<Revisions> = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 4 });

const base: fc.Arbitrary<EntryBase> = fc.record({
  seq: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  atMs: timeMs,
  actor: text,
  key: fc.option(fc.record({ digest, fingerprint: digest }), { nil: undefined }),
  personal: fc.option(fc.record({ commitment: digest, salt: digest, actingFor: text, labels }), { nil: undefined }),
});

function entryOf<T extends Entry>(type: T['type'], rest: fc.Arbitrary<Omit<T, keyof EntryBase | 'type'>>) {
  return fc.tuple(base, rest).map(([common, own]) => ({ ...common, type, ...own }) as T);
}

const change = { id, figures, headroom, effects };

// The reservation of a grant has the personal fields of its entry, and its effects mostly share its accounts.
const granted = entryOf<Granted>(
  'Granted',
  fc.record({
    rateMoves: fc.array(
      fc.record({ budgetNo: fc.integer({ min: 1 }), rateNo: fc.integer({ min: 1 }), level: fc.bigInt(0n, 2n ** 100n) }),
      { maxLength: 3 },
    ),
    reservation,
    enqueuedSeq: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
    minMicros: micros,
    revisions,
    headroom,
    effects,
  }),
).chain((entry) =>
  fc.record({ shared: fc.boolean(), now: fc.boolean() }).map(({ shared, now }) => {
    const { reservation, effects: moved } = entry;
    return {
      ...entry,
      reservation: {
        ...reservation,
        createMs: now ? entry.atMs : reservation.createMs,
        actingFor: entry.personal?.actingFor ?? '',
        labels: entry.personal?.labels ?? [],
      },
      effects: shared ? moved.map((effect) => ({ ...effect, accounts: reservation.accounts })) : moved,
    };
  }),
);
const enqueued = entryOf<Enqueued>('Enqueued', fc.record({ reservation, revisions })).chain(waitingUnder);
const extended = entryOf<Extended>(
  'Extended',
  fc.record({ ...change, addMicros: micros, minMicros: micros, price: optionalPrice, revisions }),
);
const settled = entryOf<Settled>(
  'Settled',
  fc.record({
    ...change,
    actualMicros: optionalMicros,
    priced: optionalPriced,
    keepOpen: fc.boolean(),
    retainMicros: optionalMicros,
  }),
);
const released = entryOf<Released>('Released', fc.record(change));
const move: fc.Arbitrary<LeaseMove> = fc.record({ id, figures, headroom });
const refusedRenewal: fc.Arbitrary<RefusedRenewal> = fc.record({
  id,
  reason: fc.constantFrom('LEASE_EXPIRED', 'BUDGET_SUSPENDED', 'RESERVATION_SETTLED'),
  budget: text,
});
const renewed = entryOf<Renewed>(
  'Renewed',
  fc.record({ moves: fc.array(move, { maxLength: 4 }), refused: fc.array(refusedRenewal, { maxLength: 3 }) }),
);
const graced = entryOf<Graced>(
  'Graced',
  fc.record({
    epoch: fc.nat(),
    fromMs: timeMs,
    toMs: timeMs,
    moves: fc.array(fc.record({ id, figures }), { maxLength: 4 }),
  }),
);
const lapse: fc.Arbitrary<Lapse> = fc.record({ id, figures, charged: fc.boolean(), effects });
const expired = entryOf<Expired>('Expired', fc.record({ lapses: fc.array(lapse, { maxLength: 4 }) }));

const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const rule: fc.Arbitrary<WindowRule> = fc.oneof<fc.Arbitrary<WindowRule>[]>(
  fc.constant({ kind: 'lifetime' }),
  fc.record({ kind: fc.constant('range' as const), startMs: timeMs, endMs: timeMs }),
  fc.record({ kind: fc.constant('rolling' as const), durationMs: timeMs, stepMs: timeMs }),
  fc.record({
    kind: fc.constant('calendar' as const),
    unit: fc.constantFrom('hour', 'day', 'week', 'month'),
    timeZone: fc.constantFrom('UTC', 'Europe/Amsterdam', 'America/Argentina/Ushuaia'),
  }),
);
const window: fc.Arbitrary<WindowDef> = fc.record(
  { no: count, rule, firstPeriodMs: timeMs, childNo: count },
  { requiredKeys: ['no', 'rule', 'firstPeriodMs'] },
);
const limit: fc.Arbitrary<LimitDef> = fc.record({
  no: count,
  name: text,
  windowNo: count,
  amountMicros: micros,
  topUp: fc.option(fc.record({ periodMs: timeMs, addMicros: micros }), { nil: undefined }),
});
const rate: fc.Arbitrary<RateInput> = fc.record({
  kind: fc.constantFrom('requests', 'tokens', 'tool_calls'),
  count,
  perMs: count,
  burst: count,
});
const rateDef: fc.Arbitrary<RateDef> = fc.record({ no: count, rate }).map(({ no, rate: input }) => ({ no, ...input }));
const optionalCount = fc.option(count, { nil: undefined });
const shape: fc.Arbitrary<Shape> = fc.oneof(
  fc.constant(NO_SHAPE),
  fc.record({
    maxReservationMicros: optionalMicros,
    maxActive: optionalCount,
    maxChildren: optionalCount,
    maxDepth: optionalCount,
    maxLeaseMs: optionalCount,
    maxRenewals: optionalCount,
    closeAfterMs: optionalCount,
  }),
);
const enforcement: fc.Arbitrary<Enforcement> = fc.oneof(
  fc.constant(ENFORCED),
  fc.record({
    mode,
    toleranceMicros: micros,
    onExhaustion: fc.constantFrom('block' as const, 'degrade' as const),
    kept: fc.array(fc.record({ priority, micros }), { maxLength: 3 }),
  }),
);
const models: fc.Arbitrary<ModelRules> = fc.oneof(
  fc.constant(ANY_MODEL),
  fc.record({ allowed: fc.array(text, { maxLength: 3 }), maxTier: fc.constantFrom('flex', 'priority', undefined) }),
);
const policies = {
  enforcement,
  alertAt: fc.array(fc.integer({ min: 1, max: 1_000 }), { maxLength: 3 }),
  weight: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 1_000_000 })),
  floorMicros: fc.oneof(fc.constant(0n), micros),
  sharePercent: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
  models,
  onExpiry: fc.constantFrom('release' as const, 'charge' as const, 'charge_started' as const),
  overrun: fc.constantFrom('record' as const, 'reject' as const),
};
const limitInput: fc.Arbitrary<LimitInput> = fc.record({ name: text, rule, amountMicros: micros });

/** Templates that hold up to `depth` further ones. */
const termsOf = (depth: number): fc.Arbitrary<BudgetTerms> =>
  fc.record({
    budgetKind: text,
    uncapped: fc.boolean(),
    limits: fc.array(limitInput, { maxLength: 2 }),
    rates: fc.array(rate, { maxLength: 2 }),
    shape,
    ...policies,
    childTemplate: depth === 0 ? fc.constant(undefined) : fc.option(termsOf(depth - 1), { nil: undefined }),
  });

const budgetDef: fc.Arbitrary<BudgetDef> = fc.record({
  no: fc.integer({ min: 1, max: 1_000_000 }),
  path,
  parentNo: fc.option(fc.nat(), { nil: undefined }),
  kind: text,
  owner: text,
  unit: text,
  uncapped: fc.boolean(),
  windows: fc.array(window, { maxLength: 3 }),
  limits: fc.array(limit, { maxLength: 3 }),
  limitNoMax: fc.nat(),
  rates: fc.array(rateDef, { maxLength: 2 }),
  windowNoMax: fc.nat(),
  rateNoMax: fc.nat(),
  shape,
  ...policies,
  childShares: fc.array(
    fc.record({
      childNo: count,
      floorMicros: micros,
      sharePercent: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
    }),
    { maxLength: 3 },
  ),
  childTemplate: fc.option(termsOf(2), { nil: undefined }),
  suspended: fc.boolean(),
  closed: fc.boolean(),
  revision: fc.integer({ min: 1 }),
  createMs: timeMs,
  updateMs: timeMs,
});
const counter: fc.Arbitrary<Counter> = fc.record({
  windowNo: fc.nat(),
  periodMs: timeMs,
  heldMicros: micros,
  settledMicros: micros,
  overrunMicros: micros,
});
const budgetChange = fc
  .constantFrom(
    'BudgetCreated' as const,
    'BudgetUpdated' as const,
    'BudgetSuspended' as const,
    'BudgetResumed' as const,
    'BudgetClosed' as const,
    'BudgetToppedUp' as const,
  )
  .chain((type) =>
    entryOf<BudgetChange>(
      type,
      fc.record({
        def: budgetDef,
        replaceLabels: fc.boolean(),
        addMicros: optionalMicros,
        reason: text,
        opening: fc.array(counter, { maxLength: 3 }),
        rateMoves: fc.array(
          fc.record({
            budgetNo: fc.integer({ min: 1 }),
            rateNo: fc.integer({ min: 1 }),
            level: fc.bigInt(0n, 2n ** 100n),
          }),
          { maxLength: 3 },
        ),
        openChildren: fc.constantFrom(-1, 0, 1),
      }),
    ),
  );

const refusal: fc.Arbitrary<Refusal> = fc.record(
  {
    kind: fc.constant('refusal' as const),
    reason: fc.constantFrom('BUDGET_EXHAUSTED', 'CAPACITY_HELD', 'BUDGET_SUSPENDED', 'LEASE_EXPIRED'),
    message: text,
    budget: text,
    limit: text,
    unit: text,
    availableMicros: micros,
    requestedMicros: micros,
    largestMicros: micros,
    reservationId: text,
    retryAfterMs: fc.nat(),
    failing: fc.array(fc.record({ budget: text, limit: text, amountMicros: micros, availableMicros: micros })),
    rate: fc.record({
      kind: fc.constantFrom('requests', 'tokens', 'tool_calls'),
      count,
      perMs: count,
      burst: count,
      availableCount: count,
      requestedCount: count,
    }),
    bound: fc.record(
      { name: fc.constantFrom('max_lease' as const, 'max_active' as const), max: count, observed: count },
      { requiredKeys: ['max', 'observed'] },
    ),
    change: fc.record({ index: fc.nat(), budget: text }),
    fields: fc.array(fc.record({ field: text, description: text }), { maxLength: 2 }),
    unpriced: fc.record(
      { provider: text, model: text, unit: text, moreCount: fc.nat(), why: text, field: text },
      { requiredKeys: [] },
    ),
    leaderAddress: text,
  },
  { requiredKeys: ['kind', 'reason', 'message'] },
);
const refused = entryOf<Refused>(
  'Refused',
  fc.record({
    command: fc.constantFrom('Reserve', 'Extend', 'Settle', 'Release', 'Renew', 'TopUp'),
    budget: text,
    id: fc.oneof(id, fc.constant('' as const)),
    maxMicros: optionalMicros,
    minMicros: optionalMicros,
    holder: text,
    revisions,
    refusal,
  }),
);
const leftQueue = entryOf<LeftQueue>(
  'LeftQueue',
  fc.record({ leaves: fc.array(fc.record({ id, figures, refusal }), { maxLength: 3 }) }),
);
const alert: fc.Arbitrary<Alert> = fc.record({
  budgetNo: count,
  budget: path,
  limitNo: count,
  limit: text,
  periodMs: timeMs,
  percent: count,
  usedMicros: micros,
  amountMicros: micros,
  exhaustMs: fc.option(count, { nil: undefined }),
});
const alerted = entryOf<Alerted>('Alerted', fc.record({ alerts: fc.array(alert, { maxLength: 3 }) }));

/** The same entry under another sequence or with other personal fields. */
export function under(entry: Entry, change: Partial<Pick<EntryBase, 'seq' | 'personal'>>): Entry {
  const changed = { ...entry, ...change };
  if (changed.type !== 'Enqueued' || changed.reservation.queued === undefined) return changed;
  const { seq, personal, reservation } = changed;
  const queued = { ...changed.reservation.queued, seq, salt: personal?.salt, commitment: personal?.commitment };
  return { ...changed, reservation: { ...reservation, queued } };
}

/** Any entry. Cloned, since fast-check's records have no prototype at times, and ours always have one. */
export const arbitraryEntry: fc.Arbitrary<Entry> = fc
  .oneof<fc.Arbitrary<Entry>[]>(
    granted,
    enqueued,
    leftQueue,
    extended,
    settled,
    released,
    renewed,
    graced,
    expired,
    budgetChange,
    refused,
    alerted,
  )
  .map((entry) => structuredClone(entry));
