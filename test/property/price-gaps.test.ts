// What an operator adds and ends, in any order, never leaves a model with rows that price nothing, at any instant; and nothing is
// refused but what would.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { gapOfAddition, gapOfRetirement, retirementAddition, rowAddition } from '../../src/lane/price-additions.ts';
import type { PriceSnapshot } from '../../src/lane/prices.ts';
import type { PriceSet } from '../../src/pricing/price-set.ts';
import { priceRow } from '../support/price-rows.ts';
import { priceSnapshot } from '../support/price-snapshot.ts';

const TIMES_MS = 12;
const LAST_MS = 2 * TIMES_MS + 1;
const BANDS = [undefined, undefined, { startMs: 0, endMs: 10 }, { startMs: 10, endMs: 20 }, { startMs: 15, endMs: 5 }];

const addition = fc.record({
  kind: fc.constant('add' as const),
  aboveInputTokens: fc.constantFrom(0, 0, 0, 100),
  band: fc.constantFrom(...BANDS),
  fromMs: fc.nat({ max: TIMES_MS }),
  lengthMs: fc.option(fc.integer({ min: 1, max: TIMES_MS }), { nil: undefined, freq: 2 }),
});
const end = fc.record({
  kind: fc.constant('end' as const),
  index: fc.nat({ max: 20 }),
  fromMs: fc.nat({ max: TIMES_MS }),
});
const steps = fc.array(fc.oneof({ weight: 3, arbitrary: addition }, end), { maxLength: 15 });
type Step = typeof steps extends fc.Arbitrary<(infer T)[]> ? T : never;

type Played = { readonly next: PriceSnapshot; readonly gapMs: number | undefined; readonly isEnd: boolean };

function play(now: PriceSnapshot, step: Step, addedMs: number): Played | undefined {
  const { records } = now;
  if (step.kind === 'end') {
    const row = records.rows[step.index % Math.max(1, records.rows.length)];
    if (row === undefined) return undefined;
    const stated = { fromMs: step.fromMs, origin: 'operator', retiredBy: 'ops', retiredMs: addedMs } as const;
    const { retirements } = retirementAddition(now, row, stated).added;
    if (retirements === undefined) return undefined;
    const next = priceSnapshot({ ...records, retirements: [...records.retirements, ...retirements] });
    return { next, gapMs: gapOfRetirement(now, row, { ...stated, rowHash: row.hash })?.fromMs, isEnd: true };
  }
  const { fromMs: effectiveFromMs, lengthMs, aboveInputTokens, band } = step;
  const stated = priceRow({
    origin: 'operator',
    effectiveFromMs,
    ...(lengthMs !== undefined && { effectiveUntilMs: effectiveFromMs + lengthMs }),
    aboveInputTokens,
    ...(band && { band }),
    source: `step ${addedMs}`,
    addedMs,
  });
  const { added, answer } = rowAddition(now, stated, false);
  if (added.rows === undefined) return undefined;
  const next = priceSnapshot({ ...records, rows: [...records.rows, answer] });
  return { next, gapMs: gapOfAddition(now, answer)?.fromMs, isEnd: false };
}

const setsOf = ({ book }: PriceSnapshot): (PriceSet | undefined)[] =>
  Array.from({ length: LAST_MS + 1 }, (_, atMs) => book.priceSet('openai', 'gpt-4o', atMs));

it.each([
  ['with a price of the catalogue', [priceRow({ effectiveFromMs: 3 })]],
  ['with none', []],
])('a model %s has one from then on, or no rows that count', (_, listed) => {
  let refusedCount = 0;
  fc.assert(
    fc.property(steps, (story) => {
      let now = priceSnapshot({ rows: listed });
      for (const [addedMs, step] of story.entries()) {
        const played = play(now, step, addedMs);
        if (played === undefined) continue;
        const before = setsOf(now);
        const after = setsOf(played.next);
        const gapMs = after.findIndex((set, atMs) => {
          const was = before[atMs]?.origin;
          const isTaken =
            !played.isEnd && was !== undefined && (set === undefined || (was === 'operator' && set.origin !== was));
          return set?.flaw !== undefined || isTaken;
        });
        expect(played.gapMs).toBe(gapMs < 0 ? undefined : gapMs);
        if (gapMs < 0) now = played.next;
        else refusedCount += 1;
      }
      expect(setsOf(now).every((set) => set?.flaw === undefined)).toBe(true);
    }),
    { numRuns: 500 },
  );
  expect(refusedCount).toBeGreaterThan(100);
});
