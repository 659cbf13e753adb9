// What an operator may not add, or end: what would take the price of a model away, at once or at any later instant.
import { describe, expect, it } from 'vitest';
import { gapOfAddition, gapOfRetirement } from '../../../src/lane/price-additions.ts';
import type { HashedPriceRow, PriceRow } from '../../../src/pricing/price-row.ts';
import { priceRow, START_MS } from '../../support/price-rows.ts';
import { priceSnapshot } from '../../support/price-snapshot.ts';

const DAY_MS = 86_400_000;
const onDay = (day: number): number => START_MS + day * DAY_MS;
const row = (from: number, more: Partial<PriceRow> = {}): HashedPriceRow =>
  priceRow({ origin: 'operator', effectiveFromMs: onDay(from), ...more });
const until = (day: number) => ({ effectiveUntilMs: onDay(day) });
const large = { aboveInputTokens: 200_000 };
const night = { band: { startMs: 0, endMs: DAY_MS / 4 } };
const early = { band: { startMs: DAY_MS / 8, endMs: DAY_MS / 2 } };
const listed = priceRow({ effectiveFromMs: onDay(0) });

describe('a row', () => {
  it.each<[string, readonly HashedPriceRow[], HashedPriceRow, string | undefined]>([
    ['for a time, beside a size that stays', [row(0), row(0, large)], row(1, until(2)), 'no_base_tier on day 2'],
    ['likewise where there is a catalogue', [listed, row(0), row(0, large)], row(1, until(2)), 'no_base_tier on day 2'],
    ['for a time, with its successor', [row(0), row(0, large), row(2)], row(1, until(2)), undefined],
    ['for a time, of a size', [row(0), row(0, large)], row(1, { ...large, ...until(2) }), undefined],
    ['for a time, in place of one that stays', [row(0)], row(1, until(2)), 'no_row on day 2'],
    ['for a time, in place of one that ends first', [row(0, until(2))], row(1, until(3)), undefined],
    ['for a time, in place of one that ends later', [row(0, until(4))], row(1, until(3)), 'no_row on day 3'],
    ["for a time, in place of the catalogue's", [listed], row(1, until(2)), undefined],
    [
      "for a time, above the catalogue's, in place of one that stays",
      [listed, row(0)],
      row(1, until(2)),
      'no_row on day 2',
    ],
    [
      "likewise, where the catalogue's comes later",
      [priceRow({ effectiveFromMs: onDay(5) }), row(0)],
      row(1, until(2)),
      'no_row on day 2',
    ],
    ["for a time, above the catalogue's, with its successor", [listed, row(0), row(2)], row(1, until(2)), undefined],
    [
      "for a time, above the catalogue's, in place of one that ends first",
      [listed, row(0, until(2))],
      row(1, until(3)),
      undefined,
    ],
    [
      "above the catalogue's, for a time that ends before the other",
      [listed, row(0, until(4))],
      row(1, until(3)),
      'no_row on day 3',
    ],
    ['for a time, before the size begins', [row(0), row(5, large)], row(1, until(2)), 'no_row on day 2'],
    [
      'before a size begins, with the catalogue between',
      [listed, row(0), row(5, large)],
      row(1, until(2)),
      'no_row on day 2',
    ],
    ['for a time, beside a band', [row(0), row(0, night)], row(1, until(2)), 'no_row_outside_bands on day 2'],
    ['of a size, that outlasts the base', [row(0, until(3))], row(1, large), 'no_base_tier on day 3'],
    ['of a size, that ends with the base', [row(0, until(3))], row(1, { ...large, ...until(3) }), undefined],
    ['of a size, before the base begins', [row(1)], row(0, large), 'no_base_tier on day 0'],
    ['of a band that a later one overlaps', [row(0), row(3, early)], row(1, night), 'bands_overlap on day 3'],
    [
      'of a band that ends before the other begins',
      [row(0), row(3, early)],
      row(1, { ...night, ...until(3) }),
      undefined,
    ],
    ['that mends a part', [row(0, large)], row(0, until(1)), undefined],
    ['that leaves what was wrong as it was', [row(0, large)], row(1, { ...large, ...night }), 'no_base_tier on day 1'],
  ])('%s', (_, rows, added, expected) => {
    const gap = gapOfAddition(priceSnapshot({ rows }), added);
    expect(gap && `${gap.why} on day ${(gap.fromMs - START_MS) / DAY_MS}`).toBe(expected);
  });

  it('that another row was ended for later is judged by that end', () => {
    const base = row(0);
    const end = { rowHash: base.hash, fromMs: onDay(3), origin: 'operator', retiredBy: 'ops', retiredMs: 0 } as const;
    const now = priceSnapshot({ rows: [base], retirements: [end] });
    expect(gapOfAddition(now, row(1, large))).toEqual({ fromMs: onDay(3), why: 'no_base_tier', isOfRow: true });
    expect(gapOfAddition(now, row(1, { ...large, ...until(3) }))).toBeUndefined();
  });
});

describe('the end of a row', () => {
  const base = row(0);
  it.each<[string, readonly HashedPriceRow[], number, string | undefined]>([
    ['that a size needs', [row(0, large)], 1, 'no_base_tier on day 1'],
    ['that a size needs later', [row(3, large)], 1, 'no_base_tier on day 3'],
    ['in the past, before the size was there', [row(3, large)], 0, 'no_base_tier on day 3'],
    ['that a size needed before its successor', [row(2, large), row(4)], 1, 'no_base_tier on day 2'],
    ['whose successor is there when the size begins', [row(4, large), row(2)], 1, undefined],
    ['that a band needs later', [row(3, night)], 1, 'no_row_outside_bands on day 3'],
    ['that nothing needs', [], 1, undefined],
    ['when the size has ended', [row(0, { ...large, ...until(3) })], 3, undefined],
  ])('%s', (_, others, day, expected) => {
    const end = { rowHash: base.hash, fromMs: onDay(day), origin: 'operator', retiredBy: 'ops', retiredMs: 0 } as const;
    const gap = gapOfRetirement(priceSnapshot({ rows: [base, ...others] }), base, end);
    expect(gap && `${gap.why} on day ${(gap.fromMs - START_MS) / DAY_MS}`).toBe(expected);
  });

  it("of the catalogue's that count again when the operator's end", () => {
    const rows = [listed, priceRow({ effectiveFromMs: onDay(0), ...large }), row(0, until(5))];
    const end = { rowHash: listed.hash, fromMs: onDay(1), origin: 'operator', retiredBy: 'ops', retiredMs: 0 } as const;
    expect(gapOfRetirement(priceSnapshot({ rows }), listed, end)).toMatchObject({
      fromMs: onDay(5),
      why: 'no_base_tier',
    });
  });
});
