// One row of the price book: what one model costs from an instant on, for prompts of a size and a time of day. Rows are never
// changed; a new price is a new row. Stands alone because the journal pins rows by the hash of their text, so the text and
// what makes a row valid must not depend on anything else.

import { isText, isTimeOfDay, isWhole } from './whole.ts';

/**
 * Rates in micro-dollars per million tokens, which is 10^-12 USD a token: all but seven rates of the catalogue are whole numbers
 * in it. Each is 0 to RATE_MAX. An absent rate means that the provider lists none, never that it is free.
 */
export interface Rates {
  /** Input that is neither read from nor written to a cache. */
  readonly input: bigint;
  /** Output, reasoning included. Absent on a model that gives none (embeddings): output of such a model has no price. */
  readonly output?: bigint;
  /** Input read from a cache. Absent: charged as input, since no catalogue lists reads above it. */
  readonly cacheRead?: bigint;
  /**
   * Input written to a cache that lives for five minutes, or whose life the provider does not price. One below the input rate comes on
   * top of it. Absent: writes have no price.
   */
  readonly cacheWrite5m?: bigint;
  /**
   * Input written to a cache that lives for an hour. One below the input rate comes on top of it. Absent where five minutes have a rate:
   * twice the input rate.
   */
  readonly cacheWrite1h?: bigint;
  /** Audio input. Absent: a call with audio has no price. */
  readonly audioInput?: bigint;
  /** Audio input read from a cache. Absent: charged as audio input. */
  readonly audioCacheRead?: bigint;
  /** Audio output. Absent: audio that comes back has no price. */
  readonly audioOutput?: bigint;
}

/** Fees in micro-dollars for one use, 0 to FEE_MAX; no service tier multiplies them. An absent fee is not listed. */
export interface Fees {
  /** For each request, whatever its size. Absent: none is charged. */
  readonly request?: bigint;
  /** For each web search that the provider runs for the model. Absent: searches have no price. */
  readonly webSearch?: bigint;
  /** For each search of stored files. Absent: searches have no price. */
  readonly fileSearch?: bigint;
}

