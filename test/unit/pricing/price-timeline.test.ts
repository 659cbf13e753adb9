// What it takes to arrange many rows of one model: a few looks at each, however many there are.
import { expect, it } from 'vitest';
import type { HashedPriceRow, PriceRow } from '../../../src/pricing/price-row.ts';
import { priceBook, priceRow, START_MS } from '../../support/price-rows.ts';

const ROWS = 2_000;

/** Rows that tell how often the time at which they begin was looked at. */
function countedRows(changesOf: (index: number) => Partial<PriceRow>) {
  const seen = { count: 0 };
  const rows = Array.from({ length: ROWS }, (_, index): HashedPriceRow => {
    const effectiveFromMs = START_MS + index;
    const row = priceRow({ effectiveFromMs, source: `${index}`, ...changesOf(index) });
    return Object.defineProperty(row, 'effectiveFromMs', {
      enumerable: true,
      get: () => {
        seen.count += 1;
        return effectiveFromMs;
      },
    });
  });
  return { rows, seen };
}

it.each<[string, (index: number) => Partial<PriceRow>, number]>([
  ['a price a day', () => ({}), 1],
  ['two sizes', (index) => ({ aboveInputTokens: (index % 2) * 200_000 }), 2],
  ['every row ended', (index) => ({ effectiveUntilMs: START_MS + index + 5 }), 1],
  ['a size each', (index) => ({ aboveInputTokens: index }), ROWS / 2],
])('%s of thousands is arranged in a few steps a row', (_, changesOf, count) => {
  const { rows, seen } = countedRows(changesOf);
  const book = priceBook({ rows });
  expect(book.priceSet('openai', 'gpt-4o', START_MS + ROWS / 2 - 1)?.rows).toHaveLength(count);
  // A sort looks twice a comparison, some 11 times a row; more of a kind would be a second one.
  expect(seen.count).toBeLessThan(40 * ROWS);
});
