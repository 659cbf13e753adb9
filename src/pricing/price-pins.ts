// What a reservation keeps of the prices it was estimated with, so that its usage is priced by the same rows whatever is added
// later. Plain texts: the journal holds them, and nothing but pricing reads them.

import type { ModelName } from './model-call.ts';

/** A candidate that was named by an alias, and the model that the alias stood for then. */
export interface PinnedAlias extends ModelName {
  readonly target: ModelName;
}

/**
 * Most rows that a reservation pins, however often it is extended: eight of each of the candidates of a call. All of them are written
 * down with each Extend and sent with each answer.
 */
export const PINNED_ROWS_MAX = 256;

/** Most aliases that a reservation pins: twice the candidates of a call. */
export const PINNED_ALIASES_MAX = 64;

/** The pins of one reservation. */
export interface PricePins {
  /** Hashes of every row that could price the call: all tiers and bands of every candidate. */
  readonly rowHashes: readonly string[];
  /** Candidates that were named by aliases; absent where none was. An alias may stand for something else later. */
  readonly aliases?: readonly PinnedAlias[];
  /** Hash of the row of the tree's unit; absent in trees that count in USD. */
  readonly unitRowHash?: string;
  /** What the call asked for, as in ModelCall: usage that does not say how it was served is priced by it. */
  readonly serviceTier?: string;
  readonly inferenceGeo?: string;
  readonly cacheTtl?: string;
  /** Searches that the call may run, in which usage has to tell their number; left out where it may run none. */
  readonly searches?: readonly ('web_search' | 'file_search')[];
}
