// The most that a model call can cost, before it is made: every candidate, tier, time of day and way to bill a token at its dearest.
// It is an upper bound of what settlement will compute for usage within what the call declares, or there is no estimate.
import { hourWriteRate, inUnit, SUM_PER_MICRO, writeRate } from './cost.ts';
import { larger } from './exact.ts';
import { type ModelCall, type ModelName, modelCallProblems, type ServerTool } from './model-call.ts';
import type { PriceBook } from './price-book.ts';
import type { PinnedAlias, PricePins } from './price-pins.ts';
import type { FieldProblem, HashedPriceRow } from './price-row.ts';
import { isReachable, type PriceSet, SET_FLAWS } from './price-set.ts';
import { multiplierBound } from './service-tier.ts';
import type { HashedUnitRow } from './unit-row.ts';
import { TOKENS_MAX } from './whole.ts';

/** What the service adds to what the caller says. */
export interface EstimateOptions {
  /** Unit of the tree; "USD" needs no unit row. */
  readonly unit: string;
  /** Output tokens of a choice where the call names no maximum; OUTPUT_TOKENS_DEFAULT unless configured. */
  readonly outputTokensDefault: number;
}

/** The configured default of outputTokensMax, until an operator says otherwise. */
export const OUTPUT_TOKENS_DEFAULT = 4_096;

/** Tokens that a provider's framing of messages may add to the bytes of a request. */
export const FRAMING_TOKENS = 256n;

/** More of them where the request defines tools: a hidden prompt of up to 530 tokens was published, newer ones are unknown. */
export const TOOL_FRAMING_TOKENS = 1_024n;

const ALL_FRAMING_TOKENS = FRAMING_TOKENS + TOOL_FRAMING_TOKENS;

/** A price: the most that the call can cost, and what it was computed from. */
export interface CallPrice {
  /** Micro-units of the tree's unit, rounded up once. 0 for models that are free or a seat. */
  readonly maxMicros: bigint;
  readonly pins: PricePins;
  /** Input tokens that maxMicros pays for, media and framing included; at most TOKENS_MAX, as is the output of all choices. */
  readonly inputTokensMax: bigint;
  /** Output tokens of each choice that maxMicros pays for: what the caller must send as the maximum. */
  readonly outputTokensMax: number;
  /** Whether the call named no maximum, so that outputTokensMax is the configured default. */
  readonly outputIsDefault: boolean;
  readonly choices: number;
}

/** Words for why a candidate has no price. */
export const UNPRICED_WHYS = [
  'no_row',
  ...SET_FLAWS,
  'no_output_rate',
  'no_audio_rate',
  'no_search_fee',
  'service_tier',
] as const;

/**
 * Why a candidate has no price. `no_row`: no row counts for it now. `no_output_rate`, `no_audio_rate`, `no_search_fee`: its rows
 * don't price what the call declares. `service_tier`: what its tier or place of inference costs is not known. The others say what
 * is wrong with its rows.
 */
export type UnpricedWhy = (typeof UNPRICED_WHYS)[number];

/** What PRICE_UNKNOWN is about: the first candidate without a price and how many more there are; or the unit of the tree. */
export type UnknownPrice =
  | (ModelName & { readonly why: UnpricedWhy; readonly moreCount: number; readonly unit?: never })
  | { readonly unit: string };

/** What an estimate comes to: a price, PRICE_UNKNOWN, or INVALID_FIELD. */
export type Estimate =
  | { readonly price: CallPrice; readonly unknown?: never; readonly problems?: never }
  | { readonly price?: never; readonly unknown: UnknownPrice; readonly problems?: never }
  | { readonly price?: never; readonly unknown?: never; readonly problems: readonly FieldProblem[] };

/** What the call may use. */
interface Bounds {
  readonly textTokens: bigint;
  readonly audioTokens: bigint;
  /** Both. */
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
  readonly webSearches: bigint;
  readonly fileSearches: bigint;
}

/** The dearest of everything so far; rates times their multiplier. */
interface Dearest {
  input: bigint;
  audioInput: bigint;
  output: bigint;
  request: bigint;
  webSearch: bigint;
  fileSearch: bigint;
}

/** Prices a call at an instant. The same answer for the same book, call, instant and options. */
export function priceCall(book: PriceBook, call: ModelCall, atMs: number, options: EstimateOptions): Estimate {
  const problems = modelCallProblems(call);
  return problems.length > 0 ? { problems } : priceCheckedCall(book, call, atMs, options);
}

