// The rows of one model that count at one instant, by tier and time of day: which row prices a given call, and whether there is
// one for every call. Stands alone because estimates bound over all rows of a set and costs pick one of them, and the two
// must agree on which can be picked.
import type { HashedPriceRow, PriceOrigin, TimeBand } from './price-row.ts';
import { timeOfDayMs } from './whole.ts';

/** Rows of one size of prompt. */
interface Tier {
  readonly aboveInputTokens: bigint;
  /** The row for all times of day that no band takes. */
  readonly row: HashedPriceRow | undefined;
  readonly banded: readonly HashedPriceRow[];
  /** Both. */
  readonly rows: readonly HashedPriceRow[];
}

/** Words for why some call would find no row, or two. */
export const SET_FLAWS = ['no_base_tier', 'no_row_outside_bands', 'bands_overlap'] as const;

/** Why some call would find no row, or two: such a set prices nothing. */
export type SetFlaw = (typeof SET_FLAWS)[number];

/** The rows of a model that count at one instant. */
export interface PriceSet {
  readonly provider: string;
  readonly model: string;
  readonly origin: PriceOrigin;
  /** By tier from 0 on; at least one. */
  readonly rows: readonly HashedPriceRow[];
  readonly hashes: readonly string[];
  readonly flaw: SetFlaw | undefined;
  readonly tiers: readonly Tier[];
}

/** The set of rows of one model; undefined where there are none. */
export function priceSetOf(rows: readonly HashedPriceRow[]): PriceSet | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const sorted = [...rows].sort(
    (a, b) =>
      a.aboveInputTokens - b.aboveInputTokens ||
      (a.band?.startMs ?? -1) - (b.band?.startMs ?? -1) ||
      (a.band?.endMs ?? -1) - (b.band?.endMs ?? -1),
  );
  const tiers = [...Map.groupBy(sorted, ({ aboveInputTokens }) => aboveInputTokens)].map(([above, ofTier]) => ({
    aboveInputTokens: BigInt(above),
    row: ofTier.find(({ band }) => band === undefined),
    banded: ofTier.filter(({ band }) => band !== undefined),
    rows: ofTier,
  }));
  const { provider, model, origin } = first;
  return { provider, model, origin, rows: sorted, hashes: sorted.map(({ hash }) => hash), flaw: flawOf(tiers), tiers };
}

/** The row that prices a call of so much input at an instant: of the highest tier that it is above, and its band if there is one. */
export function rowFor(set: PriceSet, inputTokens: bigint, atMs: number): HashedPriceRow | undefined {
  if (set.flaw !== undefined) return undefined;
  let tier: Tier | undefined;
  for (const candidate of set.tiers) {
    if (!isReachable(candidate.aboveInputTokens, inputTokens)) break;
    tier = candidate;
  }
  if (tier === undefined) return undefined;
  if (tier.banded.length === 0) return tier.row;
  const timeMs = timeOfDayMs(atMs);
  return tier.banded.find(({ band }) => band !== undefined && isIn(band, timeMs)) ?? tier.row;
}

/** Whether a request of at most so much input can be priced by a tier. The base tier takes requests without input too. */
export function isReachable(aboveInputTokens: bigint, inputTokens: bigint): boolean {
  return aboveInputTokens === 0n || inputTokens > aboveInputTokens;
}

function flawOf(tiers: readonly Tier[]): SetFlaw | undefined {
  if (tiers[0]?.aboveInputTokens !== 0n) return 'no_base_tier';
  if (tiers.some(({ row }) => row === undefined)) return 'no_row_outside_bands';
  return tiers.some(({ banded }) => overlaps(banded)) ? 'bands_overlap' : undefined;
}

// By their start, around the clock: where any two overlap, one overlaps the next.
function overlaps(banded: readonly HashedPriceRow[]): boolean {
  return banded.length > 1 && banded.some((row, index) => reachesInto(row, banded[index + 1] ?? banded[0]));
}

/** Whether the time of day of a row goes on when that of another begins. */
export function reachesInto({ band }: HashedPriceRow, next: HashedPriceRow | undefined): boolean {
  return band !== undefined && next?.band !== undefined && isIn(band, next.band.startMs);
}

function isIn({ startMs, endMs }: TimeBand, timeMs: number): boolean {
  return startMs < endMs ? timeMs >= startMs && timeMs < endMs : timeMs >= startMs || timeMs < endMs;
}
