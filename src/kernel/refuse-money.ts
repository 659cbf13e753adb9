// The money part of a refusal: which reason wins, which limit is named, whether waiting can help (DESIGN, section 5).
import { binds, leewayMicros, type Priority } from './enforcement.ts';
import {
  admissible,
  admissibleMicros,
  admissibleUnspentMicros,
  admissibleWholeMicros,
  type LimitRoom,
  leastBy,
} from './headroom.ts';
import { invariant } from './invariant.ts';
import { atLeastZero, minMicros as least } from './money.ts';
import type { FailingLimit, Refusal } from './refusal.ts';
import { rollingFreeMs } from './rolling-spend.ts';
import { sharedFreeMs } from './share-room.ts';
import type { Calendar, RollingRule } from './window.ts';

/** How long a caller should wait for holds to come back. They end when their work does, which nobody can foretell; one
 * second is short beside a model call and long beside a decision. */
export const HELD_RETRY_MS = 1_000;

/** QuotaFailure names at most this many limits: 16 levels of a few limits would not fit into a status of 4 KB. */
const FAILING_COUNT_MAX = 16;

/** What an amount is asked for with. */
export interface Ask {
  readonly minMicros: bigint;
  readonly priority: Priority;
  /**
   * What the reservation that asks for more holds itself, at every level; undefined for a Reserve. Waiting does not give that
   * back, and a window that turns does not help it: it stays in its own periods.
   */
  readonly ownHeldMicros: bigint | undefined;
  readonly nowMs: number;
  readonly calendar: Calendar;
  /** The most that is left of a limit by those who wait and come first. Default: all of it. */
  readonly leftMicros?: (room: LimitRoom) => bigint;
}

/** Limits that admit less than the least that is asked for, nearest the root first. */
export function failingRooms(rooms: readonly LimitRoom[], ask: Ask): LimitRoom[] {
  return rooms.filter((room) => availableTo(room, ask) < ask.minMicros);
}

/**
 * EXCEEDS_LIMIT where the least asked for is above a whole amount; undefined where it is not. It tells the largest amount that is
 * not: one that is above no whole amount does not fail here, so the least of those that do is the least of all.
 */
export function neverFitsRefusal(failing: readonly LimitRoom[], ask: Ask): Refusal | undefined {
  const whole = (room: LimitRoom): bigint => wholeMicros(room, ask.priority);
  const never = failing.filter((room) => whole(room) < ask.minMicros);
  if (never.length === 0) return undefined;
  const named = leastBy(never, whole);
  const largestMicros = atLeastZero(named === undefined ? 0n : whole(named));
  const why = `it can't fit as the budgets stand: at most ${largestMicros} can be granted`;
  return { ...refusalOf('EXCEEDS_LIMIT', why, named, failing, ask), largestMicros };
}

// One hold through two children with floors uses both: then more may be left than their floors leave of the whole amount. It counts
// where it is there: what is said holds as the budgets stand, and not for ever.
function wholeMicros(room: LimitRoom, priority: Priority): bigint {
  const whole = admissibleWholeMicros(room, priority);
  return room.uses === undefined ? whole : whole + atLeastZero(admissibleUnspentMicros(room, priority) - whole);
}

/** Exhausted before held; undefined where no limit fails. Without RetryInfo: see recoveryMs. */
export function moneyRefusal(failing: readonly LimitRoom[], ask: Ask): Refusal | undefined {
  if (failing.length === 0) return undefined;
  const { minMicros, priority, ownHeldMicros = 0n } = ask;
  const available = (room: LimitRoom): bigint => availableTo(room, ask);
  const exhausted = failing.filter((room) => atLeastZero(admissibleUnspentMicros(room, priority)) < minMicros);
  if (exhausted.length > 0) {
    const named = leastBy(exhausted, available);
    return refusalOf('BUDGET_EXHAUSTED', 'what is spent leaves less than is needed', named, failing, ask);
  }
  const named = leastBy(failing, available);
  const byItself = failing.some((room) => admissibleUnspentMicros(room, priority, ownHeldMicros) < minMicros);
  const why = byItself
    ? 'it would fit but for live holds, its own among them'
    : named !== undefined && admissibleMicros(named, priority) > available(named)
      ? 'somebody waits for it who comes first'
      : 'it would fit but for what is held or kept';
  return refusalOf('CAPACITY_HELD', why, named, failing, ask);
}

