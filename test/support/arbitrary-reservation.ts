// fast-check arbitraries for reservations as entries of the journal carry them: figures, accounts, what one waits with.
import fc from 'fast-check';
import type { Account, Labels } from '../../src/kernel/budget.ts';
import { PRIORITIES } from '../../src/kernel/enforcement.ts';
import type { Enqueued } from '../../src/kernel/entry.ts';
import type { Reason } from '../../src/kernel/refusal.ts';
import type { Queued, ReservationFigures, Shadow } from '../../src/kernel/reservation.ts';
import { optionalPrice } from './arbitrary-price.ts';
import { digest, id, micros, path, text, timeMs } from './arbitrary-scalars.ts';

export const labels: fc.Arbitrary<Labels> = fc
  .uniqueArray(fc.tuple(text, text), { selector: ([key]) => key, maxLength: 4 })
  .map((pairs) => pairs.sort(([a], [b]) => (a < b ? -1 : 1)));

const account: fc.Arbitrary<Account> = fc.record({
  budgetNo: fc.integer({ min: 1, max: 1_000_000 }),
  windowNo: fc.integer({ min: 0, max: 9 }),
  periodMs: timeMs,
});
export const accounts = fc.array(account, { minLength: 1, maxLength: 6 });

export const figures: fc.Arbitrary<ReservationFigures> = fc.record({
  state: fc.constantFrom('QUEUED', 'ACTIVE', 'SETTLED', 'RELEASED', 'EXPIRED'),
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
  renewalCount: fc.oneof(fc.constant(0), fc.nat()),
  endMs: fc.option(timeMs, { nil: undefined }),
  late: fc.boolean(),
  estimated: fc.boolean(),
  started: fc.boolean(),
  outcome: fc.constantFrom('succeeded', 'failed', 'cancelled', undefined),
  releaseReason: text,
});

export const mode = fc.constantFrom('observe' as const, 'warn' as const, 'soft' as const, 'enforce' as const);
export const priority = fc.constantFrom(...PRIORITIES);
const shadow: fc.Arbitrary<Shadow> = fc.record({
  mode,
  reason: fc.constantFrom<Reason[]>('BUDGET_EXHAUSTED', 'CAPACITY_HELD', 'RATE_LIMITED'),
  budget: path,
});

export const reservation = fc.record({
  id,
  budgetNo: fc.integer({ min: 1, max: 1_000_000 }),
  budget: path,
  also: fc.array(path, { maxLength: 3 }),
  unit: text,
  accounts,
  createMs: timeMs,
  priority,
  alternative: fc.oneof(fc.constant(''), text),
  shadow: fc.option(shadow, { nil: undefined }),
  price: optionalPrice,
  priced: fc.constant(undefined),
  queued: fc.constant(undefined),
  holder: text,
  actingFor: fc.constant(''),
  labels: fc.constant([]),
  figures,
});

// What is in a call only pricing knows: any plain data.
const callToPrice = fc.record({
  kind: fc.constant('call' as const),
  call: fc.dictionary(text, fc.oneof(text, fc.nat(), fc.boolean(), fc.array(text)), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
});

/** Waits under its entry, with that entry's place, actor and personal fields. */
export function waitingUnder(entry: Enqueued): fc.Arbitrary<Enqueued> {
  const { seq, actor, personal } = entry;
  const queued: fc.Arbitrary<Queued> = fc.record({
    seq: fc.constant(seq),
    untilMs: timeMs,
    minMicros: micros,
    ttlMs: fc.option(timeMs, { nil: undefined }),
    tokens: fc.oneof(fc.constant(0), fc.nat()),
    toolCalls: fc.oneof(fc.constant(0), fc.nat()),
    alternatives: fc.array(
      fc.record({ label: text, maxMicros: micros, call: callToPrice }, { requiredKeys: ['label', 'maxMicros'] }),
      { maxLength: 3 },
    ),
    call: fc.option(callToPrice, { nil: undefined }),
    key: fc.record({ digest, fingerprint: digest }),
    actor: fc.constant(actor),
    salt: fc.constant(personal?.salt),
    commitment: fc.constant(personal?.commitment),
    reason: fc.constantFrom<Reason[]>('CAPACITY_HELD', 'RATE_LIMITED', 'CONCURRENCY_LIMIT'),
    blockedBy: path,
    limit: text,
  });
  const { actingFor = '', labels: own = [] } = personal ?? {};
  return queued.map((each) => ({
    ...entry,
    reservation: { ...entry.reservation, actingFor, labels: own, queued: each },
  }));
}
