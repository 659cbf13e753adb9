// Exact arithmetic: decimal texts to whole numbers, and the one division with its one rounding, up. The only place in pricing
// that divides, so that nothing can be rounded twice or down.
import { isFiniteFromZero } from './whole.ts';

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
  const places = fraction.length - exponentOf(exponent);
  return places >= 0 ? { scaled, places } : { scaled: scaled * tenTo(-places), places: 0 };
}

/** An exponent as String writes it: "-7", "+21". At most three digits, as of every double. */
function exponentOf(text: string): number {
  let value = 0;
  for (const digit of text.replace(/^[+-]/, '')) value = value * 10 + digit.charCodeAt(0) - ZERO;
  return text.startsWith('-') ? -value : value;
}

const ZERO = 48;

/** A decimal in units of 10^-`places`: exact, or rounded up where it has more places than that. */
export function scaledTo(decimal: Decimal, places: number): { readonly value: bigint; readonly rounded: boolean } {
  if (decimal.places <= places) return { value: decimal.scaled * tenTo(places - decimal.places), rounded: false };
  const divisor = tenTo(decimal.places - places);
  return { value: ceilDiv(decimal.scaled, divisor), rounded: decimal.scaled % divisor !== 0n };
}
