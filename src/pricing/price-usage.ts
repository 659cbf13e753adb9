// What a call did cost: its usage, priced by the rows that its reservation pinned and by no other, under the name of the model
// that served it. The last step of a settlement by usage.
import { type CostResult, costAsReported, costByRow } from './cost.ts';
import { larger } from './exact.ts';
import type { ModelName } from './model-call.ts';
import { isOf, pinnedRows, pinnedSet } from './pinned-book.ts';
import type { PriceBook } from './price-book.ts';
import type { PricePins } from './price-pins.ts';
import type { HashedPriceRow } from './price-row.ts';
import { type PriceSet, rowFor } from './price-set.ts';
import { dearerTiersOf, MULTIPLIER_WHOLE, mayBeDearer, multiplierBound, multiplierOf } from './service-tier.ts';
import type { HashedUnitRow } from './unit-row.ts';
import { inputTokensOf, type Usage, type UsageProblem } from './usage/usage.ts';

/** The cost of a call. */
export interface UsageCost {
  /** Micro-units of the tree's unit, rounded up once. */
  readonly micros: bigint;
  /** `row`: computed from the row. `reported`: as the provider says, the row only stands for the model. */
  readonly source: 'row' | 'reported';
  /** The pinned row of the model that served. */
  readonly rowHash: string;
}

/** A cost, or why there is none. */
export type UsageCostResult =
  | { readonly cost: UsageCost; readonly problem?: never }
  | { readonly cost?: never; readonly problem: UsageProblem };

/**
 * Prices usage. `served` is the model that answered, by its own name or an alias of the book; it may be left out where the
 * reservation had one model only. `atMs` chooses the time of day and should be the end of the call, as near as it is known.
 * The service tier is the one that the report names, where it has a known price at the provider; else the one that the caller says; else
 * the one that was asked for, but never taken as a discount. What other events of a stream say may make it dearer, and no cheaper.
 * A word of unknown price that may stand for a dearer tier is `unknown_price`: of a report unless the caller says one above the list, of the caller always. So is a place of unknown price. A row
 * that is free or a seat costs nothing, whatever was said. Searches that were reserved for, that the row has a fee for, and whose number
 * the usage can't tell are `usage_incomplete`.
 */
export function priceUsage(
  book: PriceBook,
  pins: PricePins,
  served: ModelName | undefined,
  usage: Usage,
  atMs: number,
): UsageCostResult {
  const set = currentSet(book, pins, served, atMs) ?? servedSet(book, pins, served, atMs);
  if ('problem' in set) return set;
  const inputTokens = inputTokensOf(usage);
  const row = rowFor(set, inputTokens, atMs);
  if (row === undefined) return unpriced('served', 'has no row for input of this size');
  const unit = unitOf(book, pins);
  if (unit === undefined) return unpriced('pins', 'name a unit row that is not in the book');
  if (usage.reportedCost !== undefined) {
    return costOf('reported', row, costAsReported(usage.reportedCost, unit.row));
  }
  // Nothing multiplied is nothing, however it was served.
  if (row.mark !== 'priced') return costOf('row', row, { micros: 0n });
  const untold = untoldSearch(row, pins, usage);
  if (untold !== undefined) return { problem: untold };
  const multiplier = multiplierFor(set, pins, usage, inputTokens);
  if (typeof multiplier === 'object') return multiplier;
  return costOf('row', row, costByRow(row, usage, multiplier, unit.row));
}

function costOf(source: UsageCost['source'], { hash }: HashedPriceRow, result: CostResult): UsageCostResult {
  if (result.problem !== undefined) return { problem: result.problem };
  return { cost: { micros: result.micros, source, rowHash: hash } };
}

// Searches that were reserved for are charged, or the report is refused: never that some ran and nobody says how many.
function untoldSearch({ fees }: HashedPriceRow, pins: PricePins, usage: Usage): UsageProblem | undefined {
  const { searches } = pins;
  const { untoldSearches } = usage;
  if (searches === undefined || untoldSearches === undefined) return undefined;
  const found = SEARCHES.find(
    ({ kind, count, fee }) => searches.includes(kind) && untoldSearches.includes(count) && (fees[fee] ?? 0n) > 0n,
  );
  if (found === undefined) return undefined;
  const text = 'must be said: the report does not tell how many of these searches ran, and each is billed';
  return { code: 'usage_incomplete', field: `counts.${found.wireName}`, text };
}

