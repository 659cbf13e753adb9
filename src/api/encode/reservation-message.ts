// Reservations on the wire. Messages are written as plain literals: on the hot path that costs a tenth of building them
// by reflection, and the compiler still demands every field.
import type { Availability } from '../../gen/budgetd/v1/limit_pb.ts';
import {
  Outcome,
  type Reservation,
  ReservationState,
  type Shadow,
  type Waiting,
} from '../../gen/budgetd/v1/reservation_pb.ts';
import type { QueueStanding, ReservationAnswer } from '../../kernel/answer.ts';
import type { Labels } from '../../kernel/budget.ts';
import type { Headroom } from '../../kernel/entry.ts';
import { publicReservationId, type TreeId } from '../../kernel/names.ts';
import type {
  Outcome as KernelOutcome,
  Reservation as KernelReservation,
  Shadow as KernelShadow,
} from '../../kernel/reservation.ts';
import { pricedMessage, priceMessage } from './price-message.ts';
import { MODES, PRIORITIES } from './terms-message.ts';
import { timestampFromMs } from './time.ts';
import { waitingOf } from './waiting.ts';

/** Outcomes on the wire. */
export const OUTCOMES: Readonly<Record<KernelOutcome, Outcome>> = {
  succeeded: Outcome.SUCCEEDED,
  failed: Outcome.FAILED,
  cancelled: Outcome.CANCELLED,
};

/** Labels as a map field. */
export function labelsMap(labels: Labels): { [key: string]: string } {
  return labels.length === 0 ? {} : Object.fromEntries(labels);
}

/** A reservation. A dry run's has no id and no state. `standing`: how one that waits stands now. */
export function reservationMessage(
  treeId: TreeId,
  reservation: KernelReservation,
  dryRun: boolean,
  standing?: QueueStanding,
): Reservation {
  const { figures } = reservation;
  // Halfway through the lease as last set, so that a repeat of the same answer names the same instant.
  const renewAfterMs = figures.expireMs - Math.floor(figures.ttlMs / 2);
  return {
    $typeName: 'budgetd.v1.Reservation',
    reservationId: dryRun ? '' : publicReservationId(treeId, reservation.id),
    budget: reservation.budget,
    state: dryRun ? ReservationState.UNSPECIFIED : ReservationState[figures.state],
    requestedMicros: figures.requestedMicros,
    grantedMicros: figures.grantedMicros,
    heldMicros: figures.heldMicros,
    settledMicros: figures.settledMicros,
    releasedMicros: figures.releasedMicros,
    overrunMicros: figures.overrunMicros,
    createTime: timestampFromMs(reservation.createMs),
    // What was never granted has no lease.
    expireTime: reservation.queued === undefined ? timestampFromMs(figures.expireMs) : undefined,
    renewAfter: figures.state === 'ACTIVE' ? timestampFromMs(renewAfterMs) : undefined,
    endTime: figures.endMs === undefined ? undefined : timestampFromMs(figures.endMs),
    late: figures.late,
    estimated: figures.estimated,
    started: figures.started,
    holder: reservation.holder,
    actingFor: reservation.actingFor,
    labels: labelsMap(reservation.labels),
    outcome: figures.outcome === undefined ? Outcome.UNSPECIFIED : OUTCOMES[figures.outcome],
    releaseReason: figures.releaseReason,
    unit: reservation.unit,
    also: [...reservation.also],
    priority: PRIORITIES[reservation.priority],
    alternative: reservation.alternative,
    shadow: reservation.shadow && shadowMessage(reservation.shadow),
    waiting: waitingMessage(reservation, standing),
    price: reservation.price && priceMessage(reservation.price),
    priced: reservation.priced && pricedMessage(reservation.priced),
  };
}

function shadowMessage({ mode, reason, budget }: KernelShadow): Shadow {
  return { $typeName: 'budgetd.v1.Shadow', mode: MODES[mode], reason, budget };
}

function waitingMessage(reservation: KernelReservation, standing: QueueStanding | undefined): Waiting | undefined {
  const waiting = waitingOf(reservation, standing);
  if (waiting === undefined) return undefined;
  const { queueMs, untilMs, ...rest } = waiting;
  return {
    $typeName: 'budgetd.v1.Waiting',
    queueTime: timestampFromMs(queueMs),
    waitUntil: timestampFromMs(untilMs),
    ...rest,
  };
}

/** What is available, and which limit binds. */
export function availabilityMessage(headroom: Headroom, unit: string): Availability {
  return {
    $typeName: 'budgetd.v1.Availability',
    availableMicros: headroom.micros,
    budget: headroom.budget,
    limit: headroom.limit,
    unit,
  };
}

/** The two fields that every reply on one reservation has. */
export function reservationReply(answer: ReservationAnswer): {
  readonly reservation: Reservation;
  readonly availability: Availability;
} {
  const { treeId, reservation, headroom, dryRun, standing } = answer;
  return {
    reservation: reservationMessage(treeId, reservation, dryRun, standing),
    availability: availabilityMessage(headroom, reservation.unit),
  };
}
