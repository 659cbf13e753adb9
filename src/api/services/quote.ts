// Quotes: what a call can cost at the most and what usage did cost, by the very code that decides on reservations. Nothing is held,
// and nothing remembered.
import type { QuoteRequest, QuoteResponse } from '../../gen/budgetd/v1/price_pb.ts';
import type { PriceRecord, Unpriced } from '../../kernel/price.ts';
import type { Prices } from '../../lane/prices.ts';
import { createPricing, unknownPrice } from '../../lane/pricing.ts';
import type { PriceBook } from '../../pricing/price-book.ts';
import { type ApiRefusal, isRefusal, type Reply } from '../api-refusal.ts';
import { pricedMessage, priceMessage } from '../encode/price-message.ts';
import { checkQuote, type Quote } from '../validate/quote.ts';

/** Answers one. */
export function quote(prices: Prices, request: QuoteRequest, nowMs: number): Reply<QuoteResponse> {
  const asked = checkQuote(request, nowMs);
  if (isRefusal(asked)) return asked;
  const now = prices.read();
  if (isRefusal(now)) return now;
  const pricing = createPricing({ book: () => now.book, outputTokensDefault: prices.outputTokensDefault });
  const { call, usage, unit, atMs } = asked;
  const price = call && pricing.price(call, unit, atMs);
  if (price?.kind === 'unpriced') return refused(price);
  const record = price?.record ?? recordOf(now.book, asked);
  if ('reason' in record) return refused(record);
  const cost = usage && pricing.cost(record, usage, atMs);
  if (cost?.kind === 'unpriced') return refused(cost);
  return {
    $typeName: 'budgetd.v1.QuoteResponse',
    maxMicros: price?.maxMicros,
    price: price && priceMessage(price.record),
    priced: cost && pricedMessage(cost.priced),
    unit,
  };
}

// Of usage without a call: the rows that count for the model that served, as a call of it would have pinned them.
function recordOf(book: PriceBook, { served, unit, atMs }: Quote): PriceRecord | Unpriced {
  const { provider, model } = served ?? { provider: '', model: '' };
  const set = book.priceSet(provider, model, atMs);
  if (set === undefined) return unknownPrice({ provider, model, why: 'no_row', moreCount: 0 });
  if (set.flaw !== undefined) return unknownPrice({ provider, model, why: set.flaw, moreCount: 0 });
  const unitRow = unit === 'USD' ? undefined : book.unitRow(unit, atMs);
  if (unit !== 'USD' && unitRow === undefined) return unknownPrice({ unit });
  const isOther = set.provider !== provider || set.model !== model;
  const target = { provider: set.provider, model: set.model };
  return {
    pins: {
      rowHashes: set.hashes,
      ...(isOther && { aliases: [{ provider, model, target }] }),
      ...(unitRow !== undefined && { unitRowHash: unitRow.hash }),
    },
    inputTokensMax: 0n,
    outputTokensMax: 0,
    outputIsDefault: false,
    choices: 1,
  };
}

function refused({ kind: _, reason, message, ...unpriced }: Unpriced): ApiRefusal {
  const { field } = unpriced;
  const isOfField = reason !== 'PRICE_UNKNOWN' && field !== undefined;
  return {
    kind: 'refusal',
    reason,
    message,
    unpriced,
    ...(isOfField && { fields: [{ field, description: message }] }),
  };
}
