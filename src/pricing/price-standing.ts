// How the rows of one model stand from instant to instant: whose count, and what is wrong with them. Stands alone because additions
// are judged by every instant at which anything changes: counts that go up and down with each row take a step a change, where
// putting together the set of each instant would take one for each size and time of day.
import type { HashedPriceRow, PriceOrigin } from './price-row.ts';
import { reachesInto, type SetFlaw } from './price-set.ts';
import { instantsOf, lastIndex, type Timeline } from './price-timeline.ts';
import { WHOLE_MAX } from './whole.ts';

/** From an instant on, until the next one. */
export interface Standing {
  /** Ms since 1970. */
  readonly fromMs: number;
  /** Whose rows count; undefined: there are none. */
  readonly origin: PriceOrigin | undefined;
  /** As the set of these rows has it. */
  readonly flaw: SetFlaw | undefined;
}

const NOTHING: Standing = { fromMs: 0, origin: undefined, flaw: undefined };

/** By time; nothing counts before the first one. */
export function standingsOf({ keys }: Pick<Timeline, 'keys'>): readonly Standing[] {
  const spans = keys.flat();
  const begins = spans.toSorted((a, b) => a.fromMs - b.fromMs);
  const ends = spans.toSorted((a, b) => a.untilMs - b.untilMs);
  const counts = { operator: noCounts(), catalogue: noCounts() };
  let begun = 0;
  let ended = 0;
  return instantsOf(spans).map((fromMs) => {
    for (let span = ends[ended]; span !== undefined && span.untilMs <= fromMs; span = ends[ended]) {
      change(counts[span.row.origin], span.row, -1);
      ended += 1;
    }
    for (let span = begins[begun]; span !== undefined && span.fromMs <= fromMs; span = begins[begun]) {
      change(counts[span.row.origin], span.row, 1);
      begun += 1;
    }
    const origin = (['operator', 'catalogue'] as const).find((each) => counts[each].rowCount > 0);
    return { fromMs, origin, flaw: origin && flawOf(counts[origin]) };
  });
}

/** How a model stands before a change and after it. */
export interface StandingChange {
  readonly atMs: number;
  readonly before: Standing;
  readonly after: Standing;
}

/** Both at an instant, and at each later one at which either changes. */
export function* standingChanges(
  before: readonly Standing[],
  after: readonly Standing[],
  fromMs: number,
): Generator<StandingChange> {
  let atBefore = lastIndex(before, (each) => each.fromMs <= fromMs);
  let atAfter = lastIndex(after, (each) => each.fromMs <= fromMs);
  let atMs = fromMs;
  while (atMs < WHOLE_MAX) {
    yield { atMs, before: before[atBefore] ?? NOTHING, after: after[atAfter] ?? NOTHING };
    const nextBeforeMs = before[atBefore + 1]?.fromMs ?? WHOLE_MAX;
    const nextAfterMs = after[atAfter + 1]?.fromMs ?? WHOLE_MAX;
    atMs = Math.min(nextBeforeMs, nextAfterMs);
    if (nextBeforeMs === atMs) atBefore += 1;
    if (nextAfterMs === atMs) atAfter += 1;
  }
}

/** What counts of one size. */
interface TierCounts {
  plainCount: number;
  /** By the time of day at which they begin. */
  readonly banded: HashedPriceRow[];
}

/** What counts of one origin. */
interface Counts {
  readonly tiers: Map<number, TierCounts>;
  rowCount: number;
  /** Sizes with bands and nothing outside of them. */
  bareCount: number;
  /** Bands that reach into the next one of their size, around the clock; 0 exactly where no two overlap. */
  overlapCount: number;
}

const noCounts = (): Counts => ({ tiers: new Map(), rowCount: 0, bareCount: 0, overlapCount: 0 });

function change(counts: Counts, row: HashedPriceRow, by: 1 | -1): void {
  const tier = counts.tiers.get(row.aboveInputTokens) ?? { plainCount: 0, banded: [] };
  counts.tiers.set(row.aboveInputTokens, tier);
  counts.bareCount -= bareCountOf(tier);
  counts.rowCount += by;
  if (row.band === undefined) tier.plainCount += by;
  else counts.overlapCount += by * changeBands(tier.banded, row, by);
  counts.bareCount += bareCountOf(tier);
}

const bareCountOf = ({ plainCount, banded }: TierCounts): number => (plainCount === 0 && banded.length > 0 ? 1 : 0);

/** How many more overlaps there are of bands, each with the next, where a row is among them. */
function changeBands(banded: HashedPriceRow[], row: HashedPriceRow, by: 1 | -1): number {
  const index = lastIndex(banded, (each) => isEarlier(each, row)) + 1;
  if (by < 0) banded.splice(index, 1);
  const left = banded[index - 1] ?? banded.at(-1);
  const right = banded[index] ?? banded[0];
  const without = banded.length > 1 ? overlap(left, right) : 0;
  if (by > 0) banded.splice(index, 0, row);
  return overlap(left, row) + overlap(row, right) - without;
}

function isEarlier({ band: a }: HashedPriceRow, { band: b }: HashedPriceRow): boolean {
  if (a === undefined || b === undefined) return false;
  return a.startMs === b.startMs ? a.endMs < b.endMs : a.startMs < b.startMs;
}

const overlap = (row: HashedPriceRow | undefined, next: HashedPriceRow | undefined): number =>
  row !== undefined && reachesInto(row, next) ? 1 : 0;

function flawOf({ tiers, bareCount, overlapCount }: Counts): SetFlaw | undefined {
  const base = tiers.get(0);
  if (base === undefined || (base.plainCount === 0 && base.banded.length === 0)) return 'no_base_tier';
  if (bareCount > 0) return 'no_row_outside_bands';
  return overlapCount > 0 ? 'bands_overlap' : undefined;
}
