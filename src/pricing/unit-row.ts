// What another unit is worth in dollars, from an instant on: rows like prices, never changed, pinned by hash. Trees that count
// in INR or credits are priced through them, inside the one rounding of the whole sum.
import type { FieldProblem } from './price-row.ts';
import { isText, isWhole } from './whole.ts';

/** `unitMicros` micro-units of `unit` are worth `usdMicros` micro-dollars: a fraction, so that no rate is ever rounded. */
export interface UnitRow {
  /** The unit of a tree, as the tree writes it; not "USD", which needs none. */
  readonly unit: string;
  /** First instant at which it counts, ms since 1970; until a newer row of the same unit. */
  readonly effectiveFromMs: number;
  /** 1 to UNIT_PART_MAX. */
  readonly unitMicros: bigint;
  /** 1 to UNIT_PART_MAX. */
  readonly usdMicros: bigint;
  /** Where the worth was read, 1 to 500 characters. */
  readonly source: string;
  /** Who added it, 1 to 200 characters. Not part of the hash. */
  readonly addedBy: string;
  /** When it was added, ms since 1970. Not part of the hash. */
  readonly addedMs: number;
}

/** A unit row with the hash of its text, by which reservations pin it. */
export interface HashedUnitRow extends UnitRow {
  readonly hash: string;
}

/** Largest side of the fraction: with nine digits beyond a million units it holds any published rate. */
export const UNIT_PART_MAX = 1_000_000_000_000_000_000n;

/** The text whose hash names a unit row. */
export function unitRowText(row: UnitRow): string {
  const { unit, effectiveFromMs, unitMicros, usdMicros, source } = row;
  return JSON.stringify(['unit-row-1', unit, effectiveFromMs, unitMicros.toString(), usdMicros.toString(), source]);
}

/** The row with its hash; `hashOf` as for price rows. */
export function hashUnitRow(row: UnitRow, hashOf: (text: string) => string): HashedUnitRow {
  return { ...row, hash: hashOf(unitRowText(row)) };
}

/** Everything that is wrong with a unit row; none if it may be added. */
export function unitRowProblems(row: UnitRow): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (!isText(row.unit, 64) || row.unit === 'USD') {
    problems.push({ field: 'unit', text: 'must be 1 to 64 characters and not USD' });
  }
  if (!isWhole(row.effectiveFromMs)) problems.push({ field: 'effectiveFromMs', text: 'must be a time from 1970 on' });
  for (const name of ['unitMicros', 'usdMicros'] as const) {
    if (row[name] < 1n || row[name] > UNIT_PART_MAX) {
      problems.push({ field: name, text: `must be 1 to ${UNIT_PART_MAX}` });
    }
  }
  if (!isText(row.source, 500)) problems.push({ field: 'source', text: 'must be 1 to 500 characters' });
  if (!isText(row.addedBy, 200)) problems.push({ field: 'addedBy', text: 'must be 1 to 200 characters' });
  if (!isWhole(row.addedMs)) problems.push({ field: 'addedMs', text: 'must be a time from 1970 on' });
  return problems;
}
