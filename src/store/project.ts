// Brings projected tables forward in bulk: folded row changes of many trees in one call (sql/0006), each tree guarded by
// its projected sequence, so that any replica may do it at any time.
import type { Entry } from '../kernel/entry.ts';
import type { TreeId } from '../kernel/names.ts';
import { foldChanges, NO_CHANGES } from './fold-changes.ts';
import { scalarArray, textArray } from './pg-array.ts';
import { ProjectionMismatchError, StoreUnavailableError, type TreeEntries } from './port.ts';
import { columnsOf } from './project-columns.ts';
import type { Runs, Sql } from './sql-client.ts';
import { asksForRetry, codeOf, SQLSTATE_PROJECTION_MISMATCH } from './sql-errors.ts';

// Each round either finishes a tree or finds that another projector moved it on. With a handful of replicas a tree is
// settled within two rounds; more means that something is wrong, and the next pass of the projector tries again.
const ROUND_COUNT_MAX = 5;

/** Projects a batch. See Store.project. Throws ProjectionMismatchError where an entry does not fit its tree. */
export async function projectBatch(client: Runs, batch: readonly TreeEntries[]): Promise<ReadonlyMap<TreeId, number>> {
  const projected = new Map<TreeId, number>();
  // The same order everywhere: two projectors that meet wait for each other instead of locking each other out.
  let open = batch.toSorted((a, b) => (a.treeId < b.treeId ? -1 : 1));
  for (let round = 0; open.length > 0; round++) {
    if (round === ROUND_COUNT_MAX) throw new StoreUnavailableError('the projection is contended');
    const part = open;
    const seqs = await client.run((sql) => callProject(sql, part));
    if (seqs === undefined) continue;
    open = [];
    part.forEach(({ treeId, entries }, i) => {
      const seq = seqs[i] as number;
      projected.set(treeId, seq);
      const rest = entries.filter((entry) => entry.seq > seq);
      if (rest.length > 0 && rest.length < entries.length && follows(rest, seq)) open.push({ treeId, entries: rest });
    });
  }
  return projected;
}

function follows(entries: readonly Entry[], seq: number): boolean {
  return entries[0]?.seq === seq + 1;
}

/** Projected sequences in the order of the batch; undefined where the database asks for a retry. */
async function callProject(sql: Sql, batch: readonly TreeEntries[]): Promise<readonly number[] | undefined> {
  // A tree without entries changes nothing: the guard leaves it as it is and says where it stands.
  const changes = batch.map(({ entries }) => (entries.length === 0 ? NO_CHANGES : foldChanges(entries)));
  const c = columnsOf(changes);
  try {
    const [row] = await sql<[{ seqs: string }]>`SELECT budgetd.project_batch(
      ${textArray(batch.map((part) => part.treeId))}, ${scalarArray(changes.map((change) => change.fromSeq))},
      ${scalarArray(changes.map((change) => change.toSeq))}, ${scalarArray(changes.map((change) => change.atMs))},
      ${scalarArray(changes.map((change) => change.budgetNoMax))},
      ${c.budgetNumbers}, ${c.budgetTexts}, ${c.counterNumbers}, ${c.rateNumbers}, ${c.rateLevels}, ${c.alertNumbers},
      ${c.newCount}, ${c.figureNumbers}, ${c.figureTexts}, ${c.grantNumbers}, ${c.grantTexts}, ${c.priceLines},
      ${c.replacedNumbers}, ${c.replacedTexts}, ${c.queueNumbers}, ${c.queueTexts})::text AS seqs`;
    return row.seqs.slice(1, -1).split(',').map(Number);
  } catch (error) {
    if (asksForRetry(error)) return undefined;
    if (codeOf(error) === SQLSTATE_PROJECTION_MISMATCH) {
      throw new ProjectionMismatchError('an entry does not fit what is projected of its tree', { cause: error });
    }
    throw error;
  }
}
