// Refusals that come from what exists and how it stands, before any money is looked at.
import type { BudgetState } from './budget.ts';
import { type BudgetPath, publicReservationId, type ReservationId } from './names.ts';
import type { FieldProblem, Refusal } from './refusal.ts';
import type { Reservation } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

export function budgetNotFound(budget: BudgetPath): Refusal {
  return { kind: 'refusal', reason: 'BUDGET_NOT_FOUND', message: `no budget ${budget}`, budget };
}

export function reservationNotFound(state: TreeState, id: ReservationId): Refusal {
  const reservationId = publicReservationId(state.treeId, id);
  return {
    kind: 'refusal',
    reason: 'RESERVATION_NOT_FOUND',
    message: `no reservation ${reservationId}`,
    reservationId,
  };
}

export function invalidFields(fields: readonly FieldProblem[]): Refusal {
  const message = fields.map(({ field, description }) => `${field}: ${description}`).join('; ');
  return { kind: 'refusal', reason: 'INVALID_FIELD', message, fields };
}

/** The suspended budget nearest the root, as a refusal. */
export function suspendedRefusal(chain: readonly BudgetState[]): Refusal | undefined {
  const suspended = chain.find(({ def }) => def.suspended);
  if (suspended === undefined) return undefined;
  const budget = suspended.def.path;
  return { kind: 'refusal', reason: 'BUDGET_SUSPENDED', message: `budget ${budget} is suspended`, budget };
}

/** The closed budget nearest the root, as a refusal. */
export function closedRefusal(chain: readonly BudgetState[]): Refusal | undefined {
  const closed = chain.find(({ def }) => def.closed);
  if (closed === undefined) return undefined;
  const budget = closed.def.path;
  return { kind: 'refusal', reason: 'BUDGET_CLOSED', message: `budget ${budget} is closed`, budget };
}

const ENDED_REASONS = {
  QUEUED: 'NOT_ACTIVE',
  SETTLED: 'RESERVATION_SETTLED',
  RELEASED: 'RESERVATION_RELEASED',
  EXPIRED: 'RESERVATION_EXPIRED',
} as const;

/** The `release_reason` of a grant that the coordinator gave back since nobody was there to take it. */
export const UNTAKEN_REASON = 'nobody waited for the grant any more';

/** The refusal that names the state of a reservation that has ended, or waits; undefined while it is ACTIVE. */
export function endedRefusal(state: TreeState, reservation: Reservation): Refusal | undefined {
  const { state: now, releaseReason } = reservation.figures;
  if (now === 'ACTIVE') return undefined;
  const reservationId = publicReservationId(state.treeId, reservation.id);
  // Whoever repeats the call has never seen it.
  const why = now === 'RELEASED' && releaseReason === UNTAKEN_REASON ? `: ${UNTAKEN_REASON}; ask with another key` : '';
  return {
    kind: 'refusal',
    reason: ENDED_REASONS[now],
    message: `reservation ${reservationId} is ${now.toLowerCase()}${why}`,
    budget: reservation.budget,
    reservationId,
  };
}

/** LEASE_EXPIRED from expire_time on, also after the lapse; undefined while the lease runs or where it ended otherwise. */
export function leaseRefusal(state: TreeState, reservation: Reservation, nowMs: number): Refusal | undefined {
  const { figures } = reservation;
  const lapsed = figures.state === 'EXPIRED' || (figures.state === 'ACTIVE' && nowMs >= figures.expireMs);
  if (!lapsed) return undefined;
  const reservationId = publicReservationId(state.treeId, reservation.id);
  return {
    kind: 'refusal',
    reason: 'LEASE_EXPIRED',
    message: `the lease of ${reservationId} has run out`,
    budget: reservation.budget,
    reservationId,
  };
}
