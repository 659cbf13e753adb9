// The rows of a model at every instant, as the rules say them word for word: gone through one by one, for each instant anew.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Retirement } from '../../src/pricing/price-book.ts';
import type { HashedPriceRow, TimeBand } from '../../src/pricing/price-row.ts';
import { type Standing, standingsOf } from '../../src/pricing/price-standing.ts';
import { priceBook, priceRow } from '../support/price-rows.ts';

const END_MS = 12;
const BANDS: readonly (TimeBand | undefined)[] = [
  undefined,
  { startMs: 0, endMs: 10 },
  { startMs: 10, endMs: 20 },
  { startMs: 15, endMs: 5 },
  { startMs: 15, endMs: 16 },
];

const row = fc
  .record({
    origin: fc.constantFrom('operator' as const, 'catalogue' as const),
    aboveInputTokens: fc.constantFrom(0, 0, 100, 200),
    band: fc.constantFrom(undefined, ...BANDS),
    effectiveFromMs: fc.nat({ max: END_MS }),
    lengthMs: fc.option(fc.integer({ min: 1, max: END_MS }), { nil: undefined, freq: 2 }),
    addedMs: fc.nat({ max: 3 }),
    input: fc.bigInt(100n, 1_000n),
    retiredMs: fc.option(fc.nat({ max: END_MS }), { nil: undefined, freq: 2 }),
  })
  .map(({ band, lengthMs, input, retiredMs, ...fields }) => ({
    retiredMs,
    row: priceRow({
      ...fields,
      ...(band && { band }),
      ...(lengthMs !== undefined && { effectiveUntilMs: fields.effectiveFromMs + lengthMs }),
      rates: { input },
    }),
  }));

type Made = typeof row extends fc.Arbitrary<infer T> ? T : never;

function countingAt(made: readonly Made[], atMs: number): readonly HashedPriceRow[] {
  const keyOf = ({ origin, aboveInputTokens, band }: HashedPriceRow): string =>
    JSON.stringify([origin, aboveInputTokens, band]);
  const counting = made.filter(({ row: own, retiredMs = Number.POSITIVE_INFINITY }) => {
    if (own.effectiveFromMs > atMs || (own.effectiveUntilMs ?? atMs + 1) <= atMs || retiredMs <= atMs) return false;
    return !made.some(
      ({ row: other }) =>
        other !== own && keyOf(other) === keyOf(own) && other.effectiveFromMs <= atMs && isNewer(other, own),
    );
  });
  const operators = counting.filter(({ row: { origin } }) => origin === 'operator');
  return (operators.length > 0 ? operators : counting).map((each) => each.row);
}

function isNewer(a: HashedPriceRow, b: HashedPriceRow): boolean {
  if (a.effectiveFromMs !== b.effectiveFromMs) return a.effectiveFromMs > b.effectiveFromMs;
  if (a.addedMs !== b.addedMs) return a.addedMs > b.addedMs;
  return a.hash > b.hash;
}

function flawOf(rows: readonly HashedPriceRow[]): string | undefined {
  if (rows.length === 0) return undefined;
  if (rows.every(({ aboveInputTokens }) => aboveInputTokens > 0)) return 'no_base_tier';
  const tiers = [...Map.groupBy(rows, ({ aboveInputTokens }) => aboveInputTokens).values()];
  if (tiers.some((tier) => tier.every(({ band }) => band !== undefined))) return 'no_row_outside_bands';
  const claims = ({ band }: HashedPriceRow, timeMs: number): boolean => {
    if (band === undefined) return false;
    const { startMs, endMs } = band;
    return startMs < endMs ? startMs <= timeMs && timeMs < endMs : startMs <= timeMs || timeMs < endMs;
  };
  const isClaimedTwice = tiers.some((tier) =>
    Array.from({ length: 25 }, (_, timeMs) => timeMs).some(
      (timeMs) => tier.filter((each) => claims(each, timeMs)).length > 1,
    ),
  );
  return isClaimedTwice ? 'bands_overlap' : undefined;
}

it('the rows that count, and what is wrong with them, are those of the rules at every instant', () => {
  fc.assert(
    fc.property(fc.uniqueArray(row, { maxLength: 12, selector: (each) => each.row.hash }), (made) => {
      const retirements = made.flatMap(({ row: { hash: rowHash }, retiredMs }): Retirement[] =>
        retiredMs === undefined
          ? []
          : [
              { rowHash, fromMs: retiredMs + 1, origin: 'catalogue', retiredBy: 'ops', retiredMs: 0 },
              { rowHash, fromMs: retiredMs, origin: 'operator', retiredBy: 'ops', retiredMs: 0 },
            ],
      );
      const book = priceBook({ rows: made.map((each) => each.row), retirements });
      const standings: readonly Standing[] = standingsOf(book.timeline('openai', 'gpt-4o') ?? { keys: [] });
      for (let atMs = 0; atMs <= 2 * END_MS + 1; atMs += 1) {
        const set = book.priceSet('openai', 'gpt-4o', atMs);
        const expected = countingAt(made, atMs);
        expect(set?.hashes.toSorted() ?? []).toEqual(expected.map(({ hash }) => hash).toSorted());
        expect(set?.flaw).toBe(flawOf(expected));
        const standing = standings.findLast(({ fromMs }) => fromMs <= atMs);
        expect([standing?.origin, standing?.flaw]).toEqual([expected[0]?.origin, set?.flaw]);
        expect(book.priceSet('openai', 'gpt-4o', atMs)).toBe(set);
      }
    }),
    { numRuns: 500 },
  );
});
