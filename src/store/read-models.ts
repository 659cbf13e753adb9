// Lists for readers, from the projected tables. Pages by key, so that a page costs the same wherever it begins.
import { type BudgetPath, chainOf, type ReservationId, type TreeId, treeOf } from '../kernel/names.ts';
import type { Reservation, ReservationState } from '../kernel/reservation.ts';
import { textArray } from './pg-array.ts';
import { reservationsOf } from './projected-rows.ts';
import type { ListBudgetsQuery, ListReservationsQuery } from './reads.ts';
import type { Runs, Sql } from './sql-client.ts';

/**
 * Settings of a session that lists. Every list walks an index from where its page begins and stops when the page is full;
 * statistics of a young table, and plans made for any page, would have it read and sort the whole table instead.
 */
export const LIST_SETTINGS: Readonly<Record<string, string>> = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  plan_cache_mode: 'force_custom_plan',
};

/** Sorts by segments, parents before children; the same as the column path_key. */
export function pathKey(path: BudgetPath): string {
  return path.replaceAll('/', '\u0001');
}

/** Paths of budgets. See ReadModels.listBudgetPaths. */
export async function listBudgetPaths(client: Runs, query: ListBudgetsQuery): Promise<BudgetPath[]> {
  const { parent, recursive, after, countMax } = query;
  const rows = await client.run((sql) => {
    const afterTree = after === undefined ? '' : treeOf(after);
    const afterKey = after === undefined ? '' : pathKey(after);
    if (parent === undefined && !recursive) {
      // A tree has one root.
      return sql<{ path: BudgetPath }[]>`
        SELECT b.path FROM budgetd.budgets b WHERE b.parent_no IS NULL AND b.tree > ${afterTree}
        ORDER BY b.tree LIMIT ${countMax}`;
    }
    if (parent === undefined) {
      return sql<{ path: BudgetPath }[]>`
        SELECT b.path FROM budgetd.budgets b WHERE (b.tree, b.path_key) > (${afterTree}, ${afterKey})
        ORDER BY b.tree, b.path_key LIMIT ${countMax}`;
    }
    const tree = treeOf(parent);
    const key = pathKey(parent);
    if (recursive) {
      return sql<{ path: BudgetPath }[]>`
        SELECT b.path FROM budgetd.budgets b
        WHERE b.tree = ${tree} AND b.path_key >= ${key} AND b.path_key < ${`${key}\u0002`} AND b.path_key > ${afterKey}
          AND (b.path_key = ${key} OR b.path_key > ${`${key}\u0001`})
        ORDER BY b.path_key LIMIT ${countMax}`;
    }
    // One path and one parent, asked for as ranges: only one index has each order. With "=" the planner may walk another
    // index of the whole tree and leave out all that don't fit.
    return sql<{ path: BudgetPath }[]>`
      WITH parent AS (SELECT p.* FROM budgetd.budgets p WHERE p.tree = ${tree}
        AND p.path >= ${parent} AND p.path <= ${parent} ORDER BY p.path LIMIT 1)
      SELECT path FROM (
        SELECT p.path, p.path_key FROM parent p WHERE p.path_key > ${afterKey}
        UNION ALL
        (SELECT b.path, b.path_key FROM budgetd.budgets b
          WHERE b.tree = ${tree} AND b.parent_no <= (SELECT p.budget_no FROM parent p)
            AND (b.parent_no, b.path_key) > ((SELECT p.budget_no FROM parent p), ${afterKey})
          ORDER BY b.parent_no, b.path_key LIMIT ${countMax})
      ) AS found ORDER BY path_key LIMIT ${countMax}`;
  });
  return rows.map((row) => row.path);
}

