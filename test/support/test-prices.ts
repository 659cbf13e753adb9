// A small price book in USD, and what decides by it: two models of one provider, one of another, and a free one.
import { createHash } from 'node:crypto';
import type { CallToPrice, Pricing, UsageToPrice } from '../../src/kernel/price.ts';
import { createPricing } from '../../src/lane/pricing.ts';
import type { ModelCall, ModelName } from '../../src/pricing/model-call.ts';
import { buildPriceBook, type PriceBook } from '../../src/pricing/price-book.ts';
import { type HashedPriceRow, hashPriceRow, type PriceRow, type Rates } from '../../src/pricing/price-row.ts';
import { rawReport } from '../../src/pricing/usage/usage-report.ts';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A row that counts from 1970 on. Rates in micro-dollars per million tokens. */
export function testRow(name: string, rates: Rates, more: Partial<PriceRow> = {}): HashedPriceRow {
  const slash = name.indexOf('/');
  const row: PriceRow = {
    provider: name.slice(0, slash),
    model: name.slice(slash + 1),
    effectiveFromMs: 0,
    aboveInputTokens: 0,
    rates,
    fees: {},
    mark: 'priced',
    unit: 'USD',
    source: 'a test',
    addedBy: 'a test',
    addedMs: 0,
    origin: 'operator',
    flags: [],
    ...more,
  };
  return hashPriceRow(row, hashOf);
}

const ROWS = [
  testRow('openai/gpt-4o', { input: 2_500_000n, output: 10_000_000n, cacheRead: 1_250_000n }),
  testRow('openai/gpt-4o-mini', { input: 150_000n, output: 600_000n, cacheRead: 75_000n }),
  testRow('anthropic/claude-sonnet-4', {
    input: 3_000_000n,
    output: 15_000_000n,
    cacheRead: 300_000n,
    cacheWrite5m: 3_750_000n,
    cacheWrite1h: 6_000_000n,
  }),
  testRow('local/free', { input: 0n, output: 0n }, { mark: 'free' }),
];

/** A book of these rows and more. */
export function testBook(more: readonly HashedPriceRow[] = []): PriceBook {
  return buildPriceBook({ rows: [...ROWS, ...more], aliases: [], unitRows: [], retirements: [] });
}

/** Prices of a book. */
export function testPricing(book: () => PriceBook = () => testBook()): Pricing {
  return createPricing({ book, outputTokensDefault: 4_096 });
}

/** A call of one model, by its name. */
export function callOf(name: string, call: Partial<ModelCall> = {}): CallToPrice {
  const slash = name.indexOf('/');
  const candidates = [{ provider: name.slice(0, slash), model: name.slice(slash + 1) }];
  return { kind: 'call', call: { candidates, inputTokens: 1_000, outputTokensMax: 100, ...call } satisfies ModelCall };
}

/** Usage as OpenAI's chat interface reports it. */
export function usageOf(prompt: number, completion: number, served?: ModelName): UsageToPrice {
  const raw = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  const { report, problem } = rawReport('openai_chat', raw, served, {});
  if (problem !== undefined) throw new Error(`${problem.field} ${problem.text}`);
  return { kind: 'usage', report };
}