/** A time of day in UTC, [startMs, endMs) in milliseconds since midnight; it goes past midnight where endMs <= startMs. */
export interface TimeBand {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * What a row's zeros mean. `priced`: at least one rate or fee is above 0, since zeros alone are how a gap in a catalogue looks.
 * `free`: somebody says that the model costs nothing. `seat`: paid by a flat rate elsewhere, so that a call adds nothing.
 */
export type PriceMark = 'priced' | 'free' | 'seat';

/** Who a row comes from: the operator's rows win over the catalogue's. */
export type PriceOrigin = 'operator' | 'catalogue';

/** `inherited`: listed for another provider that this one falls back to. `rounded`: a rate was no whole number and went up. */
export type RowFlag = 'inherited' | 'rounded';

/** One row. Its provider, model, origin, tier and band are its key; of rows of one key the newest that is in effect counts. */
export interface PriceRow {
  /** Provider id, `[a-z0-9][a-z0-9._-]{0,62}`, as the catalogue writes it: "openai", "aws". */
  readonly provider: string;
  /** Model id exactly as requests name it, 1 to 256 printable ASCII characters without spaces; case counts. */
  readonly model: string;
  /** First instant at which it counts, ms since 1970. */
  readonly effectiveFromMs: number;
  /** First instant at which it no longer counts, above effectiveFromMs; absent: until a newer row or a retirement. */
  readonly effectiveUntilMs?: number;
  /** The row is for requests with more input tokens than this, all their tokens included; 0 for the base tier. */
  readonly aboveInputTokens: number;
  /** The row is for this time of day only; absent: for all that no band of the same tier takes. */
  readonly band?: TimeBand;
  readonly rates: Rates;
  readonly fees: Fees;
  readonly mark: PriceMark;
  /** What rates and fees count in. Other units are reached by unit rows. */
  readonly unit: 'USD';
  /** Where the price was read: a catalogue with its version, a contract, a web address; 1 to 500 characters. */
  readonly source: string;
  /** Who added it, 1 to 200 characters. Not part of the hash. */
  readonly addedBy: string;
  /** When it was added, ms since 1970. Not part of the hash. */
  readonly addedMs: number;
  readonly origin: PriceOrigin;
  readonly flags: readonly RowFlag[];
}

/** A row with the hash of its text, by which reservations pin it. */
export interface HashedPriceRow extends PriceRow {
  readonly hash: string;
}

/** What is wrong with one field. */
export interface FieldProblem {
  /** Path of the field: "rates.input". */
  readonly field: string;
  /** What it must be, as the end of a sentence that begins with the field. */
  readonly text: string;
}

/** Largest rate: 10,000 USD per million tokens, sixteen times the highest that is listed. Above it the unit was mistaken. */
export const RATE_MAX = 10_000_000_000n;

/** Smallest rate above 0: 0.0001 USD per million tokens, a tenth of the lowest that is listed. Below it the unit was mistaken. */
export const RATE_MIN = 100n;

/** Largest fee: 100 USD for one use. */
export const FEE_MAX = 100_000_000n;

/** Names of the rates, in the order of the text. */
export const RATE_NAMES = [
  'input',
  'output',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'audioInput',
  'audioCacheRead',
  'audioOutput',
] as const satisfies readonly (keyof Rates)[];

/** Names of the fees, in the order of the text. */
export const FEE_NAMES = ['request', 'webSearch', 'fileSearch'] as const satisfies readonly (keyof Fees)[];

const PROVIDER = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const MODEL = /^[!-~]{1,256}$/;

/** Whether a text can be a provider id. */
export const isProviderId = (text: string): boolean => PROVIDER.test(text);

/** Whether a text can be a model id. */
export const isModelId = (text: string): boolean => MODEL.test(text);

/**
 * The text whose hash names a row: JSON with a fixed order and every field that says what the row means. Who added it and when
 * are left out, so that the same price from the same source is the same row however often it is added.
 */
export function priceRowText(row: PriceRow): string {
  return JSON.stringify([
    'price-row-1',
    row.origin,
    row.provider,
    row.model,
    row.effectiveFromMs,
    row.effectiveUntilMs ?? null,
    row.aboveInputTokens,
    row.band === undefined ? null : [row.band.startMs, row.band.endMs],
    RATE_NAMES.map((name) => row.rates[name]?.toString() ?? null),
    FEE_NAMES.map((name) => row.fees[name]?.toString() ?? null),
    row.mark,
    row.unit,
    row.source,
    [...row.flags].sort(),
  ]);
}

/** The row with its hash. `hashOf` must give the same for the same text, and nothing alike for others: SHA-256. */
export function hashPriceRow(row: PriceRow, hashOf: (text: string) => string): HashedPriceRow {
  return { ...row, hash: hashOf(priceRowText(row)) };
}

/** Everything that is wrong with a row; none if it may be added. */
export function priceRowProblems(row: PriceRow): readonly FieldProblem[] {
  return [...keyProblems(row), ...amountProblems(row), ...markProblems(row), ...textProblems(row)];
}

function keyProblems(row: PriceRow): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (!isProviderId(row.provider)) problems.push({ field: 'provider', text: 'must match [a-z0-9][a-z0-9._-]{0,62}' });
  if (!isModelId(row.model)) {
    problems.push({ field: 'model', text: 'must be 1 to 256 printable ASCII characters without spaces' });
  }
  if (!isWhole(row.effectiveFromMs)) problems.push({ field: 'effectiveFromMs', text: 'must be a time from 1970 on' });
  if (
    row.effectiveUntilMs !== undefined &&
    !(isWhole(row.effectiveUntilMs) && row.effectiveUntilMs > row.effectiveFromMs)
  ) {
    problems.push({ field: 'effectiveUntilMs', text: 'must be later than effectiveFromMs' });
  }
  if (!isWhole(row.aboveInputTokens)) {
    problems.push({ field: 'aboveInputTokens', text: 'must be a whole number from 0 on' });
  }
  const band = row.band;
  if (band !== undefined && !(isTimeOfDay(band.startMs) && isTimeOfDay(band.endMs) && band.startMs !== band.endMs)) {
    problems.push({ field: 'band', text: 'must be two different times of day, each 0 to 86399999 ms' });
  }
  return problems;
}

function amountProblems(row: PriceRow): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const name of RATE_NAMES) {
    const rate = row.rates[name];
    if (rate !== undefined && (rate < 0n || rate > RATE_MAX || (rate > 0n && rate < RATE_MIN))) {
      problems.push({
        field: `rates.${name}`,
        text: `must be 0 or ${RATE_MIN} to ${RATE_MAX} micros per million tokens`,
      });
    }
  }
  for (const name of FEE_NAMES) {
    const fee = row.fees[name];
    if (fee !== undefined && (fee < 0n || fee > FEE_MAX)) {
      problems.push({ field: `fees.${name}`, text: `must be 0 to ${FEE_MAX} micros` });
    }
  }
  return problems;
}

function markProblems(row: PriceRow): FieldProblem[] {
  const costs =
    RATE_NAMES.some((name) => (row.rates[name] ?? 0n) > 0n) || FEE_NAMES.some((name) => (row.fees[name] ?? 0n) > 0n);
  if (row.mark === 'priced') {
    return costs
      ? []
      : [{ field: 'mark', text: 'must be free or seat where every rate is 0: zeros alone are no price' }];
  }
  return costs ? [{ field: 'mark', text: `must be priced where a rate or fee is above 0, not ${row.mark}` }] : [];
}

function textProblems(row: PriceRow): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (!isText(row.source, 500)) problems.push({ field: 'source', text: 'must be 1 to 500 characters' });
  if (!isText(row.addedBy, 200)) problems.push({ field: 'addedBy', text: 'must be 1 to 200 characters' });
  if (!isWhole(row.addedMs)) problems.push({ field: 'addedMs', text: 'must be a time from 1970 on' });
  return problems;
}