/** The same for a call that modelCallProblems has found nothing wrong with: a call is checked once and may be priced often. */
export function priceCheckedCall(book: PriceBook, call: ModelCall, atMs: number, options: EstimateOptions): Estimate {
  const bounds = boundsOf(call, options);
  const tooMany = countProblem(bounds);
  if (tooMany !== undefined) return { problems: [tooMany] };
  const dearest: Dearest = { input: 0n, audioInput: 0n, output: 0n, request: 0n, webSearch: 0n, fileSearch: 0n };
  const sets: PriceSet[] = [];
  let aliases: PinnedAlias[] | undefined;
  let unpriced: (ModelName & { readonly why: UnpricedWhy }) | undefined;
  let unpricedCount = 0;
  for (const { provider, model } of call.candidates) {
    const set = book.priceSet(provider, model, atMs);
    const why = set === undefined ? 'no_row' : (set.flaw ?? raise(dearest, set, call, bounds));
    if (why !== undefined) {
      unpriced ??= { provider, model, why };
      unpricedCount += 1;
    } else if (set !== undefined) {
      if (!sets.includes(set)) sets.push(set);
      if (set.model !== model || set.provider !== provider) {
        aliases ??= [];
        aliases.push({ provider, model, target: { provider: set.provider, model: set.model } });
      }
    }
  }
  if (unpriced !== undefined) return { unknown: { ...unpriced, moreCount: unpricedCount - 1 } };
  const unitRow = options.unit === 'USD' ? undefined : book.unitRow(options.unit, atMs);
  if (options.unit !== 'USD' && unitRow === undefined) return { unknown: { unit: options.unit } };
  const cost = inUnit(sumOf(dearest, bounds), SUM_PER_MICRO, unitRow);
  if (cost.problem !== undefined) {
    return { problems: [{ field: 'call', text: 'may cost more than an amount can hold' }] };
  }
  return {
    price: {
      maxMicros: cost.micros,
      pins: plainPinsOf(call, sets, aliases, unitRow) ?? pinsOf(call, sets, aliases, unitRow),
      inputTokensMax: bounds.inputTokens,
      outputTokensMax: call.outputTokensMax ?? options.outputTokensDefault,
      outputIsDefault: call.outputTokensMax === undefined,
      choices: call.choices ?? 1,
    },
  };
}

const NONE: readonly never[] = [];

function boundsOf(call: ModelCall, options: EstimateOptions): Bounds {
  const { media = NONE, serverTools = NONE } = call;
  const outputTokensMax = BigInt(call.outputTokensMax ?? options.outputTokensDefault);
  let textTokens = statedTokens(call, serverTools.length > 0);
  let audioTokens = 0n;
  for (const { kind, inputTokensMax = 0 } of media) {
    if (kind === 'audio') audioTokens += BigInt(inputTokensMax);
    else textTokens += BigInt(inputTokensMax);
  }
  for (const { inputTokensMax = 0 } of serverTools) textTokens += BigInt(inputTokensMax);
  return {
    textTokens,
    audioTokens,
    inputTokens: audioTokens === 0n ? textTokens : textTokens + audioTokens,
    outputTokens: call.choices === undefined ? outputTokensMax : outputTokensMax * BigInt(call.choices),
    webSearches: searchesOf(call, 'web_search'),
    fileSearches: searchesOf(call, 'file_search'),
  };
}

function statedTokens({ inputTokens, requestBytes = 0, hasTools }: ModelCall, hasServerTools: boolean): bigint {
  if (inputTokens !== undefined) return BigInt(inputTokens);
  return BigInt(requestBytes) + (hasTools === true || hasServerTools ? ALL_FRAMING_TOKENS : FRAMING_TOKENS);
}

function searchesOf({ serverTools = [] }: ModelCall, kind: ServerTool['kind']): bigint {
  let count = 0n;
  for (const tool of serverTools) if (tool.kind === kind) count += BigInt(tool.usesMax ?? 0);
  return count;
}

/** What is wrong with the sums of a call, each of whose counts is a whole number; undefined if nothing is. */
function countProblem(bounds: Bounds): FieldProblem | undefined {
  const { inputTokens, outputTokens, webSearches, fileSearches } = bounds;
  if (inputTokens > TOKENS_MAX) return { field: 'call', text: `declares more than ${TOKENS_MAX} tokens of input` };
  if (outputTokens > TOKENS_MAX) return { field: 'call', text: `may give more than ${TOKENS_MAX} tokens of output` };
  if (webSearches <= TOKENS_MAX && fileSearches <= TOKENS_MAX) return undefined;
  return { field: 'call', text: `declares more than ${TOKENS_MAX} searches` };
}

/** Raises what is dearest by every row of a set that the call can reach; why not, where one has no price for it. */
function raise(dearest: Dearest, set: PriceSet, call: ModelCall, bounds: Bounds): UnpricedWhy | undefined {
  const { inputTokens } = bounds;
  const multiplier = multiplierBound(set, call.serviceTier, call.inferenceGeo, inputTokens);
  for (const tier of set.tiers) {
    if (!isReachable(tier.aboveInputTokens, inputTokens)) break;
    for (const row of tier.rows) {
      const why = raiseByRow(dearest, row, call, bounds, multiplier);
      if (why !== undefined) return why;
    }
  }
  return undefined;
}

