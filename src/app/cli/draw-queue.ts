// What waits, as a table for people: what each asks for, what it waits for and why, since when and until when.
import type { Reservation } from '../../gen/budgetd/v1/reservation_pb.ts';
import { formatMicros } from './amount.ts';
import { priorityWord } from './enforcement.ts';
import { formatDistance } from './instant.ts';
import { type Cell, type Column, drawTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/**
 * Draws what waits, in the order given, with its place where the service told it: lists of reservations know none. Times are measured
 * from `nowMs`, the coordinator's clock.
 */
export function drawQueue(reservations: readonly Reservation[], nowMs: number, terminal: Terminal): string {
  const hasPlaces = reservations.some(({ waiting }) => waiting?.aheadCount !== undefined);
  const hasAlso = reservations.some(({ also }) => also.length > 0);
  const columns: Column[] = [
    ...(hasPlaces ? [{ title: 'NO', align: 'right' } as const] : []),
    { title: 'RESERVATION' },
    { title: 'BUDGET', shrinkTo: 12 },
    ...(hasAlso ? [{ title: 'ALSO', shrinkTo: 12 }] : []),
    { title: 'PRIORITY' },
    { title: 'ASKED', align: 'amount' },
    { title: 'AT LEAST', align: 'amount' },
    { title: 'UNIT' },
    { title: 'WAITS FOR', shrinkTo: 12 },
    { title: 'WHY', shrinkTo: 8 },
    { title: 'HOLDER', shrinkTo: 8 },
    { title: 'SINCE' },
    { title: 'UNTIL' },
  ];
  const rows = reservations.map(({ waiting, ...reservation }): Cell[] => [
    ...(hasPlaces ? [String((waiting?.aheadCount ?? 0) + 1)] : []),
    reservation.reservationId,
    reservation.budget,
    ...(hasAlso ? [reservation.also.join(' ')] : []),
    priorityWord(reservation.priority),
    formatMicros(reservation.requestedMicros),
    formatMicros(waiting?.minMicros ?? reservation.requestedMicros),
    reservation.unit,
    `${waiting?.budget ?? ''} ${waiting?.limit ?? ''}`.trim(),
    waiting?.reason ?? '',
    reservation.holder,
    formatDistance(waiting?.queueTime, nowMs),
    formatDistance(waiting?.waitUntil, nowMs),
  ]);
  return drawTable(columns, rows, terminal);
}
