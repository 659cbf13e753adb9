// What of a request outlives its decision: it stays with a reservation that waits, and with the entry that answers it.
import type { CallToPrice } from './price.ts';

/** An idempotency key as the kernel sees it. */
export interface CommandKey {
  /** Digest of method, resource and key: 16 bytes in base64url. */
  readonly digest: string;
  /** Digest of every other field that the client set, personal ones left out: 16 bytes in base64url. */
  readonly fingerprint: string;
}

/** A cheaper way to do the work, for a budget that degrades. */
export interface Alternative {
  readonly label: string;
  /** Range 0 to the amount of its Reserve; granted whole or not at all. 0 where it is that of `call`. */
  readonly maxMicros: bigint;
  /** Instead of an amount. One that has no price, or comes to more than the Reserve, is passed over. */
  readonly call?: CallToPrice;
}