function raiseByRow(
  dearest: Dearest,
  row: HashedPriceRow,
  call: ModelCall,
  bounds: Bounds,
  multiplier: bigint | undefined,
): UnpricedWhy | undefined {
  // Nothing multiplied is nothing, whatever tier is asked for.
  if (row.mark !== 'priced') return undefined;
  if (multiplier === undefined) return 'service_tier';
  const { rates, fees } = row;
  if (bounds.outputTokens > 0n && rates.output === undefined) return 'no_output_rate';
  if (bounds.audioTokens > 0n && rates.audioInput === undefined) return 'no_audio_rate';
  if (call.audioOutput === true && rates.audioOutput === undefined) return 'no_audio_rate';
  if (bounds.webSearches > 0n && fees.webSearch === undefined) return 'no_search_fee';
  if (bounds.fileSearches > 0n && fees.fileSearch === undefined) return 'no_search_fee';
  const input = inputBound(row, call.cacheTtl);
  dearest.input = larger(dearest.input, input * multiplier);
  if (bounds.audioTokens > 0n) {
    const audio = larger(rates.audioInput ?? 0n, rates.audioCacheRead ?? 0n);
    dearest.audioInput = larger(dearest.audioInput, larger(audio, input) * multiplier);
  }
  const output = call.audioOutput === true ? larger(rates.output ?? 0n, rates.audioOutput ?? 0n) : (rates.output ?? 0n);
  dearest.output = larger(dearest.output, output * multiplier);
  dearest.request = larger(dearest.request, fees.request ?? 0n);
  dearest.webSearch = larger(dearest.webSearch, fees.webSearch ?? 0n);
  dearest.fileSearch = larger(dearest.fileSearch, fees.fileSearch ?? 0n);
  return undefined;
}

/**
 * The most that a token of text input can cost. Caches that live for another time than five minutes cost twice the input or more where
 * writes are billed.
 */
function inputBound(row: HashedPriceRow, cacheTtl: string | undefined): bigint {
  const { rates } = row;
  const bound = larger(larger(rates.input, rates.cacheRead ?? 0n), writeRate(row) ?? 0n);
  const hour = hourWriteRate(row);
  if (cacheTtl === undefined || cacheTtl === '5m' || hour === undefined) return bound;
  return larger(bound, larger(2n * rates.input, hour));
}

function sumOf(dearest: Dearest, bounds: Bounds): bigint {
  const { request, webSearch, fileSearch } = dearest;
  let sum = bounds.textTokens * dearest.input + bounds.outputTokens * dearest.output;
  // Each product is a number of its own in memory, and most calls have none of these.
  if (bounds.audioTokens > 0n) sum += bounds.audioTokens * dearest.audioInput;
  if (request > 0n) sum += request * SUM_PER_MICRO;
  if (webSearch > 0n) sum += bounds.webSearches * webSearch * SUM_PER_MICRO;
  if (fileSearch > 0n) sum += bounds.fileSearches * fileSearch * SUM_PER_MICRO;
  return sum;
}

// Most calls are of one model and say nothing more: their reservations share one object, of which there are many in memory.
const plainPins = new WeakMap<PriceSet, PricePins>();

function plainPinsOf(
  call: ModelCall,
  sets: readonly PriceSet[],
  aliases: readonly PinnedAlias[] | undefined,
  unitRow: HashedUnitRow | undefined,
): PricePins | undefined {
  const set = sets[0];
  if (set === undefined || sets.length > 1 || aliases !== undefined || unitRow !== undefined) return undefined;
  if ((call.serviceTier ?? call.inferenceGeo ?? call.cacheTtl ?? call.serverTools) !== undefined) return undefined;
  const known = plainPins.get(set);
  if (known !== undefined) return known;
  const pins = { rowHashes: set.hashes };
  plainPins.set(set, pins);
  return pins;
}

function pinsOf(
  call: ModelCall,
  sets: readonly PriceSet[],
  aliases: readonly PinnedAlias[] | undefined,
  unitRow: HashedUnitRow | undefined,
): PricePins {
  const searches = (['web_search', 'file_search'] as const).filter((kind) => searchesOf(call, kind) > 0n);
  return {
    rowHashes: [...new Set(sets.flatMap(({ hashes }) => hashes))],
    ...(aliases === undefined ? {} : { aliases }),
    ...(unitRow === undefined ? {} : { unitRowHash: unitRow.hash }),
    ...(call.serviceTier === undefined ? {} : { serviceTier: call.serviceTier }),
    ...(call.inferenceGeo === undefined ? {} : { inferenceGeo: call.inferenceGeo }),
    ...(call.cacheTtl === undefined ? {} : { cacheTtl: call.cacheTtl }),
    ...(searches.length === 0 ? {} : { searches }),
  };
}