/** How long until waiting may have made room under a failing limit, in milliseconds; undefined: waiting does not help. */
export function recoveryMs(room: LimitRoom, ask: Ask): number | undefined {
  return isHeldBack(room, ask) ? HELD_RETRY_MS : timedRecoveryMs(room, ask);
}

// Holds alone, or who comes first, are in the way: what they end with nobody can foretell.
function isHeldBack(room: LimitRoom, { minMicros, priority, ownHeldMicros = 0n }: Ask): boolean {
  return admissibleUnspentMicros(room, priority, ownHeldMicros) >= minMicros;
}

/** The same where time alone makes the room: until a window turns or lets go of what was spent. Undefined where it does not. */
function timedRecoveryMs(room: LimitRoom, ask: Ask): number | undefined {
  if (isHeldBack(room, ask)) return undefined;
  const { minMicros, priority, nowMs, calendar } = ask;
  const window = room.budget.def.windows.find(({ no }) => no === room.limit.windowNo);
  const isNew = ask.ownHeldMicros === undefined;
  switch (window?.rule.kind) {
    case 'calendar':
      // What was topped up ends with the period.
      if (!isNew || admissibleWholeMicros(room, priority, room.limit.amountMicros) < minMicros) return undefined;
      return calendar.period(window.rule, nowMs).endMs - nowMs;
    case 'rolling': {
      const freeMs = rollingMs(room, { no: window.no, rule: window.rule }, ask);
      return freeMs === undefined ? undefined : Math.max(freeMs - nowMs, 1);
    }
    default:
      return undefined;
  }
}

function rollingMs(
  room: LimitRoom,
  window: { readonly no: number; readonly rule: RollingRule },
  { minMicros, priority, ownHeldMicros = 0n, nowMs }: Ask,
): number | undefined {
  const { budget, amountMicros, uses } = room;
  if (uses === undefined || !binds(budget)) {
    const left = amountMicros + leewayMicros(budget, priority) - ownHeldMicros - minMicros;
    return rollingFreeMs(budget.steps, window.no, window.rule, nowMs, left);
  }
  return sharedFreeMs(budget, window, uses, nowMs, (spentMicros, spentBy) => {
    const left = amountMicros - spentMicros - ownHeldMicros;
    const counting: typeof spentBy = (use) => spentBy(use) + (use.isOwn ? ownHeldMicros : 0n);
    return admissible(room, priority, left, amountMicros, counting) >= minMicros;
  });
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

/** A refusal that names one limit and lists all that fail, tightest first. */
export function refusalOf(
  reason: Refusal['reason'],
  why: string,
  named: LimitRoom | undefined,
  failing: readonly LimitRoom[],
  ask: Ask,
): Refusal {
  invariant(named !== undefined, 'a money refusal names a limit');
  const { path: budget, unit } = named.budget.def;
  const available = availableTo(named, ask);
  const requestedMicros = ask.minMicros;
  return {
    kind: 'refusal',
    reason,
    message: `limit ${named.limit.name} of ${budget}: ${why} (available ${available} of ${named.amountMicros}, needed ${requestedMicros})`,
    budget,
    limit: named.limit.name,
    unit,
    availableMicros: available,
    requestedMicros,
    failing: failing
      .map((room) => failingLimit(room, ask))
      .sort(byAvailable)
      .slice(0, FAILING_COUNT_MAX),
  };
}

/** What a limit has for a request. */
function availableTo(room: LimitRoom, ask: Ask): bigint {
  const micros = atLeastZero(admissibleMicros(room, ask.priority));
  return ask.leftMicros === undefined ? micros : least(micros, ask.leftMicros(room));
}

function failingLimit(room: LimitRoom, ask: Ask): FailingLimit {
  return {
    budget: room.budget.def.path,
    limit: room.limit.name,
    amountMicros: room.amountMicros,
    availableMicros: availableTo(room, ask),
  };
}

// Sorting is stable: of equals the one nearest the root stays first.
function byAvailable(a: FailingLimit, b: FailingLimit): number {
  if (a.availableMicros === b.availableMicros) return 0;
  return a.availableMicros < b.availableMicros ? -1 : 1;
}
