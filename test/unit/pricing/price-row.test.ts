import { describe, expect, it } from 'vitest';
import {
  FEE_MAX,
  type PriceRow,
  priceRowProblems,
  priceRowText,
  RATE_MAX,
  RATE_MIN,
} from '../../../src/pricing/price-row.ts';
import { UNIT_PART_MAX, unitRowProblems, unitRowText } from '../../../src/pricing/unit-row.ts';
import { hashOf, priceRow, START_MS, unitRow } from '../../support/price-rows.ts';

const fields = (changes: Partial<PriceRow>) => priceRowProblems(priceRow(changes)).map(({ field }) => field);
const free = { input: 0n, output: 0n };

describe('a price row', () => {
  it.each<[string, Partial<PriceRow>, readonly string[]]>([
    ['as it is', {}, []],
    ['of a provider with capitals', { provider: 'OpenAI' }, ['provider']],
    ['of a provider with a slash', { provider: 'open/ai' }, ['provider']],
    ['of no model', { model: '' }, ['model']],
    ['of a model with a space', { model: 'gpt 4o' }, ['model']],
    ['of a model with slashes and brackets', { model: '~a/b[fast=true]:free' }, []],
    ['before 1970', { effectiveFromMs: -1 }, ['effectiveFromMs']],
    ['at half a millisecond', { effectiveFromMs: 0.5 }, ['effectiveFromMs']],
    ['that ends as it begins', { effectiveUntilMs: START_MS }, ['effectiveUntilMs']],
    ['that ends later', { effectiveUntilMs: START_MS + 1 }, []],
    ['above -1 tokens', { aboveInputTokens: -1 }, ['aboveInputTokens']],
    ['of an empty band', { band: { startMs: 5, endMs: 5 } }, ['band']],
    ['of a band past midnight', { band: { startMs: 86_399_999, endMs: 0 } }, []],
    ['of a band of another day', { band: { startMs: 0, endMs: 86_400_000 } }, ['band']],
    ['at the highest rate', { rates: { input: RATE_MAX, output: RATE_MAX } }, []],
    [
      'past it',
      { rates: { input: RATE_MAX + 1n, cacheWrite1h: RATE_MAX + 1n } },
      ['rates.input', 'rates.cacheWrite1h'],
    ],
    ['at the lowest rate', { rates: { input: RATE_MIN } }, []],
    ['below it, as dollars a token would be', { rates: { input: RATE_MIN - 1n } }, ['rates.input']],
    ['below zero', { rates: { input: 1_000n, output: -1n } }, ['rates.output']],
    ['at the highest fee', { fees: { request: FEE_MAX } }, []],
    ['past it', { fees: { webSearch: FEE_MAX + 1n } }, ['fees.webSearch']],
    ['of zeros without a mark', { rates: free }, ['mark']],
    ['that is free', { rates: free, mark: 'free' }, []],
    ['that is a seat', { rates: free, mark: 'seat' }, []],
    ['that is free and costs', { mark: 'free' }, ['mark']],
    ['that is a seat and has a fee', { rates: free, fees: { request: 1n }, mark: 'seat' }, ['mark']],
    ['of no source', { source: '' }, ['source']],
    ['added by nobody', { addedBy: '' }, ['addedBy']],
    ['added never', { addedMs: Number.NaN }, ['addedMs']],
  ])('%s', (_, changes, expected) => {
    expect(fields(changes)).toEqual(expected);
  });

  it('has a text that every part of its meaning changes, and who added it does not', () => {
    const base = priceRow();
    const changes: readonly Partial<PriceRow>[] = [
      { provider: 'azure' },
      { model: 'gpt-4o-mini' },
      { effectiveFromMs: START_MS + 1 },
      { effectiveUntilMs: START_MS + 1 },
      { aboveInputTokens: 1 },
      { band: { startMs: 0, endMs: 1 } },
      { rates: { input: 2_500_001n, output: 10_000_000n } },
      { rates: { input: 2_500_000n, cacheRead: 10_000_000n } },
      { fees: { webSearch: 1n } },
      { fees: { fileSearch: 1n } },
      { mark: 'free' },
      { source: 'elsewhere' },
      { origin: 'operator' },
      { flags: ['rounded'] },
    ];
    const hashes = new Set([base, ...changes.map((change) => priceRow(change))].map(({ hash }) => hash));
    expect(hashes.size).toBe(changes.length + 1);
    expect(priceRow({ addedBy: 'maya', addedMs: 1 }).hash).toBe(base.hash);
    expect(hashOf(priceRowText(base))).toBe(base.hash);
  });
});

describe('a unit row', () => {
  it.each([
    ['as it is', {}, []],
    ['of dollars', { unit: 'USD' }, ['unit']],
    ['of no unit', { unit: '' }, ['unit']],
    ['worth nothing', { unitMicros: 0n }, ['unitMicros']],
    ['of nothing', { usdMicros: -1n }, ['usdMicros']],
    ['past the bound', { usdMicros: UNIT_PART_MAX + 1n }, ['usdMicros']],
    ['from before 1970', { effectiveFromMs: -1 }, ['effectiveFromMs']],
    ['of no source, by nobody, never', { source: '', addedBy: '', addedMs: 0.5 }, ['source', 'addedBy', 'addedMs']],
  ])('%s', (_, changes, expected) => {
    expect(unitRowProblems(unitRow(changes)).map(({ field }) => field)).toEqual(expected);
  });

  it('has a text that every part of its meaning changes', () => {
    const changes = [
      {},
      { unit: 'credits' },
      { effectiveFromMs: 1 },
      { unitMicros: 1n },
      { usdMicros: 1n },
      { source: 'x' },
    ];
    expect(new Set(changes.map((change) => unitRowText(unitRow(change)))).size).toBe(changes.length);
    expect(unitRowText(unitRow({ addedBy: 'maya', addedMs: 1 }))).toBe(unitRowText(unitRow()));
  });
});