/** Reservations of a subtree. See ReadModels.listReservations. */
export async function listReservations(client: Runs, query: ListReservationsQuery): Promise<Reservation[]> {
  const { treeId, budget, state, holder, after, countMax } = query;
  const rows = await client.run((sql) => {
    const matching = sql`AND r.id > ${after ?? ''}
      ${stateFilter(sql, state)}
      ${holder === undefined ? sql`` : sql`AND r.holder = ${holder}`}`;
    // The root's subtree is the tree. Otherwise the first rows of each budget are taken by index and merged: a small
    // subtree in a tree of a million reservations costs what it has itself.
    if (treeOf(budget) === (budget as string)) {
      return sql<{ row: unknown }[]>`
        SELECT budgetd.reservation_json(r) AS row FROM (
          SELECT r.* FROM budgetd.reservations r WHERE r.tree = ${treeId} ${matching} ORDER BY r.id LIMIT ${countMax}
        ) AS r ORDER BY r.id`;
    }
    const key = pathKey(budget);
    const named = sql`replace(r.queue ->> 'path', '/', E'\\x01') COLLATE "C"`;
    return sql<{ row: unknown }[]>`
      SELECT budgetd.reservation_json(r) AS row FROM (
        SELECT x.* FROM budgetd.budgets b
        CROSS JOIN LATERAL (
          SELECT r.* FROM budgetd.reservations r
          WHERE r.tree = ${treeId} AND r.budget_no = b.budget_no ${matching} ORDER BY r.id LIMIT ${countMax}
        ) AS x
        WHERE b.tree = ${treeId} AND b.path_key >= ${key} AND b.path_key < ${`${key}\u0002`}
          AND (b.path_key = ${key} OR b.path_key > ${`${key}\u0001`})
        UNION ALL
        -- What named budgets of the subtree when the nearest that there was lay above it.
        SELECT x.* FROM budgetd.budgets b
        CROSS JOIN LATERAL (
          SELECT r.* FROM budgetd.reservations r
          WHERE r.tree = ${treeId} AND r.budget_no = b.budget_no AND r.queue IS NOT NULL
            AND ${named} >= ${key} AND ${named} < ${`${key}\u0002`} AND (${named} = ${key} OR ${named} > ${`${key}\u0001`})
            ${matching}
          OFFSET 0
        ) AS x
        WHERE b.tree = ${treeId} AND b.path = ANY(${textArray(chainOf(budget).slice(0, -1))}::text[])
        ORDER BY id LIMIT ${countMax}
      ) AS r ORDER BY r.id`;
  });
  return reservationsOf(rows.map(({ row }) => row));
}

/** Reservations by their ids. See ReadModels.findReservations. */
export async function findReservations(
  client: Runs,
  treeId: TreeId,
  ids: readonly ReservationId[],
): Promise<Reservation[]> {
  const rows = await client.run(
    (sql) => sql<{ row: unknown }[]>`
      SELECT budgetd.reservation_json(r) AS row FROM budgetd.reservations r
      WHERE r.tree = ${treeId} AND r.id = ANY(${textArray(ids)}::text[])`,
  );
  return reservationsOf(rows.map(({ row }) => row));
}

// What is live and what waits have indexes of their own, which are used only where the statement itself says so.
function stateFilter(sql: Sql, state: ReservationState | undefined) {
  if (state === undefined) return sql``;
  if (state === 'QUEUED') return sql`AND r.state = 'QUEUED'`;
  return state === 'ACTIVE' ? sql`AND r.state = 'ACTIVE'` : sql`AND r.state = ${state}`;
}

/** Roots that say uncapped. See ReadModels.uncappedRoots. */
export async function uncappedRoots(client: Runs, countMax: number): Promise<BudgetPath[]> {
  const rows = await client.run(
    (sql) => sql<{ path: BudgetPath }[]>`
      SELECT b.path FROM budgetd.budgets b WHERE b.parent_no IS NULL AND b.uncapped ORDER BY b.tree LIMIT ${countMax}`,
  );
  return rows.map((row) => row.path);
}

/** Versions of database and schema. See ReadModels.databaseInfo. */
export async function databaseInfo(client: Runs) {
  const [row] = await client.run(
    (sql) => sql<[{ version: string; schema_version: number }]>`
      SELECT current_setting('server_version') AS version,
        (SELECT max(m.version) FROM budgetd.schema_migrations m) AS schema_version`,
  );
  return { version: row.version, schemaVersion: row.schema_version };
}
