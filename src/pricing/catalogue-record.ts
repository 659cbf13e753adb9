// One price record of the catalogue to rates by tier: every key is known and every number a whole one in our unit, or the record
// is refused whole. A record of which one key is left out would price that part of a call at nothing.
import { decimalOf, scaledTo } from './exact.ts';
import type { Fees, Rates } from './price-row.ts';
import { isFields } from './usage/report.ts';
import { isWhole } from './whole.ts';

/** Rates of one tier. */
export interface TierRates {
  readonly aboveInputTokens: number;
  readonly rates: Rates;
  readonly fees: Fees;
  /** Whether a number had more digits than our unit holds and went up. */
  readonly isRounded: boolean;
}

/** Why a record gives no rows. */
export type RecordFault = 'empty_record' | 'no_input_rate' | 'unsupported_keys' | 'invalid_rate';

/** Tiers from 0 on, or why there are none, with the keys that it is about. */
export type RecordResult =
  | { readonly tiers: readonly TierRates[]; readonly fault?: never }
  | { readonly tiers?: never; readonly fault: RecordFault; readonly keys: readonly string[] };

/** Keys in dollars per million tokens. */
const RATE_KEYS: ReadonlyMap<string, keyof Rates> = new Map([
  ['input_mtok', 'input'],
  ['output_mtok', 'output'],
  ['cache_read_mtok', 'cacheRead'],
  ['cache_write_mtok', 'cacheWrite5m'],
  ['cache_write_1h_mtok', 'cacheWrite1h'],
  ['input_audio_mtok', 'audioInput'],
  ['cache_audio_read_mtok', 'audioCacheRead'],
  ['output_audio_mtok', 'audioOutput'],
]);

/** Keys in dollars per thousand uses. */
const FEE_KEYS: ReadonlyMap<string, keyof Fees> = new Map([
  ['requests_kcount', 'request'],
  ['web_searches_kcount', 'webSearch'],
  ['storage_searches_kcount', 'fileSearch'],
]);

/** Places from dollars to micro-dollars, and from dollars per thousand to micro-dollars per one. */
const RATE_PLACES = 6;
const FEE_PLACES = 3;

/** One key's price by tier: that of the last start below the input. */
interface KeyPrice {
  readonly key: string;
  readonly base: unknown;
  readonly steps: readonly { readonly start: number; readonly price: unknown }[];
}

/** Reads a record. A tier's `start` is exclusive, and beyond it the whole request costs the tier's price. */
export function readRecord(record: unknown): RecordResult {
  if (!isFields(record)) return { fault: 'invalid_rate', keys: [] };
  const keys = Object.keys(record).filter((key) => record[key] !== undefined);
  if (keys.length === 0) return { fault: 'empty_record', keys };
  const unsupported = keys.filter((key) => !RATE_KEYS.has(key) && !FEE_KEYS.has(key));
  if (unsupported.length > 0) return { fault: 'unsupported_keys', keys: unsupported };
  if (!keys.includes('input_mtok')) return { fault: 'no_input_rate', keys };
  const prices: KeyPrice[] = [];
  for (const key of keys) {
    const price = keyPrice(key, record[key]);
    if (price === undefined) return { fault: 'invalid_rate', keys: [key] };
    prices.push(price);
  }
  const starts = new Set([0, ...prices.flatMap(({ steps }) => steps.map(({ start }) => start))]);
  const tiers: TierRates[] = [];
  for (const aboveInputTokens of [...starts].sort((a, b) => a - b)) {
    const tier = tierRates(prices, aboveInputTokens);
    if (typeof tier === 'string') return { fault: 'invalid_rate', keys: [tier] };
    tiers.push(tier);
  }
  return { tiers };
}

function keyPrice(key: string, value: unknown): KeyPrice | undefined {
  if (!isFields(value)) return { key, base: value, steps: [] };
  const { base, tiers } = value;
  if (!Array.isArray(tiers)) return undefined;
  const steps: { start: number; price: unknown }[] = [];
  for (const tier of tiers) {
    if (!isFields(tier) || !isWhole(tier['start'])) return undefined;
    steps.push({ start: tier['start'], price: tier['price'] });
  }
  return { key, base, steps: steps.sort((a, b) => a.start - b.start) };
}

/** The rates of one tier; the key whose number is none. */
function tierRates(prices: readonly KeyPrice[], aboveInputTokens: number): TierRates | string {
  const rates: { -readonly [Name in keyof Rates]: Rates[Name] } = { input: 0n };
  const fees: { -readonly [Name in keyof Fees]: Fees[Name] } = {};
  let isRounded = false;
  for (const { key, base, steps } of prices) {
    const decimal = decimalOf(steps.findLast(({ start }) => start <= aboveInputTokens)?.price ?? base);
    if (decimal === undefined) return key;
    const rate = RATE_KEYS.get(key);
    const { value, rounded } = scaledTo(decimal, rate === undefined ? FEE_PLACES : RATE_PLACES);
    isRounded ||= rounded;
    if (rate !== undefined) rates[rate] = value;
    const fee = FEE_KEYS.get(key);
    if (fee !== undefined) fees[fee] = value;
  }
  return { aboveInputTokens, rates, fees, isRounded };
}
