// The money part of a refusal: which reason wins, which limit is named, whether waiting can help (DESIGN, section 5).
import type { LimitRoom } from './headroom.ts';
import { atLeastZero } from './money.ts';
import type { FailingLimit, Refusal } from './refusal.ts';

/** How long a caller should wait for holds to come back. They end when their work does, which nobody can foretell; one
 * second is short beside a model call and long beside a decision. */
const HELD_RETRY_MS = 1_000;

/** QuotaFailure names at most this many limits: 16 levels of a few limits would not fit into a status of 4 KB. */
const FAILING_COUNT_MAX = 16;

/**
 * Judges whether `minMicros` fits under every limit; undefined where it does.
 * `amountOf` is what a limit would leave if nothing were used: its amount.
 */
export function moneyRefusal(rooms: readonly LimitRoom[], minMicros: bigint): Refusal | undefined {
  const failing = rooms.filter((room) => atLeastZero(room.roomMicros) < minMicros);
  if (failing.length === 0) return undefined;
  const never = failing.filter((room) => room.limit.amountMicros < minMicros);
  if (never.length > 0) return exceedsLimit(never, failing, minMicros);
  const exhausted = failing.filter((room) => atLeastZero(room.unspentMicros) < minMicros);
  if (exhausted.length > 0) {
    const named = leastBy(exhausted, (room) => room.roomMicros);
    return refusalOf('BUDGET_EXHAUSTED', 'what is spent leaves less than is needed', named, failing, minMicros);
  }
  const named = leastBy(failing, (room) => room.roomMicros);
  return {
    ...refusalOf('CAPACITY_HELD', 'it would fit but for live holds', named, failing, minMicros),
    retryAfterMs: HELD_RETRY_MS,
  };
}

function exceedsLimit(never: readonly LimitRoom[], failing: readonly LimitRoom[], minMicros: bigint): Refusal {
  const named = leastBy(never, (room) => room.limit.amountMicros);
  return refusalOf('EXCEEDS_LIMIT', 'it can never fit: more than the whole amount', named, failing, minMicros);
}

/** The refusal of a sum that int64 cannot hold. */
export function overflowRefusal(budget: string, requestedMicros: bigint, roomMicros: bigint): Refusal {
  return {
    kind: 'refusal',
    reason: 'EXCEEDS_LIMIT',
    message: `the sums of ${budget} would pass the largest amount that can be counted`,
    budget,
    availableMicros: roomMicros,
    requestedMicros,
  };
}

function refusalOf(
  reason: Refusal['reason'],
  why: string,
  named: LimitRoom,
  failing: readonly LimitRoom[],
  requestedMicros: bigint,
): Refusal {
  const budget = named.budget.def.path;
  const availableMicros = atLeastZero(named.roomMicros);
  return {
    kind: 'refusal',
    reason,
    message: `limit ${named.limit.name} of ${budget}: ${why} (available ${availableMicros}, needed ${requestedMicros})`,
    budget,
    limit: named.limit.name,
    availableMicros,
    requestedMicros,
    failing: [...failing]
      .sort((a, b) => (a.roomMicros < b.roomMicros ? -1 : a.roomMicros > b.roomMicros ? 1 : 0))
      .slice(0, FAILING_COUNT_MAX)
      .map(failingLimit),
  };
}

function failingLimit(room: LimitRoom): FailingLimit {
  return {
    budget: room.budget.def.path,
    limit: room.limit.name,
    amountMicros: room.limit.amountMicros,
    availableMicros: atLeastZero(room.roomMicros),
  };
}

// Rooms come root first, so that the first of equals is the one nearest the root.
function leastBy(rooms: readonly LimitRoom[], size: (room: LimitRoom) => bigint): LimitRoom {
  return rooms.reduce((least, room) => (size(room) < size(least) ? room : least));
}
