// Why a Reserve or an Extend can't be granted, in the one order of reasons (DESIGN, section 5), and whether waiting can help:
// RetryInfo goes with a refusal only where everything that fails, whatever its reason, can recover by waiting.
import type { BudgetState } from './budget.ts';
import type { Charge } from './charge.ts';
import { type Behind, leftMicros, NOT_BEHIND } from './contention.ts';
import type { DecideContext } from './decision.ts';
import type { Priority } from './enforcement.ts';
import { limitRooms } from './headroom.ts';
import { atLeastZero } from './money.ts';
import type { Refusal } from './refusal.ts';
import {
  type Ask,
  failingRooms,
  HELD_RETRY_MS,
  moneyRefusal,
  neverFitsRefusal,
  overflowRefusal,
  recoveryMs,
} from './refuse-money.ts';
import {
  aboveBurstRefusal,
  concurrencyRefusal,
  fullBudgets,
  type RateRoom,
  rateFails,
  rateLimitedRefusal,
  slotWaitMs,
  waitMs,
} from './refuse-rate.ts';
import {
  depthRefusal,
  fanOutRefusal,
  largestRefusal,
  leaseLengthRefusal,
  rangesWaitMs,
  windowRefusal,
} from './refuse-shape.ts';
import type { RequestedCharge } from './requested-charge.ts';

/** Shape of a Reserve but for its time: its size, its lease, the budgets that it would make. */
export function reserveShapeRefusal(
  { budgets, made }: RequestedCharge,
  request: { readonly minMicros: bigint; readonly ttlMs: number | undefined },
): Refusal | undefined {
  return (
    largestRefusal(budgets, 0n, request.minMicros) ??
    leaseLengthRefusal(budgets, request.ttlMs) ??
    (made.length === 0 ? undefined : growthRefusal(budgets, made))
  );
}

function growthRefusal(budgets: readonly BudgetState[], made: RequestedCharge['made']): Refusal | undefined {
  // One that is made may itself bind nothing, and is not among the budgets that are asked then.
  for (const { path } of made) {
    const above = budgets.filter(({ def }) => path.startsWith(`${def.path}/`));
    const refusal = depthRefusal(above, path.split('/').length);
    if (refusal !== undefined) return refusal;
  }
  for (const parent of budgets) {
    const more = made.filter(({ parentNo }) => parentNo === parent.def.no).length;
    const refusal = more === 0 ? undefined : fanOutRefusal(parent, parent.openChildCount + more - 1);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** What a request asks of the limits, rates and slots of a charge. */
export interface Admission {
  readonly charge: Charge;
  /** The least that the limits admit; undefined where no limit applies. */
  readonly admittedMicros: bigint | undefined;
  readonly priority: Priority;
  readonly counterRoomMicros: bigint;
  readonly minMicros: bigint;
  /** Held by the reservation that asks for more; undefined for a Reserve. */
  readonly ownHeldMicros: bigint | undefined;
  readonly rates: readonly RateRoom[];
  /** Budgets whose slots and fixed ranges it has to pass: none for an Extend, which is in already. */
  readonly entering: readonly BudgetState[];
  /** Who waits and comes first: nobody for an Extend. */
  readonly behind: Behind;
}

/** What an admission asks of the limits. */
export function askOf(admission: Admission, context: DecideContext): Ask {
  const { minMicros, priority, ownHeldMicros, behind } = admission;
  const ask = { minMicros, priority, ownHeldMicros, nowMs: context.nowMs, calendar: context.calendar };
  return behind === NOT_BEHIND ? ask : { ...ask, leftMicros: (room) => leftMicros(behind, room) };
}

/** Fixed ranges, never fits, rates, concurrency, money; undefined where it fits. */
export function admissionRefusal(admission: Admission, context: DecideContext): Refusal | undefined {
  const { charge, admittedMicros, minMicros, rates, entering } = admission;
  const closed = windowRefusal(entering, context.nowMs);
  // Where the tightest limit has room all of them have: the usual case looks no further.
  const fits = admittedMicros === undefined || atLeastZero(admittedMicros) >= minMicros;
  const rateFailing = rates.length === 0 ? rates : rates.filter(rateFails);
  const full = fullBudgets(entering);
  const behind = behindRefusal(admission);
  if (closed === undefined && fits && rateFailing.length === 0 && full.length === 0 && behind === undefined)
    return overflow(admission);
  const ask = askOf(admission, context);
  const failing = fits ? [] : failingRooms(limitRooms(charge, context.nowMs), ask);
  const never = neverFitsRefusal(failing, ask) ?? aboveBurstRefusal(rates) ?? (fits ? overflow(admission) : undefined);
  if (never !== undefined) return closed ?? never;
  const refusal =
    closed ?? rateLimitedRefusal(rateFailing) ?? concurrencyRefusal(full) ?? moneyRefusal(failing, ask) ?? behind;
  const waits = [
    rangesWaitMs(entering, context.nowMs),
    ...rateFailing.map(waitMs),
    ...full.map(slotWaitMs),
    ...failing.map((room) => recoveryMs(room, ask)),
    ...(behind === undefined ? [] : [HELD_RETRY_MS]),
  ];
  const retried = refusal && withRetry(refusal, waits);
  // Whatever comes back, it is of no use once a range is over.
  const waitedMs = context.nowMs + (retried?.retryAfterMs ?? 0);
  return windowRefusal(entering, waitedMs) === undefined ? retried : refusal;
}

// Where somebody waits for a rate or a slot and comes first. Of a limit there is nothing then, and it says so itself.
function behindRefusal({ behind: { points } }: Admission): Refusal | undefined {
  const point = points.find(({ kind }) => kind === 'rate' || kind === 'slots');
  if (point === undefined) return undefined;
  const what = point.kind === 'rate' ? 'a rate' : 'a slot';
  const message = `somebody waits for ${what} of ${point.budget} who comes first`;
  return { kind: 'refusal', reason: 'CAPACITY_HELD', message, budget: point.budget };
}

/** A refusal with RetryInfo where every wait is known: until the last of them. */
export function withRetry(refusal: Refusal, waits: readonly (number | undefined)[]): Refusal {
  let longestMs = 0;
  for (const wait of waits) {
    if (wait === undefined) return refusal;
    longestMs = Math.max(longestMs, wait);
  }
  return { ...refusal, retryAfterMs: longestMs };
}

// A limit says more than the counters: where it fails, its reason is the one to give. Only where none does is a sum past
// int64 the reason.
function overflow({ charge, counterRoomMicros: room, minMicros }: Admission): Refusal | undefined {
  if (room >= minMicros) return undefined;
  const { def: root } = charge.budgets[0] as BudgetState;
  return overflowRefusal(root.path, root.unit, minMicros, room);
}