const SEARCHES = [
  { kind: 'web_search', count: 'webSearches', fee: 'webSearch', wireName: 'web_searches' },
  { kind: 'file_search', count: 'fileSearches', fee: 'fileSearch', wireName: 'file_searches' },
] as const;

/**
 * The set that the book has now, where that is all that was pinned and it served: so of nearly all calls, since most routes have one
 * model and prices change seldom. Undefined: it has to be looked for; servedSet would find the same.
 */
function currentSet(
  book: PriceBook,
  { rowHashes, aliases }: PricePins,
  served: ModelName | undefined,
  atMs: number,
): PriceSet | undefined {
  const first = rowHashes[0] === undefined ? undefined : book.row(rowHashes[0]);
  if (first === undefined || aliases !== undefined) return undefined;
  if (served !== undefined && (served.provider !== first.provider || served.model !== first.model)) return undefined;
  const set = book.priceSet(first.provider, first.model, atMs);
  if (set === undefined || set.hashes.length !== rowHashes.length) return undefined;
  for (let at = 0; at < rowHashes.length; at += 1) if (set.hashes[at] !== rowHashes[at]) return undefined;
  return set;
}

/** The pinned rows of the model that served, as a set. */
function servedSet(book: PriceBook, pins: PricePins, served: ModelName | undefined, atMs: number): PriceSet | Unpriced {
  const pinned = pinnedRows(book, pins);
  if (pinned === undefined) return unpriced('pins', 'name a price row that is not in the book');
  const [first] = pinned;
  if (first === undefined) return unpriced('pins', 'name no price row');
  const name = served === undefined ? first : nameOf(book, pins, pinned, served);
  if (served === undefined && !pinned.every(isOf(name))) {
    return {
      problem: { code: 'usage_incomplete', field: 'served', text: 'must name which of the candidates answered' },
    };
  }
  return pinnedSet(book, pinned, name, atMs) ?? unpriced('served', noneOf(pinned));
}

/** Names that a sentence can hold. */
const NAMES_SHOWN_MAX = 4;

function noneOf(pinned: readonly HashedPriceRow[]): string {
  const names = [...new Set(pinned.map(({ provider, model }) => `${provider}/${model}`))];
  const more = names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : '';
  const shown = names.slice(0, NAMES_SHOWN_MAX).join(', ');
  return `must be one of those that were reserved for (${shown}${more}), or a name that stands for one in the price book`;
}

/** The name that the pinned rows know the model by: what its alias stood for then, its own, or what the book says now. */
function nameOf(book: PriceBook, pins: PricePins, pinned: readonly HashedPriceRow[], served: ModelName): ModelName {
  const alias = pins.aliases?.find(isOf(served));
  if (alias !== undefined) return alias.target;
  return pinned.some(isOf(served)) ? served : (book.resolve(served.provider, served.model) ?? served);
}

/** The unit row that pins name, none for USD; undefined where the book lacks it. */
function unitOf(book: PriceBook, { unitRowHash }: PricePins): { readonly row: HashedUnitRow | undefined } | undefined {
  if (unitRowHash === undefined) return { row: undefined };
  const row = book.unitRowByHash(unitRowHash);
  return row === undefined ? undefined : { row };
}

