// The kernel's prices, by the price book of the moment. Decisions ask here and nowhere else, so that one batch is priced by one book.
import {
  type CallToPrice,
  type ModelRules,
  mergedPrices,
  type PricedUsage,
  type PriceRecord,
  type Pricing,
  type Unpriced,
  type UsageBuckets,
} from '../kernel/price.ts';
import { refuseModels } from '../pricing/allowed-models.ts';
import { priceCheckedCall, type UnknownPrice } from '../pricing/estimate.ts';
import type { ModelCall } from '../pricing/model-call.ts';
import { movedName, pinnedBook } from '../pricing/pinned-book.ts';
import type { PriceBook } from '../pricing/price-book.ts';
import { PINNED_ALIASES_MAX, PINNED_ROWS_MAX, type PricePins } from '../pricing/price-pins.ts';
import { priceUsage } from '../pricing/price-usage.ts';
import type { Usage, UsageProblem } from '../pricing/usage/usage.ts';
import { type UsageReport, usageOf } from '../pricing/usage/usage-report.ts';
import { TOKENS_MAX } from '../pricing/whole.ts';
import type { PriceUnknownWord } from './price-unknown-words.ts';

/** What prices are found with. */
export interface PricingDeps {
  /** The book that is in force, or why nothing has a price. */
  readonly book: () => PriceBook | Unpriced;
  /** Output tokens of a choice where a call names no maximum. */
  readonly outputTokensDefault: number;
  /** Told of each model, or unit, that had no price. Default: nobody. */
  readonly onUnknown?: (unknown: UnknownPrice) => void;
}

/** See the head of this file. */
export function createPricing({ book, outputTokensDefault, onUnknown }: PricingDeps): Pricing {
  return {
    price: (toPrice, unit, atMs, before) => {
      const now = book();
      if ('kind' in now) return now;
      const call = callOf(toPrice);
      const differing = before && differs(now, call, before.pins);
      if (differing !== undefined) return differing;
      const by = before === undefined ? now : pinnedBook(now, before.pins);
      const { price, unknown, problems } = priceCheckedCall(by, call, atMs, { unit, outputTokensDefault });
      if (price !== undefined) {
        const { maxMicros, pins, inputTokensMax, outputTokensMax, outputIsDefault, choices } = price;
        // Made anew: what is left of an object when a field is taken out is slower, and reservations keep this one.
        const record: PriceRecord = { pins, inputTokensMax, outputTokensMax, outputIsDefault, choices };
        return (
          tooMuchOf(before === undefined ? record : mergedPrices(before, record)) ?? {
            kind: 'price',
            maxMicros,
            record,
          }
        );
      }
      if (unknown !== undefined) {
        onUnknown?.(unknown);
        return unknownPrice(unknown);
      }
      const [first] = problems;
      // The api has checked its fields: what is left is that it may cost too much.
      const message = `model_call ${first?.text}`;
      return { kind: 'unpriced', reason: 'INVALID_FIELD', message, field: 'model_call' };
    },
    refused: (call, rules) => {
      const now = book();
      const refused = refuseModels('kind' in now ? undefined : now, rulesOf(rules), callOf(call));
      if (refused === 'unknown') return 'kind' in now ? now : undefined;
      return refused && { ...refused.name, rule: refused.rule };
    },
    cost: (record, { report }, atMs) => {
      const now = book();
      if ('kind' in now) return now;
      const reported = report as UsageReport;
      const usage = usageOf(reported, record.pins.cacheTtl);
      const result = priceUsage(now, record.pins, reported.served, usage, atMs);
      if (result.problem !== undefined) return refusedReport(result.problem);
      const { micros, source, rowHash } = result.cost;
      const row = now.row(rowHash);
      const priced: PricedUsage = {
        provider: row?.provider ?? '',
        model: row?.model ?? '',
        rowHash,
        source,
        buckets: bucketsOf(usage),
        micros,
      };
      return { kind: 'cost', priced };
    },
  };
}

