// One reservation for people, and tables of many. Its own file because every command on reservations ends with it.
import type { Availability } from '../../gen/budgetd/v1/limit_pb.ts';
import { Outcome, type Reservation, ReservationState, type Waiting } from '../../gen/budgetd/v1/reservation_pb.ts';
import { formatAmount, formatMicros } from './amount.ts';
import { drawQueue } from './draw-queue.ts';
import { grantFacts } from './enforcement.ts';
import { drawFacts, type Fact, formatLabels } from './facts.ts';
import { formatDistance, formatInstant } from './instant.ts';
import { priceFacts } from './price-facts.ts';
import { formatAvailability } from './show-availability.ts';
import { type Cell, type Column, drawTable } from './table.ts';
import type { Terminal } from './terminal.ts';

const OUTCOME_WORDS: Readonly<Record<number, string>> = {
  [Outcome.SUCCEEDED]: 'succeeded',
  [Outcome.FAILED]: 'failed',
  [Outcome.CANCELLED]: 'cancelled',
};

/** States by their word, as `--state` takes them. */
export const STATE_WORDS = {
  active: ReservationState.ACTIVE,
  settled: ReservationState.SETTLED,
  released: ReservationState.RELEASED,
  expired: ReservationState.EXPIRED,
  queued: ReservationState.QUEUED,
} as const;

/** Draws one reservation and what is available beside it. */
export function drawReservation(
  reservation: Reservation,
  availability: Availability | undefined,
  terminal: Terminal,
): string {
  const amount = (micros: bigint): string => formatAmount(micros, reservation.unit);
  const ifAny = (micros: bigint, text: string): string | undefined => (micros > 0n ? amount(micros) + text : undefined);
  const isPartial = reservation.grantedMicros < reservation.requestedMicros;
  const isWaiting = reservation.waiting !== undefined;
  const asked = amount(reservation.requestedMicros);
  return drawFacts(
    [
      ['reservation', reservation.reservationId],
      ['budget', reservation.budget],
      ['also', reservation.also.join(' ')],
      ['state', stateOf(reservation)],
      ...(reservation.waiting === undefined ? [] : waitingFacts(reservation, reservation.waiting)),
      ['granted', isWaiting ? undefined : amount(reservation.grantedMicros) + (isPartial ? ` of ${asked} asked` : '')],
      ['held', isWaiting ? undefined : amount(reservation.heldMicros)],
      ['settled', ifAny(reservation.settledMicros, '')],
      ['released', ifAny(reservation.releasedMicros, '')],
      ['overrun', ifAny(reservation.overrunMicros, ' past the ceiling')],
      ...grantFacts(reservation),
      ...priceFacts(reservation),
      ['holder', reservation.holder],
      ['acting for', reservation.actingFor],
      ['labels', formatLabels(reservation.labels)],
      ['outcome', OUTCOME_WORDS[reservation.outcome]],
      ['reason', reservation.releaseReason],
      ['expires', reservation.endTime === undefined ? formatInstant(reservation.expireTime) : undefined],
      ['renew after', formatInstant(reservation.renewAfter)],
      ['ended', formatInstant(reservation.endTime)],
      ['available', formatAvailability(availability)],
    ],
    terminal,
  );
}

function waitingFacts({ requestedMicros, unit }: Reservation, waiting: Waiting): Fact[] {
  const at = waiting.limit === '' ? waiting.budget : `${waiting.budget} ${waiting.limit}`;
  return [
    ['asked', `${formatAmount(requestedMicros, unit)}${leastOf(requestedMicros, waiting.minMicros, unit)}`],
    ['waits for', `${at} (${waiting.reason})`],
    ['before it', waiting.aheadCount === undefined ? undefined : String(waiting.aheadCount)],
    ['since', formatInstant(waiting.queueTime)],
    ['until', formatInstant(waiting.waitUntil)],
  ];
}

function leastOf(requestedMicros: bigint, minMicros: bigint, unit: string): string {
  return minMicros < requestedMicros ? `, ${formatAmount(minMicros, unit)} at the least` : '';
}

/**
 * Draws reservations, those that wait in a table of their own below the others: of them there is something else to tell. Times are
 * measured from `nowMs`, the coordinator's clock.
 */
export function drawReservations(reservations: readonly Reservation[], nowMs: number, terminal: Terminal): string {
  const waiting = reservations.filter(({ state }) => state === ReservationState.QUEUED);
  const others = reservations.filter(({ state }) => state !== ReservationState.QUEUED);
  return [
    ...(others.length === 0 ? [] : [drawHolds(others, nowMs, terminal)]),
    ...(waiting.length === 0 ? [] : [drawQueue(waiting, nowMs, terminal)]),
  ].join('\n\n');
}

function drawHolds(reservations: readonly Reservation[], nowMs: number, terminal: Terminal): string {
  const hasOverrun = reservations.some((reservation) => reservation.overrunMicros > 0n);
  const hasAlso = reservations.some((reservation) => reservation.also.length > 0);
  const columns: Column[] = [
    { title: 'RESERVATION' },
    { title: 'BUDGET', shrinkTo: 12 },
    ...(hasAlso ? [{ title: 'ALSO', shrinkTo: 12 }] : []),
    { title: 'STATE' },
    { title: 'GRANTED', align: 'amount' },
    { title: 'HELD', align: 'amount' },
    { title: 'SETTLED', align: 'amount' },
    ...(hasOverrun ? [{ title: 'OVERRUN', align: 'amount' } as const] : []),
    { title: 'UNIT' },
    { title: 'HOLDER', shrinkTo: 8 },
    { title: 'LEASE ENDS' },
  ];
  const rows = reservations.map((reservation): Cell[] => [
    reservation.reservationId,
    reservation.budget,
    ...(hasAlso ? [reservation.also.join(' ')] : []),
    stateOf(reservation),
    formatMicros(reservation.grantedMicros),
    formatMicros(reservation.heldMicros),
    formatMicros(reservation.settledMicros),
    ...(hasOverrun ? [formatMicros(reservation.overrunMicros)] : []),
    reservation.unit,
    reservation.holder,
    reservation.endTime === undefined ? formatDistance(reservation.expireTime, nowMs) : '',
  ]);
  return drawTable(columns, rows, terminal);
}

function stateOf(reservation: Reservation): string {
  const word = Object.entries(STATE_WORDS).find(([, state]) => state === reservation.state)?.[0] ?? 'dry run';
  const marks = [reservation.late ? 'late' : '', reservation.estimated ? 'estimated' : ''].filter(
    (mark) => mark !== '',
  );
  return [word, ...marks].join(', ');
}