/** What multiplies the rates of usage that was served so, or why nobody knows. */
function multiplierFor(set: PriceSet, pins: PricePins, usage: Usage, inputTokens: bigint): bigint | Unpriced {
  const { callerTier, otherEvents } = usage;
  const others = otherEvents?.inferenceGeos ?? [];
  const geo = dearestGeo(set, usage.inferenceGeos ?? [pins.inferenceGeo, ...others], inputTokens);
  if (geo.problem !== undefined) return geo;
  const priceOf = (tier: string | undefined) => multiplierOf(set, tier, geo.name, inputTokens);
  const told = tellingOf(set, usage.serviceTiers ?? [], priceOf);
  const hinted = tellingOf(set, otherEvents?.serviceTiers ?? [], priceOf);
  const said = callerTier === undefined ? undefined : priceOf(callerTier);
  // What must be charged at least, whatever else is said.
  const isVague = told.isVague || hinted.isVague;
  const least = [told.price, hinted.price, isVague ? geo.price : undefined].reduce(dearer, undefined);
  if (told.isDearer || hinted.isDearer) {
    // That it was none of the dearer ones, a client that always says the same would say too.
    return said !== undefined && said > geo.price ? larger(said, least ?? said) : unknownTier(set);
  }
  // Certain is only what has a price here. Where a report has no word that does, the caller may say which tier it was.
  if (told.price !== undefined) return least ?? told.price;
  if (said !== undefined) return larger(said, least ?? said);
  if (callerTier !== undefined && mayBeDearer(set.provider, callerTier)) {
    return unpriced('service_tier', `${mayCostMore(set)}: settle with the cost as an amount`);
  }
  const bound = multiplierBound(set, pins.serviceTier, geo.name, inputTokens);
  if (bound !== undefined) return larger(bound, least ?? bound);
  return unpriced('service_tier', `must say how it was served: the tier that was asked for ${hasNoPrice(set)}`);
}

/** What words for tiers tell of a price. */
interface Telling {
  /** Of those whose price is known the dearest; undefined where there are none. */
  readonly price: bigint | undefined;
  /** One of the others may cost more than the list. */
  readonly isDearer: boolean;
  /** One of the others does not: beside it a discount is none, whoever says it. */
  readonly isVague: boolean;
}

function tellingOf(set: PriceSet, tiers: readonly string[], priceOf: (tier: string) => bigint | undefined): Telling {
  const prices = tiers.map(priceOf);
  const unknown = tiers.filter((_, at) => prices[at] === undefined);
  return {
    price: prices.reduce(dearer, undefined),
    isDearer: unknown.some((tier) => mayBeDearer(set.provider, tier)),
    isVague: unknown.some((tier) => !mayBeDearer(set.provider, tier)),
  };
}

/** The dearer of two prices; of one that is not known the other. */
function dearer(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined || b === undefined ? (a ?? b) : larger(a, b);
}

/** A place, and what it multiplies the list by. */
interface Geo {
  readonly name: string | undefined;
  readonly price: bigint;
  readonly problem?: never;
}

const NO_GEO: Geo = { name: undefined, price: MULTIPLIER_WHOLE };

/** The place that costs most, of those where a call ran; all of them must have a price. */
function dearestGeo(set: PriceSet, geos: readonly (string | undefined)[], inputTokens: bigint): Geo | Unpriced {
  let dearest = NO_GEO;
  for (const geo of geos) {
    const price = multiplierOf(set, undefined, geo, inputTokens);
    if (price === undefined) {
      return unpriced(
        'usage',
        `was served at a place of inference that ${hasNoPrice(set)}: settle with the cost as an amount`,
      );
    }
    if (price > dearest.price) dearest = { name: geo, price };
  }
  return dearest;
}

// What helps differs: where no tier above the list has a price, no word does.
function unknownTier(set: PriceSet): Unpriced {
  const tiers = dearerTiersOf(set);
  if (tiers.length === 0) return unpriced('usage', `${mayCostMore(set)}: settle with the cost as an amount`);
  const more = `the report names another tier that may cost more than the list at ${nameText(set)}, and ${NO_PRICE}`;
  return unpriced('service_tier', `must be ${tiers.join(' or ')}: ${more}. Else settle with the cost as an amount`);
}

const NO_PRICE = 'what it costs is not known';
const nameText = ({ provider, model }: PriceSet): string => `${provider}/${model}`;
const mayCostMore = (set: PriceSet): string =>
  `names a tier that may cost more than the list at ${nameText(set)}, and ${NO_PRICE}`;
const hasNoPrice = (set: PriceSet): string => `has no known price at ${nameText(set)}`;

interface Unpriced {
  readonly problem: UsageProblem;
}

const unpriced = (field: string, text: string): Unpriced => ({ problem: { code: 'unknown_price', field, text } });
