// A price book as additions see it, for tests that make one without a store.
import { NO_PRICE_RECORDS, type PriceRecords } from '../../src/lane/price-records.ts';
import type { PriceSnapshot } from '../../src/lane/prices.ts';
import { buildPriceBook, type Retirement } from '../../src/pricing/price-book.ts';

/** Of these records and no others. */
export function priceSnapshot(parts: Partial<PriceRecords>): PriceSnapshot {
  const records = { ...NO_PRICE_RECORDS, ...parts };
  const ends = new Map<string, Retirement>();
  for (const end of records.retirements) {
    const known = ends.get(end.rowHash);
    if (known === undefined || end.fromMs < known.fromMs) ends.set(end.rowHash, end);
  }
  return { book: buildPriceBook(records), ends, records };
}
