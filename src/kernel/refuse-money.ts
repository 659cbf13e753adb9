// The money part of a refusal: which reason wins, which limit is named, whether waiting can help (DESIGN, section 5).
import { availableMicros, type LimitRoom, leastBy } from './headroom.ts';
import { invariant } from './invariant.ts';
import { atLeastZero } from './money.ts';
import type { FailingLimit, Refusal } from './refusal.ts';

/** How long a caller should wait for holds to come back. They end when their work does, which nobody can foretell; one
 * second is short beside a model call and long beside a decision. */
const HELD_RETRY_MS = 1_000;

/** QuotaFailure names at most this many limits: 16 levels of a few limits would not fit into a status of 4 KB. */
const FAILING_COUNT_MAX = 16;

/**
 * Judges whether `minMicros` fits under every limit; undefined where it does. `rooms`: every limit, root first. `ownHeldMicros`:
 * what the reservation that asks for more holds itself, at every level; 0 for a Reserve. Waiting does not give that back, so
 * where it is in the way there is no RetryInfo.
 */
export function moneyRefusal(
  rooms: readonly LimitRoom[],
  minMicros: bigint,
  ownHeldMicros: bigint,
): Refusal | undefined {
  const failing = rooms.filter((room) => availableMicros(room) < minMicros);
  if (failing.length === 0) return undefined;
  const never = failing.filter((room) => room.limit.amountMicros < minMicros);
  if (never.length > 0) {
    const named = leastBy(never, (room) => room.limit.amountMicros);
    return refusalOf('EXCEEDS_LIMIT', 'it can never fit: more than the whole amount', named, failing, minMicros);
  }
  const exhausted = failing.filter((room) => atLeastZero(room.unspentMicros) < minMicros);
  if (exhausted.length > 0) {
    const named = leastBy(exhausted, availableMicros);
    return refusalOf('BUDGET_EXHAUSTED', 'what is spent leaves less than is needed', named, failing, minMicros);
  }
  const named = leastBy(failing, availableMicros);
  if (failing.some((room) => room.unspentMicros - ownHeldMicros < minMicros)) {
    return refusalOf('CAPACITY_HELD', 'it would fit but for live holds, its own among them', named, failing, minMicros);
  }
  return {
    ...refusalOf('CAPACITY_HELD', 'it would fit but for live holds', named, failing, minMicros),
    retryAfterMs: HELD_RETRY_MS,
  };
}

/** The refusal of a sum of a budget that int64 cannot hold; `unit` is its tree's. */
export function overflowRefusal(budget: string, unit: string, requestedMicros: bigint, roomMicros: bigint): Refusal {
  return {
    kind: 'refusal',
    reason: 'EXCEEDS_LIMIT',
    message: `the sums of ${budget} would pass the largest amount that can be counted`,
    budget,
    unit,
    availableMicros: roomMicros,
    requestedMicros,
  };
}

function refusalOf(
  reason: Refusal['reason'],
  why: string,
  named: LimitRoom | undefined,
  failing: readonly LimitRoom[],
  requestedMicros: bigint,
): Refusal {
  invariant(named !== undefined, 'a money refusal names a limit');
  const { path: budget, unit } = named.budget.def;
  const available = availableMicros(named);
  return {
    kind: 'refusal',
    reason,
    message: `limit ${named.limit.name} of ${budget}: ${why} (available ${available}, needed ${requestedMicros})`,
    budget,
    limit: named.limit.name,
    unit,
    availableMicros: available,
    requestedMicros,
    failing: failing.map(failingLimit).sort(byAvailable).slice(0, FAILING_COUNT_MAX),
  };
}

function failingLimit(room: LimitRoom): FailingLimit {
  return {
    budget: room.budget.def.path,
    limit: room.limit.name,
    amountMicros: room.limit.amountMicros,
    availableMicros: availableMicros(room),
  };
}

// Sorting is stable: of equals the one nearest the root stays first.
function byAvailable(a: FailingLimit, b: FailingLimit): number {
  if (a.availableMicros === b.availableMicros) return 0;
  return a.availableMicros < b.availableMicros ? -1 : 1;
}