// The api has made it and found nothing wrong with it: see validate.
function callOf({ call }: CallToPrice): ModelCall {
  return call as ModelCall;
}

// Usage says neither which of the calls it is of nor, mostly, how it was served: it is priced as the first call asked, so a call that
// asks for something else would be charged at another price than was held for it.
const OF_THE_FIRST = [
  ['serviceTier', 'service_tier'],
  ['inferenceGeo', 'inference_geo'],
  ['cacheTtl', 'cache_ttl'],
] as const;

function differs(book: PriceBook, call: ModelCall, pins: PricePins): Unpriced | undefined {
  const other = OF_THE_FIRST.find(([name]) => call[name] !== pins[name]);
  if (other !== undefined) {
    const [name, field] = other;
    const asked = pins[name] === undefined ? 'left out' : `"${pins[name]}"`;
    return ofField(`model_call.${field}`, `must be ${asked}, as in the first call: reserve another one by itself`);
  }
  const moved = movedName(book, pins, call.candidates);
  if (moved === undefined) return undefined;
  const { provider, model } = moved;
  return ofField(
    'model_call.candidates',
    `must name the model itself: ${provider}/${model} stood for another one in the first call`,
  );
}

// What a call would bring its reservation to, which is written down and sent whole.
function tooMuchOf({ pins, inputTokensMax }: PriceRecord): Unpriced | undefined {
  const { rowHashes, aliases = NONE } = pins;
  const most =
    inputTokensMax > TOKENS_MAX
      ? `${TOKENS_MAX} tokens of input`
      : rowHashes.length > PINNED_ROWS_MAX
        ? `${PINNED_ROWS_MAX} price rows`
        : aliases.length > PINNED_ALIASES_MAX
          ? `${PINNED_ALIASES_MAX} aliases`
          : undefined;
  return most === undefined
    ? undefined
    : ofField('model_call', `brings the reservation to more than ${most}: reserve another one, or fewer candidates`);
}

const NONE: readonly never[] = [];

function ofField(field: string, text: string): Unpriced {
  return { kind: 'unpriced', reason: 'INVALID_FIELD', message: `${field} ${text}`, field };
}

function rulesOf({ allowed, maxTier }: ModelRules) {
  return {
    ...(allowed !== undefined && { allowedModels: allowed }),
    ...(maxTier !== undefined && { maxTier }),
  };
}

/** PRICE_UNKNOWN, in one sentence. */
export function unknownPrice(unknown: UnknownPrice): Unpriced {
  if (unknown.unit !== undefined) {
    const { unit } = unknown;
    return { kind: 'unpriced', reason: 'PRICE_UNKNOWN', message: `nobody has said what ${unit} is worth`, unit };
  }
  const { provider, model, moreCount } = unknown;
  const why: PriceUnknownWord = unknown.why;
  const more = moreCount === 0 ? '' : `, and ${moreCount} more`;
  const message = `no price for ${provider}/${model} (${why})${more}`;
  return { kind: 'unpriced', reason: 'PRICE_UNKNOWN', message, provider, model, why, moreCount };
}

function refusedReport({ code, field: path, text }: UsageProblem): Unpriced {
  const reason = code === ('unknown_price' satisfies PriceUnknownWord) ? 'PRICE_UNKNOWN' : 'USAGE_INVALID';
  // The path in the request.
  const field = path === 'usage' ? path : `usage.${path}`;
  const message = `${field} ${text}; if it can't be reported otherwise, settle with usage_unknown`;
  return { kind: 'unpriced', reason, message, why: code, field };
}

function bucketsOf(usage: Usage): UsageBuckets {
  const { uncachedInput, cacheRead, cacheWrite5m, cacheWrite1h, audioInput, audioCacheRead } = usage;
  const { output, audioOutput, webSearches, fileSearches } = usage;
  return {
    uncachedInput,
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    audioInput,
    audioCacheRead,
    output,
    audioOutput,
    webSearches,
    fileSearches,
  };
}
