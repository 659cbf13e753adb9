// Walks a tree's stored rows and finds any edit: each row must follow the one before it, its hash must be that of its own
// bytes, and the last one must be where the guard says. Then gives the entries decoded.
import type { Entry } from '../kernel/entry.ts';
import type { TreeId } from '../kernel/names.ts';
import type { Audit, JournalRow } from './audit.ts';
import { decodeEntries, rowHash } from './entry-codec.ts';
import { CorruptJournalError, GENESIS_HASH, type Head } from './port.ts';

/** Where a check begins and ends. A tree without entries has seq 0, GENESIS_HASH and atMs 0. */
const GENESIS: Head = { seq: 0, hash: GENESIS_HASH, atMs: 0 };

/**
 * Yields a tree's entries row by row, checked. Personal fields are left out (`salt` undefined). Goes on from `after` where
 * that is given, else from the beginning. Throws CorruptJournalError at the first row that is not as it was written. The
 * caller compares the end with the head.
 */
export async function* readCheckedRows(
  audit: Pick<Audit, 'readRows'>,
  treeId: TreeId,
  after: Head = GENESIS,
): AsyncGenerator<{ readonly row: JournalRow; readonly entries: readonly Entry[] }> {
  let head = after;
  for await (const row of audit.readRows(treeId, after.seq)) {
    const entries = checkRow(row, head);
    head = { seq: row.lastSeq, hash: row.hash, atMs: row.atMs };
    yield { row, entries };
  }
}

/** What checkChain found. */
export interface ChainCheck {
  /** Where the stored rows end, as far as they are good. */
  readonly end: Head;
  /** What is wrong, in words; undefined where nothing is. */
  readonly problem: string | undefined;
}

/** Checks a tree's whole chain against its head. Returns the first problem instead of throwing it. */
export async function checkChain(audit: Pick<Audit, 'readRows' | 'readStanding'>, treeId: TreeId): Promise<ChainCheck> {
  // The head first: rows that are appended while this runs only lead past it.
  const standing = await audit.readStanding(treeId);
  let end = GENESIS;
  let passed = standing === undefined;
  try {
    for await (const { row } of readCheckedRows(audit, treeId)) {
      end = { seq: row.lastSeq, hash: row.hash, atMs: row.atMs };
      if (standing !== undefined && end.seq === standing.head.seq) passed = end.hash === standing.head.hash;
    }
  } catch (error) {
    if (!(error instanceof CorruptJournalError)) throw error;
    return { end, problem: error.message };
  }
  if (standing === undefined && end.seq > 0) return { end, problem: `tree ${treeId} has journal rows but no head` };
  if (!passed) return { end, problem: `the journal of ${treeId} does not lead to its head` };
  return { end, problem: undefined };
}

function checkRow(row: JournalRow, head: Head): readonly Entry[] {
  const where = `row ${row.firstSeq} to ${row.lastSeq} of ${row.treeId}`;
  if (row.firstSeq !== head.seq + 1 || row.prevHash !== head.hash) {
    throw new CorruptJournalError(`${where} does not follow sequence ${head.seq}`);
  }
  if (rowHash(row.prevHash, row) !== row.hash) throw new CorruptJournalError(`${where} is not what was hashed`);
  const entries = decodeEntries(row.entriesText, () => undefined);
  if (entries.length !== row.lastSeq - row.firstSeq + 1) throw new CorruptJournalError(`${where} has other entries`);
  let atMs = head.atMs;
  entries.forEach((entry, i) => {
    if (entry.seq !== row.firstSeq + i) throw new CorruptJournalError(`${where} has entry ${entry.seq} out of place`);
    if (entry.atMs < atMs) throw new CorruptJournalError(`entry ${entry.seq} of ${row.treeId} goes back in time`);
    atMs = entry.atMs;
  });
  if (atMs !== row.atMs) throw new CorruptJournalError(`${where} is not of the time of its last entry`);
  return entries;
}
