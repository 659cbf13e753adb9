// Price rows and books for tests: a row needs only what a test is about.
import { createHash } from 'node:crypto';
import { buildPriceBook, type PriceBook, type PriceBookParts } from '../../src/pricing/price-book.ts';
import { type HashedPriceRow, hashPriceRow, type PriceRow, type Rates } from '../../src/pricing/price-row.ts';
import { type HashedUnitRow, hashUnitRow, type UnitRow } from '../../src/pricing/unit-row.ts';
import type { Usage } from '../../src/pricing/usage/usage.ts';

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);

/** 2026-12-01T00:00:00Z: rows of tests begin then. */
export const START_MS = 1_796_083_200_000;

/** A valid row of openai/gpt-4o, at 2.50 and 10 USD, but for what is given. */
export function priceRow(changes: Partial<PriceRow> = {}): HashedPriceRow {
  const rates: Rates = { input: 2_500_000n, output: 10_000_000n };
  return hashPriceRow(
    {
      provider: 'openai',
      model: 'gpt-4o',
      effectiveFromMs: START_MS,
      aboveInputTokens: 0,
      rates,
      fees: {},
      mark: 'priced',
      unit: 'USD',
      source: 'test',
      addedBy: 'ops',
      addedMs: START_MS,
      origin: 'catalogue',
      flags: [],
      ...changes,
    },
    hashOf,
  );
}

/** A row of INR at 84.1234 to the dollar, but for what is given. */
export function unitRow(changes: Partial<UnitRow> = {}): HashedUnitRow {
  return hashUnitRow(
    {
      unit: 'INR',
      effectiveFromMs: START_MS,
      unitMicros: 84_123_400n,
      usdMicros: 1_000_000n,
      source: 'test',
      addedBy: 'ops',
      addedMs: START_MS,
      ...changes,
    },
    hashOf,
  );
}

/** A book of the given parts. */
export function priceBook(parts: Partial<PriceBookParts>): PriceBook {
  return buildPriceBook({ rows: [], aliases: [], unitRows: [], retirements: [], ...parts });
}

/** Usage of nothing but what is given. */
export function usageOf(counts: Partial<Usage>): Usage {
  return {
    uncachedInput: 0n,
    cacheRead: 0n,
    cacheWrite5m: 0n,
    cacheWrite1h: 0n,
    audioInput: 0n,
    audioCacheRead: 0n,
    output: 0n,
    audioOutput: 0n,
    webSearches: 0n,
    fileSearches: 0n,
    ...counts,
  };
}
