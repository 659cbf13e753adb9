// Amounts as people write and read them. Exact in both directions: digits and bigint only, never a floating-point
// number. Stands alone because a misread amount is the worst mistake that a command line can make.
import { MICROS_MAX } from '../../kernel/money.ts';
import { UsageError } from './usage-error.ts';

/** Digits after the point: one unit is 1,000,000 micro-units. */
const FRACTION_DIGITS = 6;
const MICROS_PER_UNIT = 1_000_000n;

/** An amount as typed. */
export interface Amount {
  readonly micros: bigint;
  /** The unit that was typed, to be checked against the tree's; undefined where none was. */
  readonly unit: string | undefined;
}

/**
 * Reads `0.25 USD`, `0.25` (in the tree's own unit), `250000micros` or `250000u`. The range is 0 to int64.
 * Throws UsageError for anything else: signs, exponents, thousands separators, more than 6 decimals.
 */
export function parseAmount(text: string): Amount {
  return parseAmountOr(text, 'write 0.25, "0.25 USD" or 250000micros');
}

/** The same where another text is to be written than for an amount of a tree, or something else is meant; `advice` says which text. */
export function parseAmountOr(text: string, advice: string, what = 'an amount'): Amount {
  const match = /^([0-9]+)(?:\.([0-9]+))?\s*([A-Za-z]+)?$/.exec(text.trim());
  if (match === null) throw new UsageError(`"${text}" is not ${what}: ${advice}`);
  const [, whole = '0', fraction, suffix] = match;
  const isMicros = suffix === 'micros' || suffix === 'u';
  if (isMicros && fraction !== undefined) throw new UsageError(`"${text}": micro-units are whole numbers`);
  if (fraction !== undefined && fraction.length > FRACTION_DIGITS) {
    throw new UsageError(`"${text}" has more than ${FRACTION_DIGITS} decimals: nothing below a micro-unit exists`);
  }
  const micros = isMicros
    ? BigInt(whole)
    : BigInt(whole) * MICROS_PER_UNIT + BigInt((fraction ?? '').padEnd(FRACTION_DIGITS, '0'));
  if (micros > MICROS_MAX)
    throw new UsageError(`"${text}" is more than ${formatMicros(MICROS_MAX)} (int64 micro-units)`);
  return { micros, unit: isMicros ? undefined : suffix };
}

/** What stands for a number of digits elsewhere. A tree may count in one all the same, but nobody means that without saying so. */
const MULTIPLIER = /^(?:[kmgb]|bn|mn|mio)$/i;

/** Whether what was typed behind a number is most likely no unit: 25k. */
export function isMultiplier(unit: string): boolean {
  return MULTIPLIER.test(unit);
}

/** What is wrong with an amount whose unit is not that of its tree. */
export function unitDifference({ micros, unit = '' }: Amount, treeUnit: string): string {
  return isMultiplier(unit)
    ? `"${formatMicros(micros)}${unit}" is not an amount: write all its digits, as in 25000 or "25000 USD"`
    : `this tree counts in ${treeUnit}, not in ${unit}`;
}

/** Micro-units as a decimal in whole units, without trailing zeros: 250000n is `0.25`. Parsing it gives it back. */
export function formatMicros(micros: bigint): string {
  const magnitude = micros < 0n ? -micros : micros;
  const whole = magnitude / MICROS_PER_UNIT;
  const fraction = (magnitude % MICROS_PER_UNIT).toString().padStart(FRACTION_DIGITS, '0').replace(/0+$/, '');
  return `${micros < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** `0.25 USD`; without the unit where it is not known. */
export function formatAmount(micros: bigint, unit: string): string {
  return unit === '' ? formatMicros(micros) : `${formatMicros(micros)} ${unit}`;
}
