// Extend: adds to a live hold. Judged against the reservation's own periods; takes no rate token and no place.
import { effectsOf, reservationCharge } from './charge.ts';
import type { Extend } from './command.ts';
import { NOT_BEHIND } from './contention.ts';
import { grantable } from './decide-reserve.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse, revisionsOf } from './decision.ts';
import { binds } from './enforcement.ts';
import type { Entry } from './entry.ts';
import { admitted, counterRoomMicros, headroomAfter, tightest } from './headroom.ts';
import { atLeastZero, minMicros as least, MICROS_MAX } from './money.ts';
import { mergedPrices } from './price.ts';
import type { Refusal } from './refusal.ts';
import { overflowRefusal } from './refuse-money.ts';
import { modelRefusal, pricedExtend } from './refuse-price.ts';
import { admissionRefusal } from './refuse-reserve.ts';
import { largestMicros, largestRefusal } from './refuse-shape.ts';
import { closedRefusal, endedRefusal, leaseRefusal, reservationNotFound, suspendedRefusal } from './refuse-state.ts';
import type { Reservation, ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

/** Decides an Extend: existence, the reservation's state, suspended, closed, shape, money. */
export function decideExtend(state: TreeState, asked: Extend, context: DecideContext): Decision {
  const reservation = state.reservation(asked.id);
  if (reservation === undefined) return answerOnly(reservationNotFound(state, asked.id));
  const { nowMs, calendar } = context;
  const charge = reservationCharge(state, reservation, calendar);
  const { budgets } = charge;
  const { figures: before } = reservation;
  const { command, price: added, unpriced } = pricedExtend(state, asked, reservation, context);
  const binding = tightest(charge, nowMs);
  const counterRoom = counterRoomMicros(charge, nowMs);
  const { priority } = reservation;
  const admittedMicros = admitted(charge, binding, priority, nowMs);
  const judging = budgets.filter(binds);
  const admission = {
    charge,
    admittedMicros,
    priority,
    counterRoomMicros: counterRoom,
    minMicros: command.minMicros,
    ownHeldMicros: before.heldMicros,
    rates: [],
    entering: [],
    behind: NOT_BEHIND,
  };
  const refusal =
    leaseRefusal(state, reservation, nowMs) ??
    endedRefusal(state, reservation) ??
    suspendedRefusal(budgets) ??
    closedRefusal(budgets) ??
    largestRefusal(judging, before.grantedMicros, command.minMicros) ??
    modelRefusal(judging, command.call, context) ??
    unpriced ??
    requestOverflow(reservation, command.addMicros) ??
    admissionRefusal(admission, context);
  if (refusal !== undefined) {
    return refuse(state, command, context, refusal, {
      budget: reservation.budget,
      id: command.id,
      maxMicros: command.addMicros,
      minMicros: command.minMicros,
      holder: reservation.holder,
      budgets,
    });
  }
  const largestLeft = atLeastZero(largestMicros(judging) - before.grantedMicros);
  const addedMicros = least(grantable(command.addMicros, admittedMicros, counterRoom), largestLeft);
  const figures: ReservationFigures = {
    ...before,
    requestedMicros: before.requestedMicros + command.addMicros,
    grantedMicros: before.grantedMicros + addedMicros,
    heldMicros: before.heldMicros + addedMicros,
    started: true,
  };
  const headroom = headroomAfter(charge, nowMs, binding, addedMicros);
  const price = added && mergedPrices(reservation.price, added);
  const movement = { heldMicros: addedMicros, settledMicros: 0n, overrunMicros: 0n, active: 0 };
  const entry: Entry = {
    ...entryBase(state, command, context),
    type: 'Extended',
    id: reservation.id,
    figures,
    addMicros: command.addMicros,
    minMicros: command.minMicros,
    price,
    revisions: revisionsOf(budgets),
    headroom,
    effects: effectsOf(charge, movement, nowMs),
  };
  const answer = {
    kind: 'reservation',
    treeId: state.treeId,
    reservation: { ...reservation, price: price ?? reservation.price, figures },
    headroom,
    replayed: false,
    dryRun: false,
  } as const;
  return { answer, entries: [entry] };
}

// What was requested in all is a sum too: with small minimums it may pass every counter by far.
function requestOverflow(reservation: Reservation, addMicros: bigint): Refusal | undefined {
  const roomMicros = MICROS_MAX - reservation.figures.requestedMicros;
  if (addMicros <= roomMicros) return undefined;
  return overflowRefusal(reservation.budget, reservation.unit, addMicros, roomMicros);
}
