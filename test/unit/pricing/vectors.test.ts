// The vectors of usage as providers report it, from the report to the cost: each bucket, the cost and where it comes from, or the
// error, exactly.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { priceCall } from '../../../src/pricing/estimate.ts';
import type { PriceRow } from '../../../src/pricing/price-row.ts';
import { priceUsage } from '../../../src/pricing/price-usage.ts';
import { normaliseUsage, USAGE_KINDS, usageKindOf } from '../../../src/pricing/usage/normalise-usage.ts';
import type { UsageContext } from '../../../src/pricing/usage/usage.ts';
import { priceBook, priceRow, START_MS } from '../../support/price-rows.ts';

interface VectorRates {
  readonly input: number | null;
  readonly output: number | null;
  readonly cache_read: number | null;
  readonly cache_write: number | null;
  readonly cache_write_1h?: number;
}

interface Vector {
  readonly name: string;
  readonly provider: string;
  readonly model: string;
  readonly usage: unknown;
  readonly rates_per_mtok_micros: VectorRates;
  readonly tiers?: readonly { readonly above_input_tokens: number; readonly rates: VectorRates }[];
  readonly request?: { readonly cache_ttl?: string };
  readonly expected: {
    readonly error?: string;
    readonly uncached_input?: number;
    readonly cache_read?: number;
    readonly cache_write?: number;
    readonly cache_write_1h?: number;
    readonly output?: number;
    readonly cost_micros?: number;
    readonly cost_source?: string;
  };
}

const VECTORS: readonly Vector[] = JSON.parse(readFileSync(new URL('./cases/pricing.json', import.meta.url), 'utf8'));
const PROVIDER = 'vectors';

const rateOf = (name: string, value: number | null | undefined) =>
  value === null || value === undefined ? {} : { [name]: BigInt(value) };

function rowOf(model: string, rates: VectorRates, aboveInputTokens: number): Partial<PriceRow> {
  if (rates.input === null) throw new Error('no input rate');
  return {
    provider: PROVIDER,
    model,
    aboveInputTokens,
    rates: {
      input: BigInt(rates.input),
      ...rateOf('output', rates.output),
      ...rateOf('cacheRead', rates.cache_read),
      ...rateOf('cacheWrite5m', rates.cache_write),
      ...rateOf('cacheWrite1h', rates.cache_write_1h),
    },
  };
}

/** The rows of a vector; none where it lists no rate at all. */
function rowsOf({ model, tiers, rates_per_mtok_micros: rates }: Vector) {
  if (tiers !== undefined) return tiers.map((tier) => priceRow(rowOf(model, tier.rates, tier.above_input_tokens)));
  return rates.input === null ? [] : [priceRow(rowOf(model, rates, 0))];
}

function contextOf({ provider, model, request }: Vector): UsageContext {
  const library = provider.startsWith('ai_sdk') ? { provider: model.split(':')[0] ?? '' } : {};
  return { ...library, ...(request?.cache_ttl === undefined ? {} : { cacheTtl: request.cache_ttl }) };
}

/** From the estimate over the report to the cost. */
function play(vector: Vector) {
  const served = { provider: PROVIDER, model: vector.model };
  const book = priceBook({ rows: rowsOf(vector) });
  const call = { candidates: [served], inputTokens: 1_000_000, outputTokensMax: 100_000 };
  const { price } = priceCall(book, call, START_MS, { unit: 'USD', outputTokensDefault: 4_096 });
  if (price === undefined) return { error: 'unknown_price' };
  const kind = usageKindOf(vector.provider);
  if (kind === undefined) throw new Error(`no kind ${vector.provider}`);
  const { usage, problem } = normaliseUsage(kind, vector.usage, contextOf(vector));
  if (usage === undefined) return { error: problem.code };
  const { cost, problem: unpriced } = priceUsage(book, price.pins, served, usage, START_MS);
  if (cost === undefined) return { error: unpriced.code };
  return {
    uncached_input: Number(usage.uncachedInput),
    cache_read: Number(usage.cacheRead),
    cache_write: Number(usage.cacheWrite5m + usage.cacheWrite1h),
    cache_write_1h: Number(usage.cacheWrite1h),
    output: Number(usage.output),
    cost_micros: Number(cost.micros),
    cost_source: cost.source,
  };
}

describe('a vector', () => {
  it.each(VECTORS.map((vector) => [vector.name, vector] as const))('%s', (_, vector) => {
    const { expected } = vector;
    if (expected.error !== undefined) {
      expect(play(vector)).toEqual(expected);
      return;
    }
    const isHour = vector.request?.cache_ttl === '1h';
    expect(play(vector)).toEqual({
      cost_source: 'row',
      cache_write_1h: isHour ? expected.cache_write : 0,
      ...expected,
    });
  });

  it('is played for each of the 49, and each kind that they name is known', () => {
    expect(VECTORS).toHaveLength(49);
    for (const { provider } of VECTORS) expect(USAGE_KINDS).toContain(provider);
    for (const name of ['__proto__', 'constructor', 'toString', 'openai', ''])
      expect(usageKindOf(name)).toBeUndefined();
  });
});
