// Brings projected tables forward in bulk: folded row changes of many trees in one call (sql/0006), each tree guarded by
// its projected sequence, so that any replica may do it at any time.
import type { Entry } from '../kernel/entry.ts';
import type { TreeId } from '../kernel/names.ts';
import { budgetDefText } from './budget-def-codec.ts';
import { foldChanges, type ReservationRow, type TreeChanges } from './fold-changes.ts';
import { scalarArray, textArray } from './pg-array.ts';
import { ProjectionMismatchError, StoreUnavailableError, type TreeEntries } from './port.ts';
import type { Runs, Sql } from './sql-client.ts';
import { asksForRetry, codeOf, SQLSTATE_PROJECTION_MISMATCH } from './sql-errors.ts';

// Each round either finishes a tree or finds that another projector moved it on. With a handful of replicas a tree is
// settled within two rounds; more means that something is wrong, and the next pass of the projector tries again.
const ROUND_COUNT_MAX = 5;

/** Projects a batch. See Store.project. Throws ProjectionMismatchError where an entry does not fit its tree. */
export async function projectBatch(client: Runs, batch: readonly TreeEntries[]): Promise<ReadonlyMap<TreeId, number>> {
  const projected = new Map<TreeId, number>();
  // The same order everywhere: two projectors that meet wait for each other instead of locking each other out.
  let open = batch.filter(({ entries }) => entries.length > 0).sort((a, b) => (a.treeId < b.treeId ? -1 : 1));
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
  const changes = batch.map(({ entries }) => foldChanges(entries));
  const b = budgetColumns(changes);
  const c = counterColumns(changes);
  const r = reservationColumns(changes);
  try {
    const [row] = await sql<[{ seqs: string }]>`SELECT budgetd.project_batch(
      ${textArray(batch.map((part) => part.treeId))}, ${scalarArray(changes.map((change) => change.fromSeq))},
      ${scalarArray(changes.map((change) => change.toSeq))}, ${scalarArray(changes.map((change) => change.atMs))},
      ${scalarArray(changes.map((change) => change.budgetNoMax))},
      ${b.trees}, ${b.nos}, ${b.parentNos}, ${b.paths}, ${b.uncapped}, ${b.labelSeqs}, ${b.defs},
      ${c.trees}, ${c.budgetNos}, ${c.windowNos}, ${c.periodMs}, ${c.held}, ${c.settled}, ${c.overrun}, ${c.active},
      ${r.trees}, ${r.ids}, ${r.isNew}, ${r.budgetNos}, ${r.accounts}, ${r.createMs}, ${r.holders}, ${r.grantSeqs},
      ${r.labelSeqs}, ${r.states}, ${r.requested}, ${r.granted}, ${r.held}, ${r.settled}, ${r.released}, ${r.overrun},
      ${r.estimatedMicros}, ${r.lapsedHeld}, ${r.expireMs}, ${r.reclaimMs}, ${r.ttlMs}, ${r.endMs}, ${r.late},
      ${r.estimated}, ${r.started}, ${r.outcomes}, ${r.releaseReasons})::text AS seqs`;
    return row.seqs.slice(1, -1).split(',').map(Number);
  } catch (error) {
    if (asksForRetry(error)) return undefined;
    if (codeOf(error) === SQLSTATE_PROJECTION_MISMATCH) {
      throw new ProjectionMismatchError('an entry does not fit what is projected of its tree', { cause: error });
    }
    throw error;
  }
}

function budgetColumns(changes: readonly TreeChanges[]) {
  const rows = changes.flatMap((change, i) => [...change.budgets.values()].map((row) => ({ place: i + 1, ...row })));
  return {
    trees: scalarArray(rows.map((row) => row.place)),
    nos: scalarArray(rows.map((row) => row.def.no)),
    parentNos: scalarArray(rows.map((row) => row.def.parentNo)),
    paths: textArray(rows.map((row) => row.def.path)),
    uncapped: scalarArray(rows.map((row) => row.def.uncapped)),
    labelSeqs: scalarArray(rows.map((row) => row.labelSeq)),
    defs: textArray(rows.map((row) => budgetDefText(row.def))),
  };
}

function counterColumns(changes: readonly TreeChanges[]) {
  const rows = changes.flatMap((change, i) => [...change.counters.values()].map((row) => ({ place: i + 1, ...row })));
  return {
    trees: scalarArray(rows.map((row) => row.place)),
    budgetNos: scalarArray(rows.map((row) => row.budgetNo)),
    windowNos: scalarArray(rows.map((row) => row.windowNo)),
    periodMs: scalarArray(rows.map((row) => row.periodMs)),
    held: scalarArray(rows.map((row) => row.heldMicros)),
    settled: scalarArray(rows.map((row) => row.settledMicros)),
    overrun: scalarArray(rows.map((row) => row.overrunMicros)),
    active: scalarArray(rows.map((row) => row.active)),
  };
}

function reservationColumns(changes: readonly TreeChanges[]) {
  const places: number[] = [];
  const rows: ReservationRow[] = [];
  changes.forEach((change, i) => {
    for (const row of change.reservations.values()) {
      places.push(i + 1);
      rows.push(row);
    }
  });
  const grants = rows.map((row) => row.granted?.reservation);
  const figures = rows.map((row) => row.figures);
  return {
    trees: scalarArray(places),
    ids: textArray(rows.map((row) => row.id)),
    isNew: scalarArray(rows.map((row) => row.granted !== undefined)),
    budgetNos: scalarArray(grants.map((grant) => grant?.budgetNo)),
    accounts: textArray(
      grants.map((grant) => grant && scalarArray(grant.accounts.flatMap((a) => [a.budgetNo, a.windowNo, a.periodMs]))),
    ),
    createMs: scalarArray(grants.map((grant) => grant?.createMs)),
    holders: textArray(grants.map((grant) => grant?.holder)),
    grantSeqs: scalarArray(rows.map((row) => row.granted?.seq)),
    labelSeqs: textArray(rows.map((row) => (row.labelSeqs.length > 0 ? scalarArray(row.labelSeqs) : undefined))),
    states: textArray(figures.map((f) => f.state)),
    requested: scalarArray(figures.map((f) => f.requestedMicros)),
    granted: scalarArray(figures.map((f) => f.grantedMicros)),
    held: scalarArray(figures.map((f) => f.heldMicros)),
    settled: scalarArray(figures.map((f) => f.settledMicros)),
    released: scalarArray(figures.map((f) => f.releasedMicros)),
    overrun: scalarArray(figures.map((f) => f.overrunMicros)),
    estimatedMicros: scalarArray(figures.map((f) => f.estimatedMicros)),
    lapsedHeld: scalarArray(figures.map((f) => f.lapsedHeldMicros)),
    expireMs: scalarArray(figures.map((f) => f.expireMs)),
    reclaimMs: scalarArray(figures.map((f) => f.reclaimMs)),
    ttlMs: scalarArray(figures.map((f) => f.ttlMs)),
    endMs: scalarArray(figures.map((f) => f.endMs)),
    late: scalarArray(figures.map((f) => f.late)),
    estimated: scalarArray(figures.map((f) => f.estimated)),
    started: scalarArray(figures.map((f) => f.started)),
    outcomes: textArray(figures.map((f) => f.outcome)),
    releaseReasons: textArray(figures.map((f) => f.releaseReason)),
  };
}
