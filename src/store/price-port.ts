// What the lane asks of a store for the price book. Apart from the port of the journal because prices belong to no tree. A store
// keeps texts and hashes; what they mean the lane knows.

/** What a record is: a price row, another name of a model, the worth of a unit, the end of a row, or an import of a catalogue. */
export type StoredPriceKind = 'row' | 'alias' | 'unit_row' | 'retirement' | 'import';

/** A record. Never changed, never removed. */
export interface StoredPrice {
  readonly kind: StoredPriceKind;
  /** SHA-256 of the body in base64url without padding: its key among those of its kind. */
  readonly hash: string;
  /** What it means. */
  readonly body: string;
  readonly origin: 'operator' | 'catalogue';
  readonly addedBy: string;
  /** By the coordinator's clock, ms since 1970. */
  readonly addedMs: number;
}

/** The store of the price book. */
export interface PriceStore {
  /** Every record, in one snapshot, in no order. Throws StoreUnavailableError. */
  loadPrices(): Promise<readonly StoredPrice[]>;
  /**
   * Adds records, all or none. One that is there, of the same kind and hash, stays as it was added first. `fenced`: another epoch
   * rules, and nothing was added. Throws StoreUnavailableError, which says nothing about the outcome; repeating is safe.
   */
  addPrices(epoch: number, records: readonly StoredPrice[]): Promise<'added' | 'fenced'>;
}
