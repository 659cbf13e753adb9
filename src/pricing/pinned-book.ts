// The rows that a reservation pinned, as they are found again: by usage that is charged to it, and by another call that is added to
// it. Both must find the same, since what the one promises the other has to keep.
import type { ModelName } from './model-call.ts';
import type { PriceBook } from './price-book.ts';
import type { PricePins } from './price-pins.ts';
import type { HashedPriceRow } from './price-row.ts';
import { type PriceSet, priceSetOf } from './price-set.ts';

/** Whether something is of a model, for a list to be looked through. */
export const isOf =
  (name: ModelName) =>
  ({ provider, model }: ModelName): boolean =>
    provider === name.provider && model === name.model;

/** The rows that pins name; undefined where the book lacks one. */
export function pinnedRows(book: PriceBook, { rowHashes }: PricePins): readonly HashedPriceRow[] | undefined {
  const rows: HashedPriceRow[] = [];
  for (const hash of rowHashes) {
    const row = book.row(hash);
    if (row === undefined) return undefined;
    rows.push(row);
  }
  return rows;
}

/** Those of one model as a set; undefined where none is pinned. */
export function pinnedSet(
  book: PriceBook,
  pinned: readonly HashedPriceRow[],
  name: ModelName,
  atMs: number,
): PriceSet | undefined {
  const rows = pinned.filter(isOf(name));
  if (rows.length === 0) return undefined;
  // Mostly nothing has changed since, and the book has the very set already.
  const current = book.priceSet(name.provider, name.model, atMs);
  const isCurrent = current?.rows.length === rows.length && current.rows.every((row) => rows.includes(row));
  return isCurrent ? current : priceSetOf(rows);
}

/**
 * The book as a further call of a reservation is priced by it: models and the unit that have pins by these, whatever counts now,
 * and others by the book. Rows that pins name and the book lacks are passed over: usage of them is refused.
 */
export function pinnedBook(book: PriceBook, pins: PricePins): PriceBook {
  const pinned = pins.rowHashes.flatMap((hash) => book.row(hash) ?? []);
  return {
    ...book,
    priceSet: (provider, model, atMs) => {
      // What an alias stood for then, even where the name has been withdrawn since.
      const alias = pins.aliases?.find(isOf({ provider, model }));
      const name = alias?.target ?? book.resolve(provider, model) ?? { provider, model };
      return pinnedSet(book, pinned, name, atMs) ?? book.priceSet(provider, model, atMs);
    },
    unitRow: (unit, atMs) =>
      pins.unitRowHash === undefined ? book.unitRow(unit, atMs) : book.unitRowByHash(pins.unitRowHash),
  };
}

/** The first name that stood for another model when it was pinned: usage under it would be of one model, or of the other. */
export function movedName(book: PriceBook, pins: PricePins, names: readonly ModelName[]): ModelName | undefined {
  return names.find((name) => {
    const alias = pins.aliases?.find(isOf(name));
    const now = alias && book.resolve(name.provider, name.model);
    return alias !== undefined && now !== undefined && !isOf(alias.target)(now);
  });
}
