// Reads of the journal past the lane's cache: entries by key, entries in order, and which trees need work.
import type { Entry } from '../kernel/entry.ts';
import type { TreeId } from '../kernel/names.ts';
import { digestBytes } from './append.ts';
import { checkChainOf } from './check-chain.ts';
import { decodeEntries } from './entry-codec.ts';
import type { DueTree } from './port.ts';
import { personalLookup } from './projected-rows.ts';
import type { Runs } from './sql-client.ts';

/** The entries that answer these digests. See Store.findKeys. */
export async function findKeys(client: Runs, treeId: TreeId, digests: readonly string[]): Promise<Entry[]> {
  if (digests.length === 0) return [];
  const rows = await client.run(
    (sql) => sql<{ entry: string; personal: readonly unknown[] | null }[]>`
      SELECT * FROM budgetd.find_keys(${treeId}, ${digestBytes(digests)})`,
  );
  return rows.flatMap((row) => decodeEntries(`[${row.entry}]`, personalLookup(row.personal)));
}

/** Entries after a sequence, oldest first. See Store.readEntries. */
export async function readEntries(client: Runs, treeId: TreeId, afterSeq: number, countMax: number): Promise<Entry[]> {
  const [row] = await client.run(
    (sql) => sql<[{ entries: string | null; personal: readonly unknown[] | null; chain: readonly unknown[] | null }]>`
      SELECT r.*, CASE WHEN r.entries IS NOT NULL THEN budgetd.journal_chain(${treeId}, ${afterSeq},
          cardinality(string_to_array(r.entries, E'\\n'))) END AS chain
      FROM budgetd.read_entries(${treeId}, ${afterSeq}, ${countMax}) AS r`,
  );
  if (row.entries === null) return [];
  const texts = row.entries.split('\n');
  checkChainOf(treeId, texts, row.chain);
  const personalOf = personalLookup(row.personal);
  return texts.flatMap((text) => decodeEntries(text, personalOf)).filter((entry) => entry.seq > afterSeq);
}

/** Trees whose projection is behind. See Store.unprojectedTrees. */
export async function unprojectedTrees(client: Runs, countMax: number) {
  const rows = await client.run(
    (sql) => sql<{ tree: TreeId; projected_seq: string }[]>`
      SELECT h.tree, coalesce(p.seq, 0) AS projected_seq
      FROM budgetd.tree_heads h LEFT JOIN budgetd.projection_heads p ON p.tree = h.tree
      WHERE h.seq > coalesce(p.seq, 0)
        AND NOT EXISTS (SELECT FROM budgetd.quarantine q WHERE q.tree = h.tree)
      LIMIT ${countMax}`,
  );
  return rows.map((row) => ({ treeId: row.tree, projectedSeq: Number(row.projected_seq) }));
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
