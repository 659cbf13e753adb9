// The arithmetic of costs against an oracle of its own: fractions in lowest terms, added term by term, rounded at the very end.
// Also that a cost never falls when a count grows.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { costAsReported, costByRow } from '../../src/pricing/cost.ts';
import { decimalOf, scaledTo } from '../../src/pricing/exact.ts';
import { FEE_MAX, type Fees, RATE_MAX, type Rates } from '../../src/pricing/price-row.ts';
import { MULTIPLIER_WHOLE } from '../../src/pricing/service-tier.ts';
import { UNIT_PART_MAX } from '../../src/pricing/unit-row.ts';
import type { Usage } from '../../src/pricing/usage/usage.ts';
import { priceRow, unitRow, usageOf } from '../support/price-rows.ts';

/** A fraction in lowest terms. */
class Fraction {
  readonly top: bigint;
  readonly bottom: bigint;

  constructor(top: bigint, bottom = 1n) {
    let [a, b] = [top, bottom];
    while (b !== 0n) [a, b] = [b, a % b];
    this.top = top / a;
    this.bottom = bottom / a;
  }

  plus(other: Fraction): Fraction {
    return new Fraction(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom);
  }

  times(other: Fraction): Fraction {
    return new Fraction(this.top * other.top, this.bottom * other.bottom);
  }

  /** The least whole number from it on, found by counting down from above. */
  up(): bigint {
    let whole = this.top / this.bottom + 2n;
    while ((whole - 1n) * this.bottom >= this.top) whole -= 1n;
    return whole;
  }
}

const rate = fc.oneof(fc.bigInt({ min: 100n, max: 1_000_000_000n }), fc.bigInt({ min: 100n, max: RATE_MAX }));
const count = fc.oneof(fc.bigInt({ min: 0n, max: 1_000n }), fc.bigInt({ min: 0n, max: 10_000_000n }));
const fee = fc.bigInt({ min: 0n, max: FEE_MAX });
const part = fc.oneof(fc.bigInt({ min: 1n, max: 1_000_000_000n }), fc.bigInt({ min: 1n, max: UNIT_PART_MAX }));

const rates = fc.record({
  input: rate,
  output: rate,
  cacheRead: rate,
  cacheWrite5m: rate,
  cacheWrite1h: rate,
  audioInput: rate,
  audioCacheRead: rate,
  audioOutput: rate,
}) satisfies fc.Arbitrary<Rates>;
const fees = fc.record({ request: fee, webSearch: fee, fileSearch: fee }) satisfies fc.Arbitrary<Fees>;
const COUNTS = [
  ['uncachedInput', 'input'],
  ['cacheRead', 'cacheRead'],
  ['cacheWrite5m', 'cacheWrite5m'],
  ['cacheWrite1h', 'cacheWrite1h'],
  ['audioInput', 'audioInput'],
  ['audioCacheRead', 'audioCacheRead'],
  ['output', 'output'],
  ['audioOutput', 'audioOutput'],
] as const satisfies readonly (readonly [keyof Usage, keyof Rates])[];
const usage = fc.record({
  uncachedInput: count,
  cacheRead: count,
  cacheWrite5m: count,
  cacheWrite1h: count,
  audioInput: count,
  audioCacheRead: count,
  output: count,
  audioOutput: count,
  webSearches: count,
  fileSearches: count,
});
const multiplier = fc.constantFrom(5_000n, MULTIPLIER_WHOLE, 11_000n, 18_000n, 20_000n, 66_000n, 132_000n);
const unit = fc.option(
  fc.record({ unitMicros: part, usdMicros: part }).map((worth) => unitRow(worth)),
  { nil: undefined },
);

it('is the exact sum, rounded up once', () => {
  fc.assert(
    fc.property(rates, fees, usage, multiplier, unit, (rowRates, rowFees, counts, times, row) => {
      let sum = new Fraction(0n);
      for (const [bucket, name] of COUNTS) {
        const listed = rowRates[name];
        const isStorage = bucket.startsWith('cacheWrite') && listed < rowRates.input;
        const perMillion = isStorage ? rowRates.input + listed : listed;
        const dollars = new Fraction(counts[bucket]).times(new Fraction(perMillion, 1_000_000n));
        sum = sum.plus(dollars.times(new Fraction(times, MULTIPLIER_WHOLE)));
      }
      sum = sum.plus(new Fraction(rowFees.request ?? 0n));
      sum = sum.plus(new Fraction(counts.webSearches * (rowFees.webSearch ?? 0n)));
      sum = sum.plus(new Fraction(counts.fileSearches * (rowFees.fileSearch ?? 0n)));
      if (row !== undefined) sum = sum.times(new Fraction(row.unitMicros, row.usdMicros));
      const expected = sum.up();
      const result = costByRow(priceRow({ rates: rowRates, fees: rowFees }), usageOf(counts), times, row);
      if (expected > 9_223_372_036_854_775_807n) expect(result.problem?.code).toBe('invalid_count');
      else expect(result).toEqual({ micros: expected });
    }),
    { numRuns: 5_000 },
  );
});

it('never falls when a count grows', () => {
  const names = [...COUNTS.map(([name]) => name), 'webSearches', 'fileSearches'] as const;
  const bucket = fc.constantFrom(...names);
  fc.assert(
    fc.property(
      rates,
      fees,
      usage,
      multiplier,
      unit,
      bucket,
      fc.bigInt({ min: 1n, max: 1_000n }),
      (rowRates, rowFees, counts, times, row, name, more) => {
        const priced = priceRow({ rates: rowRates, fees: rowFees });
        const before = costByRow(priced, usageOf(counts), times, row).micros;
        const grown = { ...counts, [name]: counts[name] + more };
        const after = costByRow(priced, usageOf(grown), times, row).micros;
        if (after !== undefined) expect(before !== undefined && after >= before).toBe(true);
      },
    ),
    { numRuns: 3_000 },
  );
});

it('never falls when input was written to a cache', () => {
  const bucket = fc.constantFrom('cacheWrite5m' as const, 'cacheWrite1h' as const);
  fc.assert(
    fc.property(rates, usage, multiplier, bucket, (rowRates, counts, times, name) => {
      const row = priceRow({ rates: rowRates });
      const written = { ...counts, uncachedInput: 0n, [name]: counts[name] + counts.uncachedInput };
      const costs = [counts, written].map(
        (each) =>
          costByRow(row, usageOf({ ...each, webSearches: 0n, fileSearches: 0n }), times, undefined).micros ?? 0n,
      );
      expect((costs[1] ?? 0n) >= (costs[0] ?? 0n)).toBe(true);
    }),
    { numRuns: 3_000 },
  );
});

it('reads a reported cost as the decimal that it was written as', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 999_999_999n }), fc.integer({ min: 0, max: 12 }), (digits, places) => {
      const text = digits.toString().padStart(places + 1, '0');
      const written = `${text.slice(0, text.length - places)}.${text.slice(text.length - places)}0`;
      const decimal = decimalOf(JSON.parse(written));
      if (decimal === undefined) throw new Error('no decimal');
      // The same fraction, and its ceiling in micros.
      expect(decimal.scaled * 10n ** BigInt(places)).toBe(digits * 10n ** BigInt(decimal.places));
      const exact = new Fraction(digits * 1_000_000n, 10n ** BigInt(places));
      expect(costAsReported(decimal, undefined)).toEqual({ micros: exact.up() });
      expect(scaledTo(decimal, 6)).toEqual({ value: exact.up(), rounded: exact.bottom !== 1n });
    }),
    { numRuns: 3_000 },
  );
});
