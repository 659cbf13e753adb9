// Fills a tree with a past, straight into the projected tables and the key index: a million reservations through the front
// door would take longer than all else. The journal does not know of them, so a service on such a tree must not verify.
import postgres from 'postgres';

/** What a seeded service is started with. */
export const SEEDED_ENV = { BUDGETD_VERIFY_RATE: '0' };

/** What to add to a tree that has three levels, numbered 1 to 3 from the root. */
export interface Seed {
  readonly databaseUrl: string;
  readonly tree: string;
  /** Ended reservations on the leaf, each with two remembered keys. */
  readonly pastCount: number;
  /** Live reservations of 1 micro-unit on the leaf, and when they are due. */
  readonly liveCount: number;
  readonly reclaimMs: number;
  /** Their reclaim times are spread evenly over so long from reclaimMs on: no two hundred thousand leases end in one ms. */
  readonly spreadMs: number;
  /** Further budgets below the second level. */
  readonly budgetCount: number;
}

/** Adds it. Figures are those of a settled or a live hold of 1 micro-unit. */
export async function seedTree(seed: Seed): Promise<void> {
  const sql = postgres(seed.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    await sql`SET synchronous_commit = off`;
    await addBudgets(sql, {
      tree: seed.tree,
      parentNo: 2,
      likeNo: 3,
      prefix: `${seed.tree}/team/seed-`,
      firstNo: 4,
      count: seed.budgetCount,
      closed: false,
    });
    await addReservations(sql, seed.tree, 'p', seed.pastCount, 'SETTLED', 0, 1);
    await addReservations(sql, seed.tree, 'q', seed.liveCount, 'ACTIVE', seed.reclaimMs, seed.spreadMs);
    await sql`
      INSERT INTO budgetd.idempotency_keys (tree, digest, seq, at)
      SELECT ${seed.tree}, decode(md5('seed' || n), 'hex'), 1, '2026-01-01'
      FROM generate_series(1, ${2 * seed.pastCount}::bigint) AS n`;
    await sql`
      UPDATE budgetd.counters SET held_micros = held_micros + ${seed.liveCount}, active_count = active_count + ${seed.liveCount},
        settled_micros = settled_micros + ${seed.pastCount}
      WHERE tree = ${seed.tree} AND budget_no <= 3`;
    await sql`
      UPDATE budgetd.projection_heads SET next_reclaim_ms = ${seed.reclaimMs}
      WHERE tree = ${seed.tree}`;
    await sql`VACUUM ANALYZE budgetd.reservations`;
    await sql`CHECKPOINT`;
  } finally {
    await sql.end();
  }
}

/** Budgets to add below one that a tree has. */
export interface BudgetSeed {
  readonly tree: string;
  readonly parentNo: number;
  /** The budget whose definition they share. */
  readonly likeNo: number;
  /** Their paths are this and a number. */
  readonly prefix: string;
  /** Number of the first one; numbers of a tree have no gaps. */
  readonly firstNo: number;
  readonly count: number;
  readonly closed: boolean;
}

/** Adds budgets that nothing was ever charged to. */
export async function addBudgets(sql: postgres.Sql, seed: BudgetSeed): Promise<void> {
  const { tree, parentNo, likeNo, prefix, firstNo, count, closed } = seed;
  await sql`
    INSERT INTO budgetd.budgets (tree, budget_no, parent_no, path, uncapped, label_seq, def)
    SELECT b.tree, ${firstNo}::integer + n, ${parentNo}::integer, ${prefix} || n, false, NULL,
      (b.def::jsonb || jsonb_build_object('no', ${firstNo}::integer + n, 'path', ${prefix} || n, 'parentNo',
        ${parentNo}::integer, 'closed', ${closed}::boolean))::json
    FROM budgetd.budgets b, generate_series(0, ${count - 1}::integer) AS n
    WHERE b.tree = ${tree} AND b.budget_no = ${likeNo}`;
  await sql`
    INSERT INTO budgetd.counters
    SELECT ${tree}, ${firstNo}::integer + n, 0, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(0, ${count - 1}::integer) AS n`;
  await sql`
    UPDATE budgetd.projection_heads SET budget_count = budget_count + ${count} WHERE tree = ${tree}`;
  if (closed) return;
  await sql`
    UPDATE budgetd.counters SET open_child_count = open_child_count + ${count}
    WHERE tree = ${tree} AND budget_no = ${parentNo} AND window_no = 0`;
}

async function addReservations(
  sql: postgres.Sql,
  tree: string,
  prefix: string,
  count: number,
  state: 'SETTLED' | 'ACTIVE',
  reclaimMs: number,
  spreadMs: number,
): Promise<void> {
  const live = state === 'ACTIVE' ? 1 : 0;
  await sql`
    INSERT INTO budgetd.reservations (tree, id, budget_no, accounts, create_ms, holder, grant_seq, state, requested_micros,
      granted_micros, held_micros, settled_micros, released_micros, overrun_micros, estimated_micros, lapsed_held_micros,
      expire_ms, reclaim_ms, ttl_ms, renewal_count, end_ms, late, estimated, started, outcome, release_reason)
    SELECT ${tree}, ${prefix} || lpad(n::text, 21, '0'), 3, '{1,0,0,2,0,0,3,0,0}', 0, '', 1, ${state}, 1, 1, ${live},
      ${1 - live}, 0, 0, 0, 0, ${reclaimMs} + n % ${spreadMs}::bigint, ${reclaimMs} + n % ${spreadMs}::bigint, 60000, 0, ${live === 1 ? null : 0}::bigint, false, false, true,
      NULL, ''
    FROM generate_series(1, ${count}::bigint) AS n`;
}
