// Exact arithmetic: decimal texts to whole numbers, and the one division with its one rounding, up. The only place in pricing
// that divides, so that nothing can be rounded twice or down.
import { isFiniteFromZero, wholeOf } from './whole.ts';

/** An exact decimal from 0 on: `scaled` / 10^`places`. */
export interface Decimal {
  readonly scaled: bigint;
  /** 0 or more; the last digit of `scaled` is not 0 where it is above 0. */
  readonly places: number;
}

/** The least whole number that is not below numerator / denominator, both from 0 on and the denominator above it. */
export function ceilDiv(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** The greatest whole number that is not above numerator / denominator, both from 0 on and the denominator above it. */
export function floorDiv(numerator: bigint, denominator: bigint): bigint {
  return numerator / denominator;
}

/** The larger of two whole numbers. */
export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** 10 to the power of `places`. */
export function tenTo(places: number): bigint {
  return 10n ** BigInt(places);
}

/**
 * The decimal that a number was written as: that of its shortest text, which is what a JSON file or a source said unless it
 * had more than 17 digits. Undefined for what is not a finite number from 0 on.
 */
export function decimalOf(value: unknown): Decimal | undefined {
  if (!isFiniteFromZero(value)) return undefined;
  const [mantissa = '', exponent = '0'] = value.toString().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const scaled = BigInt(whole + fraction);
  const power = wholeOf(exponent.replace(/^[+-]/, '')) ?? 0;
  const places = exponent.startsWith('-') ? fraction.length + power : fraction.length - power;
  return places >= 0 ? { scaled, places } : { scaled: scaled * tenTo(-places), places: 0 };
}

/** A decimal in units of 10^-`places`: exact, or rounded up where it has more places than that. */
export function scaledTo(decimal: Decimal, places: number): { readonly value: bigint; readonly rounded: boolean } {
  if (decimal.places <= places) return { value: decimal.scaled * tenTo(places - decimal.places), rounded: false };
  const divisor = tenTo(decimal.places - places);
  return { value: ceilDiv(decimal.scaled, divisor), rounded: decimal.scaled % divisor !== 0n };
}
