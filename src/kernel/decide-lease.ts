// Renew and Expire: the two ends of a lease. A lapse is recorded, never decided: whether a hold has lapsed follows from
// the time alone (DESIGN, promise 4).
import type { ReservationAnswer } from './answer.ts';
import { effectsOf, reservationCharge } from './charge.ts';
import type { Expire, Renew, Renewal } from './command.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse } from './decision.ts';
import { binds } from './enforcement.ts';
import type { Entry, Lapse, LeaseMove, RefusedRenewal } from './entry.ts';
import { headroomAfter, tightest } from './headroom.ts';
import { isJournaled, type Refusal } from './refusal.ts';
import { leaseLengthRefusal, leaseMs, renewalCountRefusal } from './refuse-shape.ts';
import { endedRefusal, leaseRefusal, reservationNotFound, suspendedRefusal } from './refuse-state.ts';
import type { Reservation, ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';
import { reservationWeight } from './weight.ts';

/**
 * Decides a Renew: new expire_time = max(current, now + ttl). A lowered limit doesn't stop it. A lease that was refused by a
 * decision is written down whether it came alone or among others.
 */
export function decideRenew(state: TreeState, command: Renew, context: DecideContext): Decision {
  const single = command.renewals.length === 1 ? (command.renewals[0] as Renewal) : undefined;
  const results: (ReservationAnswer | Refusal)[] = [];
  const latest = new Map<string, LeaseMove>();
  const refused: RefusedRenewal[] = [];
  for (const renewal of command.renewals) {
    const result = renewOne(state, renewal, context, latest.get(renewal.id)?.figures);
    results.push(result);
    if (result.kind === 'refusal') {
      if (isJournaled(result)) refused.push({ id: renewal.id, reason: result.reason, budget: result.budget ?? '' });
    } else if (moves(state, result.reservation)) {
      latest.set(renewal.id, { id: renewal.id, figures: result.reservation.figures, headroom: result.headroom });
    }
  }
  const only = single === undefined ? undefined : results[0];
  if (single !== undefined && only?.kind === 'refusal') {
    return refuse(state, command, context, only, { id: single.id, budget: only.budget ?? '' });
  }
  const answer = { kind: 'renewals', results } as const;
  const moved = [...latest.values()];
  if (moved.length === 0 && refused.length === 0 && command.key === undefined) return answerOnly(answer);
  // A key is remembered even where nothing moved: the repeat gets this answer, not a later one.
  const recorded = moved.length === 0 && only?.kind === 'reservation' ? [unmoved(only)] : moved;
  const entry: Entry = { ...entryBase(state, command, context), type: 'Renewed', moves: recorded, refused };
  return { answer, entries: [entry] };
}

function unmoved(answer: ReservationAnswer): LeaseMove {
  return { id: answer.reservation.id, figures: answer.reservation.figures, headroom: answer.headroom };
}

function renewOne(
  state: TreeState,
  renewal: Renewal,
  context: DecideContext,
  earlier: ReservationFigures | undefined,
): ReservationAnswer | Refusal {
  const found = state.reservation(renewal.id);
  if (found === undefined) return reservationNotFound(state, renewal.id);
  const reservation = earlier === undefined ? found : { ...found, figures: earlier };
  const charge = reservationCharge(state, reservation, context.calendar);
  const { figures: before } = reservation;
  const ttlMs = leaseMs(charge.budgets, renewal.ttlMs);
  const expireMs = Math.max(before.expireMs, context.nowMs + ttlMs);
  const moved = expireMs > before.expireMs;
  const judging = charge.budgets.filter(binds);
  const refusal =
    leaseRefusal(state, reservation, context.nowMs) ??
    endedRefusal(state, reservation) ??
    suspendedRefusal(charge.budgets) ??
    leaseLengthRefusal(judging, renewal.ttlMs) ??
    (moved ? renewalCountRefusal(judging, reservation) : undefined);
  if (refusal !== undefined) return refusal;
  const figures: ReservationFigures = {
    ...before,
    expireMs,
    reclaimMs: moved ? expireMs + context.graceMs : before.reclaimMs,
    ttlMs: moved ? ttlMs : before.ttlMs,
    renewalCount: before.renewalCount + (moved ? 1 : 0),
    started: true,
  };
  return {
    kind: 'reservation',
    treeId: state.treeId,
    reservation: { ...reservation, figures },
    headroom: headroomAfter(charge, context.nowMs, tightest(charge, context.nowMs), 0n),
    replayed: false,
    dryRun: false,
  };
}

function moves(state: TreeState, renewed: Reservation): boolean {
  const before = state.reservation(renewed.id)?.figures;
  return before?.expireMs !== renewed.figures.expireMs || !before.started;
}

/** Records holds that have lapsed at `context.nowMs`, oldest first. */
export function decideExpire(state: TreeState, command: Expire, context: DecideContext): Decision {
  const all = state.due(context.nowMs, command.countMax + 1);
  const due = pageOf(all, command.countMax);
  const more = due.length < all.length;
  if (due.length === 0) return answerOnly({ kind: 'expired', count: 0, more: false });
  const entry: Entry = {
    ...entryBase(state, command, context),
    type: 'Expired',
    lapses: due.map((reservation) => lapseOf(state, reservation, context)),
  };
  return { answer: { kind: 'expired', count: due.length, more }, entries: [entry] };
}

// A lapse that moves thousands of accounts takes as long as many that move a few.
function pageOf(due: readonly Reservation[], weightMax: number): readonly Reservation[] {
  let weight = 0;
  const end = due.findIndex((reservation, at) => {
    weight += reservationWeight(reservation);
    return at > 0 && weight > weightMax;
  });
  return end === -1 ? due : due.slice(0, end);
}

function lapseOf(state: TreeState, reservation: Reservation, context: DecideContext): Lapse {
  const { figures: before } = reservation;
  const policy = state.mustBudget(reservation.budgetNo).def.onExpiry;
  const charged = policy === 'charge' || (policy === 'charge_started' && before.started);
  const heldMicros = before.heldMicros;
  const chargedMicros = charged ? heldMicros : 0n;
  return {
    id: reservation.id,
    charged,
    figures: {
      ...before,
      state: 'EXPIRED',
      heldMicros: 0n,
      settledMicros: before.settledMicros + chargedMicros,
      releasedMicros: before.releasedMicros + heldMicros - chargedMicros,
      estimatedMicros: chargedMicros,
      estimated: charged,
      lapsedHeldMicros: heldMicros,
      endMs: before.reclaimMs,
    },
    // As of the lapse, whenever it is written down.
    effects: effectsOf(
      reservationCharge(state, reservation, context.calendar),
      { heldMicros: -heldMicros, settledMicros: chargedMicros, overrunMicros: 0n, active: -1 },
      before.reclaimMs,
    ),
  };
}
