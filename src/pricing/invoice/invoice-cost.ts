// What a line of an invoice costs: exact, however many decimals the provider writes, and rounded once where lines have been added
// up. Stands alone because costs below a micro-dollar are usual there, and rounding each would make the sum another one.
import { ceilDiv, floorDiv, tenTo } from '../exact.ts';
import { wholeOf } from '../whole.ts';

/** Decimals of a dollar that are kept: exports write up to some twenty. */
const PLACES = 30;
/** Micro-dollars have 6. */
const PLACES_PAST_MICROS = PLACES - 6;
const COST = /^(-?)(\d{1,12})(?:\.(\d{1,80}))?(?:[eE]([+-]?)(\d{1,5}))?$/;

/** An exact amount of dollars on an invoice, in units of 10^-30 USD. Negative for a credit. */
export type InvoiceCost = bigint;

/**
 * Reads a plain decimal, with an exponent or without: `12.34`, `-0.5`, `1.25E-7`. Undefined for all else: the sign of a currency,
 * thousands separators, a decimal comma, a trillion dollars or more, more than 30 decimals.
 */
export function invoiceCostOf(text: string): InvoiceCost | undefined {
  const match = COST.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponentSign, exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  // Zero is zero, whatever its exponent: decimal libraries write 0E-6176.
  if (digits === 0n) return 0n;
  const power = wholeOf(exponent) ?? 0;
  const shift = PLACES - fraction.length + (exponentSign === '-' ? -power : power);
  if (shift > PLACES + 12) return undefined;
  const cost = shift >= 0 ? digits * tenTo(shift) : unshifted(digits, -shift);
  if (cost === undefined || cost >= tenTo(PLACES + 12)) return undefined;
  return sign === '-' ? -cost : cost;
}

/** Micro-dollars of a sum of costs, rounded up once. */
export function microsOfCost(cost: InvoiceCost): bigint {
  const unit = tenTo(PLACES_PAST_MICROS);
  return cost >= 0n ? ceilDiv(cost, unit) : -floorDiv(-cost, unit);
}

// Zeros at the end are no decimals. Long texts were refused before, so that the power stays small.
function unshifted(digits: bigint, places: number): bigint | undefined {
  if (places > PLACES + 92) return undefined;
  const divisor = tenTo(places);
  const cost = floorDiv(digits, divisor);
  return cost * divisor === digits ? cost : undefined;
}
