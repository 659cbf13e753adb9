// The package as it is: every record of it is imported exactly or told of, by a walk of its own through the same data.
import { describe, expect, it } from 'vitest';
import { importCatalogue } from '../../../src/pricing/catalogue.ts';
import { costByRow } from '../../../src/pricing/cost.ts';
import { priceCall } from '../../../src/pricing/estimate.ts';
import type { HashedPriceRow, PriceRow } from '../../../src/pricing/price-row.ts';
import { tierAndBand } from '../../../src/pricing/price-timeline.ts';
import { priceUsage } from '../../../src/pricing/price-usage.ts';
import { MULTIPLIER_WHOLE } from '../../../src/pricing/service-tier.ts';
import type { Usage } from '../../../src/pricing/usage/usage.ts';
import { rawReport } from '../../../src/pricing/usage/usage-report.ts';
import { bundledCatalogue, type PackageRecord } from '../../support/price-catalogue.ts';
import { START_MS, usageOf } from '../../support/price-rows.ts';

const { data, imported, book, records } = await bundledCatalogue();

const RATE_KEYS = {
  input_mtok: 'input',
  output_mtok: 'output',
  cache_read_mtok: 'cacheRead',
  cache_write_mtok: 'cacheWrite5m',
  cache_write_1h_mtok: 'cacheWrite1h',
  input_audio_mtok: 'audioInput',
  cache_audio_read_mtok: 'audioCacheRead',
  output_audio_mtok: 'audioOutput',
} as const;
const FEE_KEYS = {
  requests_kcount: 'request',
  web_searches_kcount: 'webSearch',
  storage_searches_kcount: 'fileSearch',
} as const;
const KNOWN_KEYS = new Set([...Object.keys(RATE_KEYS), ...Object.keys(FEE_KEYS)]);
const RECORD_REASONS = new Set([
  'empty_record',
  'no_input_rate',
  'unsupported_keys',
  'invalid_rate',
  'out_of_bounds',
  'begins_in_future',
  'superseded',
  'unknown_constraint',
  'no_base_record',
  'incomplete_model',
]);

const isLater = ({ constraint }: PackageRecord) => Date.parse(constraint?.['start_date'] ?? '') > START_MS;
const hasBegun = ({ constraint }: PackageRecord) =>
  constraint === undefined || Date.parse(constraint['start_date'] ?? '') <= START_MS;

/** Records by what should become of them, told by the data alone. */
function expectedFate(record: PackageRecord, ofModel: readonly PackageRecord[]): string {
  const base = ofModel.findLastIndex(hasBegun);
  const index = ofModel.indexOf(record);
  if (index < base) return 'superseded';
  if (isLater(record)) return 'begins_in_future';
  const keys = Object.keys(record.prices);
  if (keys.length === 0) return 'empty_record';
  if (keys.some((key) => !KNOWN_KEYS.has(key))) return 'unsupported_keys';
  return 'imported';
}

const byModel = Map.groupBy(records, ({ provider, model }) => `${provider} ${model}`);
const fates = records.map((record) => expectedFate(record, byModel.get(`${record.provider} ${record.model}`) ?? []));
const countOf = (fate: string) => fates.filter((found) => found === fate).length;

/** A number of the package as the whole number that a row must hold: its text shifted by places, up where more digits are left. */
function shifted(value: number, places: number): bigint {
  const [whole = '', fraction = ''] = value.toFixed(20).split('.');
  const kept = BigInt(whole + fraction.slice(0, places));
  // A double's own digits past its shortest text are no digits of the price.
  const [, shortFraction = ''] = value.toString().split('.');
  return shortFraction.length > places ? kept + 1n : BigInt(whole + shortFraction.padEnd(places, '0'));
}

const priceAt = (price: unknown, above: number): number => {
  if (typeof price === 'number') return price;
  const { base, tiers } = price as { base: number; tiers: readonly { start: number; price: number }[] };
  return tiers.filter(({ start }) => start <= above).at(-1)?.price ?? base;
};

function bandOf({ constraint }: PackageRecord) {
  if (constraint?.['start_time'] === undefined) return undefined;
  const ms = (time = '') => Date.parse(`1970-01-01T${time}`);
  return { startMs: ms(constraint['start_time']), endMs: ms(constraint['end_time']) };
}

