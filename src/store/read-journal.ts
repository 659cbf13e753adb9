// Reads of the journal past the lane's cache: entries by key, entries in order, and which trees need work.
import type { Entry } from '../kernel/entry.ts';
import type { TreeId } from '../kernel/names.ts';
import { digestBytes } from './append.ts';
import { checkChainOf, checkRowOf } from './check-chain.ts';
import { decodeEntries, decodePicked } from './entry-codec.ts';
import { arrayOf, integerOf } from './json-text.ts';
import { CorruptJournalError, type DueTree } from './port.ts';
import { personalLookup } from './projected-rows.ts';
import type { TreeHead } from './reads.ts';
import type { Runs } from './sql-client.ts';

// A batch of the lane holds about as many; more go in several calls.
const DIGEST_COUNT_MAX = 1_024;
// Ten full rows of the journal, read and picked from in about 50 ms. Old keys may be spread over as many rows as there are keys.
const FOUND_BYTES_MAX = 4 * 1024 * 1024;
// Some 10 ms of the database's time a step: short beside the statement time-out, long beside the round trip.
const SCAN_COUNT = 10_000;

/** The entries that answer these digests. See Store.findKeys. */
export async function findKeys(client: Runs, treeId: TreeId, digests: readonly string[]): Promise<Entry[]> {
  const found: Entry[] = [];
  let open = [...new Set(digests)];
  while (open.length > 0) {
    const page = open.slice(0, DIGEST_COUNT_MAX);
    const { entries, isWhole } = await findKeyPage(client, treeId, page);
    found.push(...entries);
    const seen = new Set(isWhole ? page : entries.map(({ key }) => key?.digest));
    open = open.filter((digest) => !seen.has(digest));
  }
  return found;
}

interface KeyRow {
  readonly seqs: readonly unknown[];
  readonly entries: string;
  readonly chain: readonly unknown[];
  readonly personal: readonly unknown[] | null;
  readonly is_last: boolean;
}

/** `isWhole`: every digest of the page that is known was found; otherwise at least one was. */
async function findKeyPage(client: Runs, treeId: TreeId, digests: readonly string[]) {
  const rows = await client.run(
    (sql) => sql<KeyRow[]>`
      SELECT * FROM budgetd.find_keys(${treeId}, ${digestBytes(digests)}, ${FOUND_BYTES_MAX})`,
  );
  const wanted = new Set(digests);
  const entries = rows.flatMap((row) => {
    const { firstSeq } = checkRowOf(treeId, row.entries, row.chain);
    const places = arrayOf(row.seqs).map((seq) => integerOf(seq) - firstSeq);
    return decodePicked(row.entries, places, personalLookup(row.personal));
  });
  for (const { seq, key } of entries) {
    if (key === undefined || !wanted.has(key.digest)) {
      throw new CorruptJournalError(`a key of ${treeId} leads to entry ${seq}, which has another`);
    }
  }
  return { entries, isWhole: rows.at(-1)?.is_last ?? true };
}

/** Entries after a sequence, oldest first. See Store.readEntries. */
export async function readEntries(client: Runs, treeId: TreeId, afterSeq: number, countMax: number): Promise<Entry[]> {
  const [row] = await client.run(
    (sql) => sql<[{ entries: string | null; chain: readonly unknown[] | null; personal: readonly unknown[] | null }]>`
      SELECT * FROM budgetd.read_entries(${treeId}, ${afterSeq}, ${countMax})`,
  );
  if (row.entries === null) return [];
  const texts = row.entries.split('\n');
  checkChainOf(treeId, texts, row.chain);
  const personalOf = personalLookup(row.personal);
  return texts.flatMap((text) => decodeEntries(text, personalOf)).filter((entry) => entry.seq > afterSeq);
}

/** Entries for readers. See ReadModels.readEvents. */
export async function readEvents(client: Runs, treeId: TreeId, afterSeq: number, countMax: number): Promise<Entry[]> {
  // A row comes whole; it may hold more than is asked for.
  return (await readEntries(client, treeId, afterSeq, countMax)).slice(0, countMax);
}

/** Heads of trees. See ReadModels.treeHeads. */
export async function treeHeads(
  client: Runs,
  after: TreeId | undefined,
  countMax: number,
  movedAfterMs?: number,
): Promise<TreeHead[]> {
  const rows = await client.run(
    (sql) => sql<{ tree: TreeId; seq: string; at_ms: string }[]>`
      SELECT h.tree, h.seq, h.at_ms FROM budgetd.tree_heads h WHERE h.tree > ${after ?? ''}
        ${movedAfterMs === undefined ? sql`` : sql`AND h.at_ms > ${movedAfterMs}`}
      ORDER BY h.tree LIMIT ${countMax}`,
  );
  return rows.map((row) => ({ treeId: row.tree, seq: Number(row.seq), atMs: Number(row.at_ms) }));
}

/** Where a tree's journal stood at an instant, or stands. See ReadModels.seqThrough. */
export async function seqThrough(client: Runs, treeId: TreeId, atMs?: number): Promise<number> {
  const [row] = await client.run((sql) =>
    atMs === undefined
      ? sql<{ seq: string }[]>`SELECT h.seq FROM budgetd.tree_heads h WHERE h.tree = ${treeId}`
      : // From the end: what is asked about is recent.
        sql<{ seq: string }[]>`
          SELECT j.last_seq AS seq FROM budgetd.journal j WHERE j.tree = ${treeId} AND j.at <= budgetd.at_of_ms(${atMs})
          ORDER BY j.last_seq DESC LIMIT 1`,
  );
  return Number(row?.seq ?? 0);
}

/** Trees whose projection is behind. See Store.unprojectedTrees. */
export async function unprojectedTrees(client: Runs, countMax: number, after?: TreeId) {
  const found: { treeId: TreeId; projectedSeq: number }[] = [];
  for (let from: string | undefined = after ?? ''; from !== undefined && found.length < countMax; ) {
    const afterTree: string = from;
    const rows = await client.run(
      (sql) => sql<{ tree: TreeId; projected_seq: string | null; is_last: boolean }[]>`
        SELECT * FROM budgetd.unprojected_trees(${afterTree}, ${SCAN_COUNT})`,
    );
    from = undefined;
    for (const { tree, projected_seq: seq, is_last: isLast } of rows) {
      if (seq !== null) found.push({ treeId: tree, projectedSeq: Number(seq) });
      if (isLast) from = tree;
    }
  }
  return found.slice(0, countMax);
}

/** Trees with live reservations that are due. See Store.dueTrees. */
export async function dueTrees(
  client: Runs,
  nowMs: number,
  after: DueTree | undefined,
  countMax: number,
): Promise<DueTree[]> {
  const rows = await client.run(
    (sql) => sql<{ tree: TreeId; next_reclaim_ms: string }[]>`
      SELECT p.tree, p.next_reclaim_ms FROM budgetd.projection_heads p
      WHERE p.next_reclaim_ms <= ${nowMs}
        AND (p.next_reclaim_ms, p.tree) > (${after?.reclaimMs ?? Number.MIN_SAFE_INTEGER}, ${after?.treeId ?? ''})
        AND NOT EXISTS (SELECT FROM budgetd.quarantine q WHERE q.tree = p.tree)
      ORDER BY p.next_reclaim_ms, p.tree LIMIT ${countMax}`,
  );
  return rows.map((row) => ({ treeId: row.tree, reclaimMs: Number(row.next_reclaim_ms) }));
}
