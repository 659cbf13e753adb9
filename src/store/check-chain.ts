// Whatever is decided or projected from the journal is first seen to be what was written: each row hashes to its hash, and each
// follows the one before. The verifier looks at whole trees; this looks at what the service is about to believe.
import { rowHash } from './entry-codec.ts';
import { arrayOf, integerOf, stringOf } from './json-text.ts';
import { CorruptJournalError } from './port.ts';

/**
 * Checks the texts of rows that follow each other against their chain, as budgetd.journal_chain gives it. `headHash`: what the
 * last of them must hash to, where it is the last of its tree. Throws CorruptJournalError.
 */
export function checkChainOf(
  treeId: string,
  texts: readonly string[],
  chain: readonly unknown[] | null,
  headHash?: string,
): void {
  const rows = chain ?? [];
  if (rows.length !== texts.length) throw new CorruptJournalError(`the journal of ${treeId} has rows without a chain`);
  let before: { readonly lastSeq: number; readonly hash: string } | undefined;
  for (const [i, entriesText] of texts.entries()) {
    const [first, last, at, prev, own] = arrayOf(rows[i], 5);
    const [firstSeq, lastSeq, prevHash, hash] = [integerOf(first), integerOf(last), stringOf(prev), stringOf(own)];
    const where = `row ${firstSeq} to ${lastSeq} of ${treeId}`;
    if (rowHash(prevHash, { treeId, firstSeq, lastSeq, atMs: integerOf(at), entriesText }) !== hash) {
      throw new CorruptJournalError(`${where} is not what was hashed`);
    }
    if (before !== undefined && (prevHash !== before.hash || firstSeq !== before.lastSeq + 1)) {
      throw new CorruptJournalError(`${where} does not follow the row before`);
    }
    before = { lastSeq, hash };
  }
  if (headHash !== undefined && before !== undefined && before.hash !== headHash) {
    throw new CorruptJournalError(`the journal of ${treeId} does not lead to its head`);
  }
}
