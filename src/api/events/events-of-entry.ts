// What an entry of the journal tells: its events, always the same and in the same order, since a cursor counts them. The only
// place that knows which entries are changes that others are told of.
import { type Alert as AlertMessage, type Event, EventKind } from '../../gen/budgetd/v1/event_pb.ts';
import type { Alert, BudgetChange, Entry } from '../../kernel/entry.ts';
import type { BudgetPath, ReservationId, TreeId } from '../../kernel/names.ts';
import type { Reservation, ReservationFigures } from '../../kernel/reservation.ts';
import { definitionMessage } from '../encode/budget-message.ts';
import { reservationMessage } from '../encode/reservation-message.ts';
import { timestampFromMs } from '../encode/time.ts';

/** What an entry does not say itself. */
export interface EntrySurroundings {
  readonly treeId: TreeId;
  /** The reservation of an id that `reservationIdsOf` named, whatever its figures. */
  readonly reservationOf: (id: ReservationId) => Reservation;
  /** Unit of the tree. */
  readonly unit: string;
}

const BUDGET_KINDS: Readonly<Record<BudgetChange['type'], EventKind>> = {
  BudgetCreated: EventKind.BUDGET_CREATED,
  BudgetUpdated: EventKind.BUDGET_UPDATED,
  BudgetSuspended: EventKind.BUDGET_SUSPENDED,
  BudgetResumed: EventKind.BUDGET_RESUMED,
  BudgetClosed: EventKind.BUDGET_CLOSED,
  BudgetToppedUp: EventKind.BUDGET_TOPPED_UP,
};

const SINGLE_KINDS = {
  Extended: EventKind.RESERVATION_EXTENDED,
  Settled: EventKind.RESERVATION_SETTLED,
  Released: EventKind.RESERVATION_RELEASED,
} as const;

/** Reservations that an entry changes and does not describe. */
export function reservationIdsOf(entry: Entry): readonly ReservationId[] {
  switch (entry.type) {
    case 'Extended':
    case 'Settled':
    case 'Released':
      return [entry.id];
    case 'Renewed':
    case 'Graced':
      return entry.moves.map(({ id }) => id);
    case 'Expired':
      return entry.lapses.map(({ id }) => id);
    case 'LeftQueue':
      return entry.leaves.map(({ id }) => id);
    default:
      return [];
  }
}

/** The events of an entry, their cursors empty. A refusal changed nothing and tells nothing. */
export function eventsOf(entry: Entry, around: EntrySurroundings): Event[] {
  const changedEvent = (kind: EventKind, id: ReservationId, figures: ReservationFigures): Event =>
    reservationEvent(kind, entry, { ...around.reservationOf(id), ...pricesOf(entry), figures }, around);
  const changed = (kind: EventKind, changes: readonly { id: ReservationId; figures: ReservationFigures }[]): Event[] =>
    changes.map(({ id, figures }) => changedEvent(kind, id, figures));
  switch (entry.type) {
    case 'Granted': {
      const grant = reservationEvent(EventKind.RESERVATION_GRANTED, entry, entry.reservation, around);
      const warns = entry.reservation.shadow?.mode === 'warn';
      return warns ? [grant, reservationEvent(EventKind.WARNING, entry, entry.reservation, around)] : [grant];
    }
    case 'Extended':
    case 'Settled':
    case 'Released':
      return changed(SINGLE_KINDS[entry.type], [entry]);
    case 'Renewed':
    case 'Graced':
      return changed(EventKind.RESERVATION_RENEWED, entry.moves);
    case 'Expired':
      return changed(EventKind.RESERVATION_EXPIRED, entry.lapses);
    case 'Enqueued':
      return [reservationEvent(EventKind.RESERVATION_QUEUED, entry, entry.reservation, around)];
    case 'LeftQueue':
      return entry.leaves.map(({ id, figures, refusal }) => ({
        ...changedEvent(EventKind.RESERVATION_LEFT_QUEUE, id, figures),
        reason: refusal.reason,
      }));
    case 'Alerted':
      return entry.alerts.map((alert) => ({
        ...event(EventKind.ALERT, entry, alert.budget as BudgetPath, around.treeId),
        subject: { case: 'alert', value: alertMessage(alert, around.unit) },
      }));
    case 'Refused':
      return [];
    default:
      return [budgetEvent(entry, around.treeId)];
  }
}

// What the entry itself says of prices. What a reservation had before is not told again: who reads late would be told of later prices.
function pricesOf(entry: Entry): Pick<Reservation, 'price' | 'priced'> {
  return {
    price: entry.type === 'Extended' ? entry.price : undefined,
    priced: entry.type === 'Settled' ? entry.priced : undefined,
  };
}

function event(kind: EventKind, { seq, atMs, actor }: Entry, budget: BudgetPath, treeId: TreeId): Event {
  return {
    $typeName: 'budgetd.v1.Event',
    cursor: '',
    kind,
    tree: treeId,
    sequence: BigInt(seq),
    time: timestampFromMs(atMs),
    actor,
    budget,
    subject: { case: undefined },
    reason: '',
    addMicros: 0n,
  };
}

function reservationEvent(
  kind: EventKind,
  entry: Entry,
  reservation: Reservation,
  { treeId }: EntrySurroundings,
): Event {
  const impersonal = { ...reservation, actingFor: '', labels: [] };
  return {
    ...event(kind, entry, reservation.budget, treeId),
    subject: { case: 'reservation', value: reservationMessage(treeId, impersonal, false) },
  };
}

function budgetEvent(entry: BudgetChange, treeId: TreeId): Event {
  return {
    ...event(BUDGET_KINDS[entry.type], entry, entry.def.path, treeId),
    subject: { case: 'definition', value: definitionMessage(entry.def) },
    reason: entry.reason,
    addMicros: entry.addMicros ?? 0n,
  };
}

function alertMessage(alert: Alert, unit: string): AlertMessage {
  const { budget, limit, percent, usedMicros, amountMicros, periodMs, exhaustMs } = alert;
  return {
    $typeName: 'budgetd.v1.Alert',
    budget,
    limit,
    percent,
    usedMicros,
    amountMicros,
    periodStartTime: periodMs === 0 ? undefined : timestampFromMs(periodMs),
    exhaustTime: exhaustMs === undefined ? undefined : timestampFromMs(exhaustMs),
    unit,
  };
}
