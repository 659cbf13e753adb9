// Whatever is decided or projected from the journal is first seen to be what was written: each row hashes to its hash, and each
// follows the one before. The verifier looks at whole trees; this looks at what the service is about to believe.
import { rowHash } from './entry-codec.ts';
import { arrayOf, integerOf, stringOf } from './json-text.ts';
import { CorruptJournalError } from './port.ts';

/** Where a row stands and what it hashes to. */
interface CheckedRow {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** In hex. */
  readonly prevHash: string;
  /** In hex. */
  readonly hash: string;
}

/** Checks the text of one row against what budgetd.chain_json says of it. Throws CorruptJournalError. */
export function checkRowOf(treeId: string, entriesText: string, chain: unknown): CheckedRow {
  const [first, last, at, prev, own] = arrayOf(chain, 5);
  const [firstSeq, lastSeq, prevHash, hash] = [integerOf(first), integerOf(last), stringOf(prev), stringOf(own)];
  if (rowHash(prevHash, { treeId, firstSeq, lastSeq, atMs: integerOf(at), entriesText }) !== hash) {
    throw new CorruptJournalError(`row ${firstSeq} to ${lastSeq} of ${treeId} is not what was hashed`);
  }
  return { firstSeq, lastSeq, prevHash, hash };
}

/**
 * Checks the texts of rows that follow each other against their chain. `headHash`: what the last of them must hash to, where
 * it is the last of its tree. Throws CorruptJournalError.
 */
export function checkChainOf(
  treeId: string,
  texts: readonly string[],
  chain: readonly unknown[] | null,
  headHash?: string,
): void {
  const rows = chain ?? [];
  if (rows.length !== texts.length) throw new CorruptJournalError(`the journal of ${treeId} has rows without a chain`);
  let before: CheckedRow | undefined;
  for (const [i, entriesText] of texts.entries()) {
    const row = checkRowOf(treeId, entriesText, rows[i]);
    if (before !== undefined && (row.prevHash !== before.hash || row.firstSeq !== before.lastSeq + 1)) {
      throw new CorruptJournalError(
        `row ${row.firstSeq} to ${row.lastSeq} of ${treeId} does not follow the row before`,
      );
    }
    before = row;
  }
  if (headHash !== undefined && before !== undefined && before.hash !== headHash) {
    throw new CorruptJournalError(`the journal of ${treeId} does not lead to its head`);
  }
}
