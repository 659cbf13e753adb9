// Amounts: int64 micro-units as bigint. Stands alone because every room computes with them and none may round.

/** Largest amount that int64 holds. A sum that would pass it is refused, never wrapped. */
export const MICROS_MAX = 9_223_372_036_854_775_807n;

/** The smaller of two amounts. */
export function minMicros(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** The amount, or 0 where it is negative. */
export function atLeastZero(amountMicros: bigint): bigint {
  return amountMicros < 0n ? 0n : amountMicros;
}
