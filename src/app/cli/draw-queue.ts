// What waits, as a table for people: who comes next, what each waits for and how long still.
import type { Reservation } from '../../gen/budgetd/v1/reservation_pb.ts';
import { formatMicros } from './amount.ts';
import { priorityWord } from './enforcement.ts';
import { formatDistance } from './instant.ts';
import { type Cell, type Column, drawTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** Draws what waits, the one that comes first first; times are measured from `nowMs`, the coordinator's clock. */
export function drawQueue(reservations: readonly Reservation[], nowMs: number, terminal: Terminal): string {
  const columns: Column[] = [
    { title: 'NO', align: 'right' },
    { title: 'RESERVATION' },
    { title: 'BUDGET', shrinkTo: 12 },
    { title: 'PRIORITY' },
    { title: 'ASKED', align: 'amount' },
    { title: 'UNIT' },
    { title: 'WAITS FOR', shrinkTo: 12 },
    { title: 'HOLDER', shrinkTo: 8 },
    { title: 'SINCE' },
    { title: 'UNTIL' },
  ];
  const rows = reservations.map(({ waiting, ...reservation }): Cell[] => [
    String((waiting?.aheadCount ?? 0) + 1),
    reservation.reservationId,
    reservation.budget,
    priorityWord(reservation.priority),
    formatMicros(reservation.requestedMicros),
    reservation.unit,
    `${waiting?.budget ?? ''} ${waiting?.limit ?? ''}`.trim(),
    reservation.holder,
    formatDistance(waiting?.queueTime, nowMs),
    formatDistance(waiting?.waitUntil, nowMs),
  ]);
  return drawTable(columns, rows, terminal);
}
