// What the api sees of the price book: one snapshot to read, one way to add, and how it stands. Stands alone so that the api knows
// nothing of leases, stores or imports.
import type { Refusal } from '../kernel/refusal.ts';
import type { CatalogueNote } from '../pricing/catalogue.ts';
import type { PriceBook, Retirement } from '../pricing/price-book.ts';
import type { CatalogueVersion, PriceRecords } from './price-records.ts';
import type { UnknownPriceNote } from './unknown-prices.ts';

/** The book at one moment; never changes. */
export interface PriceSnapshot {
  readonly book: PriceBook;
  /** Of each retired row the earliest end that was said. */
  readonly ends: ReadonlyMap<string, Retirement>;
  readonly records: PriceRecords;
}

/** What a change adds, and what its caller is told; nothing added where all of it is there. */
export interface PriceChange<T> {
  readonly added: Partial<PriceRecords>;
  readonly answer: T;
}

/** How the book stands. */
export interface PricesStatus {
  /** Whether this process has a book: it leads, and has read it. The figures are 0 else. */
  readonly loaded: boolean;
  /** Why the book can't be read as it was written; undefined: it can, or the store does not answer, or this process doesn't lead. */
  readonly problem: string | undefined;
  /** The newest version of a catalogue that was imported; undefined: none ever was. */
  readonly catalogue: CatalogueVersion | undefined;
  /** Since it was imported first, in milliseconds; 0 where none was. */
  readonly catalogueAgeMs: number;
  /** Whether that is longer than an operator lets it be. */
  readonly stale: boolean;
  readonly rowCount: number;
  readonly aliasCount: number;
  readonly unitRowCount: number;
  readonly retirementCount: number;
  /** What the last import did not take. */
  readonly notes: readonly CatalogueNote[];
  /** Refusals for want of a price since the process started. */
  readonly unknownCount: number;
  /** The latest of them first, by budget and model; bounded. */
  readonly unknown: readonly UnknownPriceNote[];
}

/** The price book, as the api uses it. */
export interface Prices {
  /** The book as this process has it; a refusal where it does not lead, or has not read it. */
  read(): PriceSnapshot | Refusal;
  /**
   * Adds to the book, in turn with all other additions: `make` sees those before it, and is given the time at which what it adds
   * is added. The answer comes once it is durable and in force here; also where nothing had to be added it comes only while this
   * process leads. Rejects only for a fault of the program.
   */
  change<T, R extends { readonly kind: 'refusal' } = never>(
    make: (now: PriceSnapshot, nowMs: number) => PriceChange<T> | R,
  ): Promise<T | R | Refusal>;
  /** Output tokens of a choice where a call names no maximum. */
  readonly outputTokensDefault: number;
  status(): PricesStatus;
}
