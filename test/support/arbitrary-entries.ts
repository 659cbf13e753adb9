// fast-check arbitraries for journal entries of every type, as the codec must carry them: any amounts, any text that
// PostgreSQL can hold. They obey the types, not the rules of the kernel.
import fc from 'fast-check';
import type { Account, BudgetDef, Labels } from '../../src/kernel/budget.ts';
import type {
  BudgetChange,
  Effect,
  Entry,
  EntryBase,
  Expired,
  Extended,
  Graced,
  Granted,
  Headroom,
  Lapse,
  LeaseMove,
  Refused,
  RefusedRenewal,
  Released,
  Renewed,
  Revisions,
  Settled,
} from '../../src/kernel/entry.ts';
import { MICROS_MAX } from '../../src/kernel/money.ts';
import type { BudgetPath, ReservationId } from '../../src/kernel/names.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import type { ReservationFigures } from '../../src/kernel/reservation.ts';

const TIME_MS_MAX = 4_102_444_800_000;

const micros = fc.oneof(
  fc.bigInt({ min: 0n, max: 1_000_000n }),
  fc.bigInt({ min: 0n, max: MICROS_MAX }),
  fc.constantFrom(0n, 9_007_199_254_740_991n, 9_007_199_254_740_992n, 9_007_199_254_740_993n, MICROS_MAX),
);
const signedMicros = fc.oneof(
  micros,
  micros.map((amount) => -amount),
);
const optionalMicros = fc.option(micros, { nil: undefined });
const timeMs = fc.integer({ min: 0, max: TIME_MS_MAX });
const text = fc
  .string({ unit: 'grapheme', maxLength: 40 })
  .map((value) => value.replaceAll('\0', ''))
  .filter((value) => value.isWellFormed());
const digest = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('base64url'));
const path = fc.constantFrom('acme', 'acme/triage', 'acme/triage/run-42') as fc.Arbitrary<BudgetPath>;
const id = fc.stringMatching(/^[0-9A-Za-z_-]{10,40}$/) as fc.Arbitrary<ReservationId>;

const labels: fc.Arbitrary<Labels> = fc
  .uniqueArray(fc.tuple(text, text), { selector: ([key]) => key, maxLength: 4 })
  .map((pairs) => pairs.sort(([a], [b]) => (a < b ? -1 : 1)));

const account: fc.Arbitrary<Account> = fc.record({
  budgetNo: fc.integer({ min: 1, max: 1_000_000 }),
  windowNo: fc.integer({ min: 0, max: 9 }),
  periodMs: timeMs,
});
const accounts = fc.array(account, { minLength: 1, maxLength: 6 });

const effect: fc.Arbitrary<Effect> = fc.record({
  heldMicros: signedMicros,
  settledMicros: signedMicros,
  overrunMicros: signedMicros,
  active: fc.constantFrom(-1, 0, 1),
  accounts,
});
const effects = fc.array(effect, { maxLength: 3 });

const figures: fc.Arbitrary<ReservationFigures> = fc.record({
  state: fc.constantFrom('ACTIVE', 'SETTLED', 'RELEASED', 'EXPIRED'),
  requestedMicros: micros,
  grantedMicros: micros,
  heldMicros: micros,
  settledMicros: micros,
  releasedMicros: micros,
  overrunMicros: micros,
  estimatedMicros: micros,
  lapsedHeldMicros: micros,
  expireMs: timeMs,
  reclaimMs: timeMs,
  ttlMs: timeMs,
  endMs: fc.option(timeMs, { nil: undefined }),
  late: fc.boolean(),
  estimated: fc.boolean(),
  started: fc.boolean(),
  outcome: fc.constantFrom('succeeded', 'failed', 'cancelled', undefined),
  releaseReason: text,
});

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
    reservation: fc.record({
      id,
      budgetNo: fc.integer({ min: 1, max: 1_000_000 }),
      budget: path,
      unit: text,
      accounts,
      createMs: timeMs,
      holder: text,
      actingFor: fc.constant(''),
      labels: fc.constant([]),
      figures,
    }),
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
const extended = entryOf<Extended>(
  'Extended',
  fc.record({ ...change, addMicros: micros, minMicros: micros, revisions }),
);
const settled = entryOf<Settled>(
  'Settled',
  fc.record({ ...change, actualMicros: optionalMicros, keepOpen: fc.boolean(), retainMicros: optionalMicros }),
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

const budgetDef: fc.Arbitrary<BudgetDef> = fc.record({
  no: fc.integer({ min: 1, max: 1_000_000 }),
  path,
  parentNo: fc.option(fc.nat(), { nil: undefined }),
  kind: text,
  owner: text,
  unit: text,
  uncapped: fc.boolean(),
  windows: fc.constantFrom([], [{ no: 0, rule: { kind: 'lifetime' as const } }]),
  limits: fc.array(fc.record({ no: fc.nat(), name: text, windowNo: fc.nat(), amountMicros: micros }), { maxLength: 3 }),
  limitNoMax: fc.nat(),
  onExpiry: fc.constantFrom('release', 'charge', 'charge_started'),
  suspended: fc.boolean(),
  closed: fc.boolean(),
  revision: fc.integer({ min: 1 }),
  createMs: timeMs,
  updateMs: timeMs,
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
      fc.record({ def: budgetDef, replaceLabels: fc.boolean(), addMicros: optionalMicros, reason: text }),
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
    reservationId: text,
    retryAfterMs: fc.nat(),
    failing: fc.array(fc.record({ budget: text, limit: text, amountMicros: micros, availableMicros: micros })),
    fields: fc.array(fc.record({ field: text, description: text }), { maxLength: 2 }),
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

/** Any entry. Cloned, since fast-check's records have no prototype at times, and ours always have one. */
export const arbitraryEntry: fc.Arbitrary<Entry> = fc
  .oneof<fc.Arbitrary<Entry>[]>(granted, extended, settled, released, renewed, graced, expired, budgetChange, refused)
  .map((entry) => structuredClone(entry));
