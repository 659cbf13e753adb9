// fast-check arbitraries for what reservations keep of prices.
import fc from 'fast-check';
import type { PinnedAlias, PricedUsage, PricePins, PriceRecord } from '../../src/kernel/price.ts';
import { micros, text } from './arbitrary-scalars.ts';

const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const name = { provider: text, model: text };
const alias: fc.Arbitrary<PinnedAlias> = fc.record({ ...name, target: fc.record(name) });

const said = text.filter((word) => word !== '');
const pins: fc.Arbitrary<PricePins> = fc.record(
  {
    rowHashes: fc.array(text, { maxLength: 3 }),
    aliases: fc.array(alias, { minLength: 1, maxLength: 2 }),
    unitRowHash: said,
    serviceTier: said,
    inferenceGeo: said,
    cacheTtl: said,
    searches: fc.subarray(['web_search' as const, 'file_search' as const], { minLength: 1 }),
  },
  { requiredKeys: ['rowHashes'] },
);

const price: fc.Arbitrary<PriceRecord> = fc.record({
  pins,
  inputTokensMax: micros,
  outputTokensMax: count,
  outputIsDefault: fc.boolean(),
  choices: fc.integer({ min: 1, max: 128 }),
});

const priced: fc.Arbitrary<PricedUsage> = fc.record({
  ...name,
  rowHash: text,
  source: fc.constantFrom('row' as const, 'reported' as const),
  buckets: fc.record({
    uncachedInput: micros,
    cacheRead: micros,
    cacheWrite5m: micros,
    cacheWrite1h: micros,
    audioInput: micros,
    audioCacheRead: micros,
    output: micros,
    audioOutput: micros,
    webSearches: micros,
    fileSearches: micros,
  }),
  micros,
});

/** What a call was priced by, if any. */
export const optionalPrice = fc.option(price, { nil: undefined });

/** What usage was charged at, if any. */
export const optionalPriced = fc.option(priced, { nil: undefined });
