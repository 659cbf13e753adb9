// What of a request outlives its decision: it stays with a reservation that waits, and with the entry that answers it.

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
  /** Range 0 to the maxMicros of its Reserve; granted whole or not at all. */
  readonly maxMicros: bigint;
}
