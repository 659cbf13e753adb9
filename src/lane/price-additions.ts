// What an operator's addition comes to beside what is there: nothing, where the book says the same already. Pure; whoever calls has
// checked the fields. Additions that would tie with one that is there are dated a millisecond after it, so that the later one counts.
import { buildPriceBook, type PriceAlias, type Retirement } from '../pricing/price-book.ts';
import type { HashedPriceRow, PriceRow } from '../pricing/price-row.ts';
import type { PriceSet, SetFlaw } from '../pricing/price-set.ts';
import { newestFirst, tierAndBand } from '../pricing/price-timeline.ts';
import type { HashedUnitRow, UnitRow } from '../pricing/unit-row.ts';
import { hashedRow, hashedUnitRow } from './price-records.ts';
import type { PriceChange, PriceSnapshot } from './prices.ts';

/**
 * Adds a row. `isFromNow`: nobody named its time of effect; then a row that counts at that time and says the same is the answer, so
 * that a repeat adds nothing.
 */
export function rowAddition(now: PriceSnapshot, row: PriceRow, isFromNow: boolean): PriceChange<HashedPriceRow> {
  const known = now.book.row(hashedRow(row).hash);
  if (known !== undefined) {
    // Ended within the millisecond in which it began: whoever wants it from now on wants another.
    const isOver = isFromNow && hasEnded(now, known, row.effectiveFromMs);
    return isOver
      ? rowAddition(now, { ...row, effectiveFromMs: row.effectiveFromMs + 1 }, true)
      : { added: {}, answer: known };
  }
  const ofKey = now.records.rows.filter(
    (each) =>
      each.origin === row.origin &&
      each.provider === row.provider &&
      each.model === row.model &&
      tierAndBand(each) === tierAndBand(row),
  );
  const inForce = ofKey.filter((each) => each.effectiveFromMs <= row.effectiveFromMs).sort(newestFirst)[0];
  if (isFromNow && inForce !== undefined && !hasEnded(now, inForce, row.effectiveFromMs)) {
    const sameText = hashedRow({ ...row, effectiveFromMs: inForce.effectiveFromMs });
    if (sameText.hash === inForce.hash) return { added: {}, answer: inForce };
  }
  const answer = hashedRow({ ...row, addedMs: laterThan(ofKey, row.addedMs) });
  return { added: { rows: [answer] }, answer };
}

/**
 * Why a model would have no price where an added row begins to count, as far as this row is the cause: it is for sizes, or for a time
 * of day, beside which the operator has no row for the rest. What was wrong before and is not about it stays open to be mended.
 */
export function flawOfAddition({ records }: PriceSnapshot, row: HashedPriceRow): SetFlaw | undefined {
  const { aboveInputTokens, band, effectiveFromMs } = row;
  const set = setOf(records, row, effectiveFromMs, { rows: [row] });
  if (set === undefined || !set.hashes.includes(row.hash)) return undefined;
  if (set.flaw === 'no_base_tier') return aboveInputTokens > 0 ? set.flaw : undefined;
  if (band === undefined) return undefined;
  if (set.flaw === 'bands_overlap') return set.flaw;
  const tier = set.tiers.find((each) => each.aboveInputTokens === BigInt(aboveInputTokens));
  return tier?.row === undefined ? 'no_row_outside_bands' : undefined;
}

/** Why the rows that stay when one ends would price nothing, where they do price before; they are of the operator like it. */
export function flawOfRetirement(
  { records }: PriceSnapshot,
  row: HashedPriceRow,
  end: Retirement,
): SetFlaw | undefined {
  const after = setOf(records, row, end.fromMs, { retirements: [end] });
  const isOfSame = after?.origin === row.origin;
  return isOfSame && setOf(records, row, end.fromMs, {})?.flaw === undefined ? after.flaw : undefined;
}

// The rows of one model alone: making the whole book takes longer, and they depend on no others.
function setOf(
  { rows, retirements }: PriceSnapshot['records'],
  { provider, model }: PriceRow,
  atMs: number,
  more: { readonly rows?: readonly HashedPriceRow[]; readonly retirements?: readonly Retirement[] },
): PriceSet | undefined {
  const ofModel = rows.filter((each) => each.provider === provider && each.model === model);
  const ends = [...retirements, ...(more.retirements ?? [])];
  const parts = { rows: [...ofModel, ...(more.rows ?? [])], aliases: [], unitRows: [], retirements: ends };
  return buildPriceBook(parts).priceSet(provider, model, atMs);
}

/** Adds a name. The newest of a name counts, so one that is there is the answer only where it is the newest. */
export function aliasAddition(now: PriceSnapshot, alias: PriceAlias): PriceChange<PriceAlias> {
  const ofName = now.records.aliases.filter(
    (each) =>
      each.origin === alias.origin &&
      each.provider === alias.provider &&
      each.alias === alias.alias &&
      each.form === alias.form,
  );
  const newest = ofName.toSorted((a, b) => b.addedMs - a.addedMs)[0];
  const isSame = newest?.model === alias.model && newest.targetProvider === alias.targetProvider;
  if (newest !== undefined && isSame) return { added: {}, answer: newest };
  const answer = { ...alias, addedMs: laterThan(ofName, alias.addedMs) };
  return { added: { aliases: [answer] }, answer };
}

/** Adds what a unit is worth. `isFromNow` as for rows. */
export function unitRowAddition(now: PriceSnapshot, row: UnitRow, isFromNow: boolean): PriceChange<HashedUnitRow> {
  const known = now.book.unitRowByHash(hashedUnitRow(row).hash);
  if (known !== undefined) return { added: {}, answer: known };
  const inForce = now.book.unitRow(row.unit, row.effectiveFromMs);
  if (isFromNow && inForce !== undefined) {
    const sameText = hashedUnitRow({ ...row, effectiveFromMs: inForce.effectiveFromMs });
    if (sameText.hash === inForce.hash) return { added: {}, answer: inForce };
  }
  const ofUnit = now.records.unitRows.filter(({ unit }) => unit === row.unit);
  const answer = hashedUnitRow({ ...row, addedMs: laterThan(ofUnit, row.addedMs) });
  return { added: { unitRows: [answer] }, answer };
}

/** Ends a row of the book. One that has ended by then is left as it is. */
export function retirementAddition(
  now: PriceSnapshot,
  row: HashedPriceRow,
  end: Omit<Retirement, 'rowHash'>,
): PriceChange<{ readonly row: HashedPriceRow; readonly end: Retirement | undefined }> {
  const known = now.ends.get(row.hash);
  if (hasEnded(now, row, end.fromMs)) return { added: {}, answer: { row, end: known } };
  const added = { ...end, rowHash: row.hash };
  return { added: { retirements: [added] }, answer: { row, end: added } };
}

function hasEnded({ ends }: PriceSnapshot, { hash, effectiveUntilMs }: HashedPriceRow, atMs: number): boolean {
  const endMs = ends.get(hash)?.fromMs;
  return (effectiveUntilMs !== undefined && effectiveUntilMs <= atMs) || (endMs !== undefined && endMs <= atMs);
}

function laterThan(others: readonly { readonly addedMs: number }[], addedMs: number): number {
  return others.reduce((latestMs, each) => Math.max(latestMs, each.addedMs + 1), addedMs);
}
