// The exact cost of a call by one row: a sum of bucket x rate and fees, and one rounding, up, of the whole sum, the change of
// unit included. A bucket above 0 that the row has no rate for has no cost, rather than none.
import { MICROS_MAX } from '../kernel/money.ts';
import { ceilDiv, tenTo } from './exact.ts';
import type { HashedPriceRow } from './price-row.ts';
import { MULTIPLIER_WHOLE } from './service-tier.ts';
import type { UnitRow } from './unit-row.ts';
import type { ReportedCost, Usage, UsageProblem } from './usage/usage.ts';

/** Tokens that a rate is for. */
const RATE_TOKENS = 1_000_000n;

/** A micro-dollar in the unit that sums are kept in: token x rate x multiplier is a whole number of it. */
export const SUM_PER_MICRO = RATE_TOKENS * MULTIPLIER_WHOLE;

/** An amount of the tree's unit, or why there is none. */
export type CostResult =
  | { readonly micros: bigint; readonly problem?: never }
  | { readonly micros?: never; readonly problem: UsageProblem };

/**
 * What usage costs by a row, in micro-units of the tree's unit, rounded up once. `multiplier` is that of the service tier, in
 * parts of MULTIPLIER_WHOLE; it does not touch fees. A row that is free or a seat gives 0.
 */
export function costByRow(
  row: HashedPriceRow,
  usage: Usage,
  multiplier: bigint,
  unitRow: UnitRow | undefined,
): CostResult {
  if (row.mark !== 'priced') return { micros: 0n };
  const missing = missingRate(row, usage);
  if (missing !== undefined) return unpriced(missing);
  const tokens = tokenSum(row, usage) * multiplier;
  const { request = 0n, webSearch = 0n, fileSearch = 0n } = row.fees;
  const fees = plusEach(plusEach(request, usage.webSearches, webSearch), usage.fileSearches, fileSearch);
  return inUnit(plusEach(tokens, fees, SUM_PER_MICRO), SUM_PER_MICRO, unitRow);
}

/** What a provider says that a call cost, in micro-units of the tree's unit, rounded up once. */
export function costAsReported(cost: ReportedCost, unitRow: UnitRow | undefined): CostResult {
  return inUnit(cost.scaled * 1_000_000n, tenTo(cost.places), unitRow);
}

/**
 * The rate of writes for five minutes; undefined where none is listed. One below the input rate is what keeping a token costs, not
 * reading it, and comes on top: no token that went in costs less than input. Source: OpenRouter's rows of Gemini, whose write rates are
 * five minutes of Google's storage by the hour.
 */
export function writeRate({ rates }: HashedPriceRow): bigint | undefined {
  return rates.cacheWrite5m === undefined ? undefined : onTop(rates.cacheWrite5m, rates.input);
}

/** The same for an hour: twice the input rate where only five minutes are listed, as Anthropic prices them. */
export function hourWriteRate({ rates }: HashedPriceRow): bigint | undefined {
  if (rates.cacheWrite1h !== undefined) return onTop(rates.cacheWrite1h, rates.input);
  return rates.cacheWrite5m === undefined ? undefined : 2n * rates.input;
}

/** The rates of writes that a row states and that come on top of its input: a mistake where writing costs that much and no more. */
export function ratesOnTop({ rates }: Pick<HashedPriceRow, 'rates'>): readonly ('cacheWrite5m' | 'cacheWrite1h')[] {
  return WRITES.filter((name) => {
    const rate = rates[name];
    return rate !== undefined && rate > 0n && rate < rates.input;
  });
}

const WRITES = ['cacheWrite5m', 'cacheWrite1h'] as const;

const onTop = (write: bigint, input: bigint): bigint => (write < input ? input + write : write);

/** numerator / denominator micro-dollars in micro-units of a unit. */
export function inUnit(numerator: bigint, denominator: bigint, unitRow: UnitRow | undefined): CostResult {
  const micros =
    unitRow === undefined
      ? ceilDiv(numerator, denominator)
      : ceilDiv(numerator * unitRow.unitMicros, denominator * unitRow.usdMicros);
  if (micros <= MICROS_MAX) return { micros };
  return { problem: { code: 'invalid_count', field: 'usage', text: 'costs more than an amount can hold' } };
}

function tokenSum(row: HashedPriceRow, usage: Usage): bigint {
  const { rates } = row;
  let sum = usage.uncachedInput * rates.input;
  sum = plusEach(sum, usage.cacheRead, rates.cacheRead ?? rates.input);
  if (usage.cacheWrite5m !== 0n) sum += usage.cacheWrite5m * (writeRate(row) ?? 0n);
  if (usage.cacheWrite1h !== 0n) sum += usage.cacheWrite1h * (hourWriteRate(row) ?? 0n);
  sum = plusEach(sum, usage.audioInput, rates.audioInput ?? 0n);
  sum = plusEach(sum, usage.audioCacheRead, rates.audioCacheRead ?? rates.audioInput ?? 0n);
  sum = plusEach(sum, usage.output, rates.output ?? 0n);
  return plusEach(sum, usage.audioOutput, rates.audioOutput ?? 0n);
}

// A product is a number of its own in memory, and so is a sum; most counts and fees are 0.
function plusEach(sum: bigint, count: bigint, rate: bigint): bigint {
  return count === 0n ? sum : sum + count * rate;
}

/** The first bucket above 0 that the row has no rate or fee for. */
function missingRate(row: HashedPriceRow, usage: Usage): keyof Usage | undefined {
  const { rates, fees } = row;
  if (usage.cacheWrite5m > 0n && rates.cacheWrite5m === undefined) return 'cacheWrite5m';
  if (usage.cacheWrite1h > 0n && hourWriteRate(row) === undefined) return 'cacheWrite1h';
  if (usage.output > 0n && rates.output === undefined) return 'output';
  if (usage.audioInput > 0n && rates.audioInput === undefined) return 'audioInput';
  if (usage.audioCacheRead > 0n && rates.audioInput === undefined) return 'audioCacheRead';
  if (usage.audioOutput > 0n && rates.audioOutput === undefined) return 'audioOutput';
  if (usage.webSearches > 0n && fees.webSearch === undefined) return 'webSearches';
  return usage.fileSearches > 0n && fees.fileSearch === undefined ? 'fileSearches' : undefined;
}

const unpriced = (bucket: string): CostResult => ({
  problem: { code: 'unknown_price', field: bucket, text: 'has no rate in the row of the model' },
});
