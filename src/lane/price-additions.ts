// What an operator's addition comes to beside what is there: nothing, where the book says the same already. Pure; whoever calls has
// checked the fields. Additions that would tie with one that is there are dated a millisecond after it, so that the later one counts.
import { isMistypedDollars, UNIT_DEFAULT } from '../kernel/unit.ts';
import type { PriceAlias, Retirement } from '../pricing/price-book.ts';
import type { HashedPriceRow, PriceRow } from '../pricing/price-row.ts';
import type { PriceSet, SetFlaw } from '../pricing/price-set.ts';
import { type StandingChange, standingChanges, standingsOf } from '../pricing/price-standing.ts';
import { buildTimeline, newestFirst, type Timeline, tierAndBand } from '../pricing/price-timeline.ts';
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

/** That a model would have no price, or the catalogue's in place of the operator's, as far as a change is the cause. */
export interface PriceGap {
  /** The first instant of it, from which the change counts or later, ms since 1970. */
  readonly fromMs: number;
  /** Why not; `no_row`: the row that is added has ended then, what it replaced stays replaced, and its origin has nothing else. */
  readonly why: SetFlaw | 'no_row';
  /** Whether the row that is added counts then. */
  readonly isOfRow: boolean;
}

/**
 * The first gap that an added row would make, from its beginning on: it is for sizes, or for a time of day, beside which the
 * operator has no row for the rest, or it ends where nothing comes after it in place of an operator's row that would have counted. What
 * was wrong before and is not about it stays open to be mended.
 */
export function gapOfAddition(now: PriceSnapshot, row: HashedPriceRow): PriceGap | undefined {
  const timeline = timelineOf(now, row, { row });
  const span = timeline.keys.flat().find((each) => each.row === row);
  for (const { atMs, before, after } of changesOf(now, row, timeline, row.effectiveFromMs)) {
    const isOfRow = span !== undefined && span.fromMs <= atMs && atMs < span.untilMs;
    // The catalogue's price counts again when an operator's row ends, and not when one is added: it may be any other.
    const hasFallen = after.origin === undefined || (before.origin === row.origin && after.origin !== row.origin);
    const wasPriced = before.origin !== undefined && before.flaw === undefined;
    if (hasFallen && wasPriced) return { fromMs: atMs, why: 'no_row', isOfRow };
    const why = after.flaw;
    if (why === undefined) continue;
    const isNew = before.flaw === undefined || (isOfRow && isAbout(why, row, timeline.setAt(atMs)));
    if (isNew) return { fromMs: atMs, why, isOfRow };
  }
  return undefined;
}

/** Whether a row that counts is among those for which a set lacks the rest. */
function isAbout(flaw: SetFlaw, { aboveInputTokens, band }: PriceRow, set: PriceSet | undefined): boolean {
  if (flaw === 'no_base_tier') return aboveInputTokens > 0;
  if (band === undefined) return false;
  if (flaw === 'bands_overlap') return true;
  return set?.tiers.find((each) => each.aboveInputTokens === BigInt(aboveInputTokens))?.row === undefined;
}

/** The first gap that the end of a row would make: rows that stay, of the operator like it or of the catalogue, need it. */
export function gapOfRetirement(now: PriceSnapshot, row: HashedPriceRow, end: Retirement): PriceGap | undefined {
  const timeline = timelineOf(now, row, { end });
  for (const { atMs, before, after } of changesOf(now, row, timeline, end.fromMs)) {
    if (after.flaw === undefined || after.origin !== row.origin || before.flaw !== undefined) continue;
    return { fromMs: atMs, why: after.flaw, isOfRow: false };
  }
  return undefined;
}

function changesOf(
  { book }: PriceSnapshot,
  { provider, model }: PriceRow,
  after: Timeline,
  fromMs: number,
): Iterable<StandingChange> {
  const before = book.timeline(provider, model) ?? { keys: [] };
  return standingChanges(standingsOf(before), standingsOf(after), fromMs);
}

// The rows of one model alone: making the whole book takes longer, and they depend on no others.
function timelineOf(
  { book, ends }: PriceSnapshot,
  { provider, model }: PriceRow,
  { row, end }: { readonly row?: HashedPriceRow; readonly end?: Retirement },
): Timeline {
  const rows = book.rows.filter((each) => each.provider === provider && each.model === model);
  const all = [...rows, ...(row === undefined ? [] : [row])];
  const endsMs = new Map<string, number>();
  for (const { hash } of all) {
    const saidMs = [ends.get(hash)?.fromMs ?? [], end?.rowHash === hash ? end.fromMs : []].flat();
    if (saidMs.length > 0) endsMs.set(hash, Math.min(...saidMs));
  }
  return buildTimeline(all, endsMs);
}

/** What has been said of a name, by whoever adds to it, in the form of the addition. */
export function aliasesOfName({ records }: PriceSnapshot, alias: PriceAlias): readonly PriceAlias[] {
  return records.aliases.filter(
    (each) =>
      each.origin === alias.origin &&
      each.provider === alias.provider &&
      each.alias === alias.alias &&
      each.form === alias.form,
  );
}

/** Adds a name, or withdraws it. The newest of a name counts, so one that is there is the answer only where it is the newest. */
export function aliasAddition(now: PriceSnapshot, alias: PriceAlias): PriceChange<PriceAlias> {
  const ofName = aliasesOfName(now, alias);
  const newest = ofName.toSorted((a, b) => b.addedMs - a.addedMs)[0];
  if (newest?.targetProvider === alias.targetProvider && newest?.model === alias.model && newest !== undefined) {
    return { added: {}, answer: newest };
  }
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

/** Whether a unit is USD, in whatever case: what that is worth is nobody's to say. */
export function isDollars(unit: string): boolean {
  return unit === UNIT_DEFAULT || isMistypedDollars(unit);
}

function hasEnded({ ends }: PriceSnapshot, { hash, effectiveUntilMs }: HashedPriceRow, atMs: number): boolean {
  const endMs = ends.get(hash)?.fromMs;
  return (effectiveUntilMs !== undefined && effectiveUntilMs <= atMs) || (endMs !== undefined && endMs <= atMs);
}

function laterThan(others: readonly { readonly addedMs: number }[], addedMs: number): number {
  return others.reduce((latestMs, each) => Math.max(latestMs, each.addedMs + 1), addedMs);
}
