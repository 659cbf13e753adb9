// One event as one line for people: when, what, where, how much.
import { type Alert, type Event, EventKind } from '../../gen/budgetd/v1/event_pb.ts';
import type { Reservation } from '../../gen/budgetd/v1/reservation_pb.ts';
import { formatAmount } from './amount.ts';
import { formatInstant } from './instant.ts';
import { printable } from './printable-text.ts';
import type { Terminal, Tone } from './terminal.ts';

const WORDS: Readonly<Record<number, string>> = {
  [EventKind.RESERVATION_QUEUED]: 'queued',
  [EventKind.RESERVATION_LEFT_QUEUE]: 'left',
  [EventKind.RESERVATION_GRANTED]: 'granted',
  [EventKind.RESERVATION_EXTENDED]: 'extended',
  [EventKind.RESERVATION_RENEWED]: 'renewed',
  [EventKind.RESERVATION_SETTLED]: 'settled',
  [EventKind.RESERVATION_RELEASED]: 'released',
  [EventKind.RESERVATION_EXPIRED]: 'expired',
  [EventKind.BUDGET_CREATED]: 'created',
  [EventKind.BUDGET_UPDATED]: 'updated',
  [EventKind.BUDGET_SUSPENDED]: 'suspended',
  [EventKind.BUDGET_RESUMED]: 'resumed',
  [EventKind.BUDGET_CLOSED]: 'closed',
  [EventKind.BUDGET_TOPPED_UP]: 'topped up',
  [EventKind.ALERT]: 'ALERT',
  [EventKind.WARNING]: 'WARNING',
};

const TONES: Readonly<Record<number, Tone>> = {
  [EventKind.RESERVATION_SETTLED]: 'settled',
  [EventKind.RESERVATION_GRANTED]: 'held',
  [EventKind.ALERT]: 'warning',
  [EventKind.WARNING]: 'warning',
};

/** The longest word of a kind. */
const WORD_WIDTH = 9;

/** Draws an event. */
export function drawEvent(event: Event, terminal: Terminal): string {
  const word = (WORDS[event.kind] ?? `kind ${event.kind}`).padEnd(WORD_WIDTH);
  const parts = [
    terminal.paint('faint', formatInstant(event.time) ?? ''),
    terminal.paint(TONES[event.kind] ?? 'plain', word),
    printable(event.budget),
    printable(detailsOf(event)),
  ];
  return parts.filter((part) => part !== '').join('  ');
}

function detailsOf({ kind, subject, reason, addMicros }: Event): string {
  switch (subject.case) {
    case 'reservation':
      return reservationDetails(kind, subject.value, reason);
    case 'alert':
      return alertDetails(subject.value);
    case 'definition':
      if (kind === EventKind.BUDGET_TOPPED_UP) return `+${formatAmount(addMicros, subject.value.unit)}`;
      return reason;
    default:
      return '';
  }
}

function reservationDetails(kind: EventKind, reservation: Reservation, reason: string): string {
  const { shadow, unit, waiting } = reservation;
  if (kind === EventKind.WARNING) {
    return `${reservation.reservationId}: ${shadow?.reason ?? ''} by ${shadow?.budget ?? ''} if it were enforced`;
  }
  const ifAny = (name: string, micros: bigint): string[] =>
    micros > 0n ? [`${name} ${formatAmount(micros, unit)}`] : [];
  return [
    reservation.reservationId,
    ...(reservation.holder === '' ? [] : [`for ${reservation.holder}`]),
    ...(reservation.alternative === '' ? [] : [`as ${reservation.alternative}`]),
    ...(waiting === undefined ? [] : [`asks ${formatAmount(reservation.requestedMicros, unit)}`, waiting.reason]),
    ...(reason === '' ? [] : [reason]),
    ...ifAny('held', reservation.heldMicros),
    ...ifAny('settled', reservation.settledMicros),
    ...ifAny('released', reservation.releasedMicros),
    ...ifAny('overrun', reservation.overrunMicros),
    ...(reservation.late ? ['late'] : []),
    ...(reservation.estimated ? ['estimated'] : []),
  ].join(', ');
}

function alertDetails({ limit, percent, usedMicros, amountMicros, unit, exhaustTime }: Alert): string {
  const when = formatInstant(exhaustTime);
  const rest = when === undefined ? 'nothing is left' : `used up at ${when} if it goes on like this`;
  return `${limit} has reached ${percent}%: ${formatAmount(usedMicros, unit)} of ${formatAmount(amountMicros, unit)}, ${rest}`;
}
