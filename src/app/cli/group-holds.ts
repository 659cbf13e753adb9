// Who holds what: live reservations added up by holder (or by budget, or by whom they are for). Pure; its own file
// because the sums, which never mix two units, are what `top` is about.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Reservation } from '../../gen/budgetd/v1/reservation_pb.ts';
import { formatMicros } from './amount.ts';
import { formatDurationMs } from './duration.ts';
import { type Cell, type Column, drawTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** What holds can be added up by: the word of `--by` and the field it reads. */
export const GROUPINGS = {
  holder: (reservation: Reservation): string => reservation.holder,
  budget: (reservation: Reservation): string => reservation.budget,
  'acting-for': (reservation: Reservation): string => reservation.actingFor,
} as const;

/** One of the words above. */
export type Grouping = keyof typeof GROUPINGS;

/** The live holds of one holder in one unit. */
export interface Holds {
  /** Empty where the reservations name none. */
  readonly name: string;
  readonly unit: string;
  readonly reservations: number;
  readonly heldMicros: bigint;
  readonly settledMicros: bigint;
  /** Start of the oldest of them. */
  readonly oldestMs: number;
  /** When the first of their leases ends. */
  readonly nextExpireMs: number;
}

/** Adds up; units in alphabetical order, within a unit the largest hold first. */
export function groupHolds(reservations: readonly Reservation[], by: Grouping): Holds[] {
  const groups = new Map<string, Holds>();
  for (const reservation of reservations) {
    const name = GROUPINGS[by](reservation);
    const key = JSON.stringify([name, reservation.unit]);
    const before = groups.get(key);
    const createMs = reservation.createTime === undefined ? 0 : timestampMs(reservation.createTime);
    const expireMs = reservation.expireTime === undefined ? 0 : timestampMs(reservation.expireTime);
    groups.set(key, {
      name,
      unit: reservation.unit,
      reservations: (before?.reservations ?? 0) + 1,
      heldMicros: (before?.heldMicros ?? 0n) + reservation.heldMicros,
      settledMicros: (before?.settledMicros ?? 0n) + reservation.settledMicros,
      oldestMs: Math.min(before?.oldestMs ?? createMs, createMs),
      nextExpireMs: Math.min(before?.nextExpireMs ?? expireMs, expireMs),
    });
  }
  return [...groups.values()].sort(
    (a, b) => compare(a.unit, b.unit) || compare(b.heldMicros, a.heldMicros) || compare(a.name, b.name),
  );
}

/** Draws the table of `top`; times are measured from `nowMs`, the coordinator's clock. */
export function drawHolders(holders: readonly Holds[], by: Grouping, nowMs: number, terminal: Terminal): string {
  const columns: Column[] = [
    { title: by.toUpperCase().replace('-', ' '), shrinkTo: 12 },
    { title: 'HOLDS', align: 'right' },
    { title: 'HELD', align: 'amount' },
    { title: 'SETTLED SO FAR', align: 'amount' },
    { title: 'UNIT' },
    { title: 'OLDEST', align: 'right' },
    { title: 'NEXT LEASE ENDS', align: 'right' },
  ];
  const rows = holders.map((holds): Cell[] => [
    holds.name === '' ? { text: '(not said)', tone: 'faint' } : holds.name,
    `${holds.reservations}`,
    formatMicros(holds.heldMicros),
    formatMicros(holds.settledMicros),
    holds.unit,
    formatDurationMs(Math.max(0, nowMs - holds.oldestMs)),
    `in ${formatDurationMs(Math.max(0, holds.nextExpireMs - nowMs))}`,
  ]);
  return drawTable(columns, rows, terminal);
}

/** The same for programs; amounts are strings. `truncated`: there are live reservations that were not read. */
export function holdersToJson(holders: readonly Holds[], by: Grouping, truncated: boolean): string {
  const rows = holders.map((holds) => ({
    name: holds.name,
    unit: holds.unit,
    reservations: holds.reservations,
    heldMicros: holds.heldMicros.toString(),
    settledMicros: holds.settledMicros.toString(),
    oldestCreateTime: new Date(holds.oldestMs).toISOString(),
    nextExpireTime: new Date(holds.nextExpireMs).toISOString(),
  }));
  return JSON.stringify({ by, holders: rows, truncated }, null, 2);
}

function compare<Value extends string | bigint>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
