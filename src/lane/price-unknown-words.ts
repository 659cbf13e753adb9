// The words that PRICE_UNKNOWN says why in, all of them: callers and operators act by them, so that what is written for them has to
// name each.
import { UNPRICED_WHYS } from '../pricing/estimate.ts';

/**
 * Beside those of a call: `unknown_price`, no pinned row prices what was used; `book_unreadable`, the price book can't be read as it
 * was written. Where it is the tree's unit that has no price, there is none.
 */
export const PRICE_UNKNOWN_WORDS = [...UNPRICED_WHYS, 'unknown_price', 'book_unreadable'] as const;

/** One of them. */
export type PriceUnknownWord = (typeof PRICE_UNKNOWN_WORDS)[number];