describe('the bundled catalogue', () => {
  it('is imported or told of, record by record', () => {
    const told = imported.notes.filter(({ reason }) => RECORD_REASONS.has(reason));
    expect(imported.recordCount + told.length).toBe(records.length);
    expect(imported.recordCount).toBe(countOf('imported'));
    for (const fate of ['superseded', 'begins_in_future', 'empty_record', 'unsupported_keys']) {
      expect([fate, told.filter(({ reason }) => reason === fate).length]).toEqual([fate, countOf(fate)]);
    }
    expect(
      countOf('imported') +
        countOf('superseded') +
        countOf('begins_in_future') +
        countOf('empty_record') +
        countOf('unsupported_keys'),
    ).toBe(records.length);
  });

  it('has the figures of version 0.1.8', () => {
    expect([records.length, countOf('imported'), countOf('empty_record'), countOf('unsupported_keys')]).toEqual([
      1_724, 1_506, 163, 31,
    ]);
    expect(imported.rows.filter(({ flags }) => flags.includes('inherited'))).toHaveLength(158);
    expect(imported.rows.filter(({ flags }) => flags.includes('rounded'))).toHaveLength(7);
    expect(imported.rows).toHaveLength(1_717);
    expect(imported.retirements).toEqual([]);
  });

  it('has in its rows the very numbers of the data', () => {
    const own = imported.rows.filter(({ flags }) => !flags.includes('inherited'));
    const rowsOf = Map.groupBy(own, ({ provider, model }) => `${provider} ${model}`);
    let seen = 0;
    for (const [index, record] of records.entries()) {
      if (fates[index] !== 'imported') continue;
      const band = JSON.stringify(bandOf(record));
      const rows = (rowsOf.get(`${record.provider} ${record.model}`) ?? []).filter(
        (row) => JSON.stringify(row.band) === band,
      );
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) {
        seen += 1;
        expect(numbersOf(row)).toEqual(expectedNumbers(record, row));
      }
    }
    expect(seen).toBe(own.length);
  });

  it('copies what is inherited, and never over an own model', () => {
    const own = new Set(records.map(({ provider, model }) => `${provider} ${model}`));
    for (const row of imported.rows.filter(({ flags }) => flags.includes('inherited'))) {
      expect(own.has(`${row.provider} ${row.model}`)).toBe(false);
      const from = row.source.split('listed for ')[1] ?? '';
      const twin = book
        .priceSet(from, row.model, START_MS)
        ?.rows.find((other) => tierAndBand(other) === tierAndBand(row));
      expect(twin?.rates).toEqual(row.rates);
    }
  });

  it('has no row that begins in the future or before the import, and no set with a flaw', () => {
    expect(new Set(imported.rows.map(({ effectiveFromMs }) => effectiveFromMs))).toEqual(new Set([START_MS]));
    for (const { provider, model } of imported.rows) {
      const set = book.priceSet(provider, model, START_MS);
      expect([provider, model, set?.flaw]).toEqual([provider, model, undefined]);
      expect(book.priceSet(provider, model, START_MS - 1)).toBeUndefined();
    }
  });

  it('is known by its exact names, with a date only where it says so, and by no likeness', () => {
    const found = (provider: string, model: string) => book.resolve(provider, model)?.model;
    expect(found('openai', 'gpt-4o-2024-05-13')).toBe('gpt-4o-2024-05-13');
    expect(found('openai', 'gpt-5.6-sol-2026-07-01')).toBe('gpt-5.6-sol');
    expect(found('openai', 'gpt-5.6-sol-20260701')).toBeUndefined();
    expect(found('anthropic', 'claude-fable-5-1-20260701')).toBe('claude-fable-5-1');
    expect(found('anthropic', 'claude-fable-5-20260701')).toBe('claude-fable-5');
    expect(found('anthropic', 'claude-sonnet-4-5-hyper')).toBeUndefined();
    expect(found('deepseek', 'deepseek-chat-v9')).toBeUndefined();
    expect(found('openrouter', 'deepseek/deepseek-r1:free')).toBeUndefined();
    for (const { alias, form, provider, model } of imported.aliases) {
      if (form === 'exact') expect([alias, found(provider, alias)]).toEqual([alias, model]);
    }
  });

  it('has write rates that are storage alone, and none of its writes costs less than input', () => {
    const costOf = (row: HashedPriceRow, usage: Partial<Usage>) =>
      costByRow(row, usageOf(usage), MULTIPLIER_WHOLE, undefined).micros ?? 0n;
    const written = book.rows.filter(({ rates }) => rates.cacheWrite5m !== undefined);
    const storage = written.filter(({ rates }) => (rates.cacheWrite5m ?? 0n) < rates.input);
    expect(storage.length).toBeGreaterThan(10);
    for (const row of written) {
      const input = costOf(row, { uncachedInput: 1_000_000n });
      expect([row.model, costOf(row, { cacheWrite5m: 1_000_000n }) >= input]).toEqual([row.model, true]);
      expect([row.model, costOf(row, { cacheWrite1h: 1_000_000n }) >= input]).toEqual([row.model, true]);
    }
  });

  it.each(['litellm', 'openrouter_chat', 'openai_compatible'] as const)(
    'prices what %s says was written to a cache of Gemini as the estimate does',
    (kind) => {
      const name = { provider: 'openrouter', model: 'google/gemini-3.1-pro-preview' };
      const call = { candidates: [name], inputTokens: 100_000, outputTokensMax: 0 };
      const { price } = priceCall(book, call, START_MS, { unit: 'USD', outputTokensDefault: 1 });
      const costOf = (written: number) => {
        const raw = {
          prompt_tokens: 100_000,
          completion_tokens: 0,
          prompt_tokens_details: { cache_write_tokens: written },
        };
        const usage = rawReport(kind, raw, name, {}).report?.usage ?? usageOf({});
        return priceUsage(book, price?.pins ?? { rowHashes: [] }, name, usage, START_MS).cost?.micros;
      };
      expect([price?.maxMicros, costOf(0), costOf(90_000), costOf(100_000)]).toEqual([
        237_500n,
        200_000n,
        233_750n,
        237_500n,
      ]);
    },
  );

  it('adds nothing when it is imported again', () => {
    const again = importCatalogue(data, {
      source: 'later',
      importedMs: START_MS + 1,
      addedBy: 'test',
      known: { rows: book.rows, aliases: book.aliases, unitRows: [], retirements: [] },
    });
    expect([again.rows, again.aliases, again.retirements]).toEqual([[], [], []]);
  });
});

const numbersOf = ({ rates, fees }: PriceRow) => ({ ...rates, ...fees });

function expectedNumbers({ prices }: PackageRecord, { aboveInputTokens }: PriceRow) {
  const numbers: Record<string, bigint> = {};
  for (const [key, name] of Object.entries(RATE_KEYS)) {
    if (prices[key] !== undefined) numbers[name] = shifted(priceAt(prices[key], aboveInputTokens), 6);
  }
  for (const [key, name] of Object.entries(FEE_KEYS)) {
    if (prices[key] !== undefined) numbers[name] = shifted(priceAt(prices[key], aboveInputTokens), 3);
  }
  return numbers;
}
