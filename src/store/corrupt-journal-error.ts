// The one error that says: stored bytes are not what this program wrote. Stands alone because the codec, the chain check
// and everybody who quarantines a tree share it.

/** Thrown where stored bytes can't be read: unknown version or type, malformed figures, a broken chain. */
export class CorruptJournalError extends Error {
  override readonly name = 'CorruptJournalError';
}
