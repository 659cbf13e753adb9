// What was spent, out of the journal, for people who compare it with invoices and with estimates. Added up by the database, a month
// a statement, so that millions of entries cost no memory here; read only, on a connection of its own, as the service's role.
import type { TreeId } from '../kernel/names.ts';
import { type Runs, SERVICE_ROLE, type Sql, SqlClient } from './sql-client.ts';

/** A statement goes over a whole month of the journal, some millions of entries: minutes, and nothing waits for it. */
const STATEMENT_TIMEOUT_MS = 3_600_000;
/** Longer, so that it only ever fires where the server or the way to it has stalled. */
const DEADLINE_MS = STATEMENT_TIMEOUT_MS + 60_000;
/** A row has the time of its last entry. A batch is decided within moments: all its entries are younger than this. */
const ROW_SPAN_MS = 3_600_000;

/** From an instant on, before another; of one tree, or of all. */
export interface SpendRange {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly tree: TreeId | undefined;
}

/** What settlements by usage came to, of one model in all trees of a unit. */
export interface ModelSpend {
  readonly unit: string;
  /** Of the row that it was priced by. */
  readonly provider: string;
  readonly model: string;
  /** Settlements; a reservation that is settled in parts has several. */
  readonly count: bigint;
  readonly micros: bigint;
  /** All input, cached and written to a cache included. */
  readonly inputTokens: bigint;
  /** All output, reasoning included. */
  readonly outputTokens: bigint;
}

/** What was spent in all trees of a unit and belongs to no model. */
export interface OtherSpend {
  readonly unit: string;
  /**
   * `amount`: settled by an amount. `estimate`: assumed, as usage was unknown or a hold lapsed that is charged then, less what
   * late settlements replaced of it.
   */
  readonly kind: 'amount' | 'estimate';
  readonly count: bigint;
  readonly micros: bigint;
}

/** All that was spent: the sums of both together are what the counters of the roots moved by. */
export interface Spend {
  readonly models: readonly ModelSpend[];
  readonly others: readonly OtherSpend[];
}

/** Settled reservations of one model, in one unit, that cost the same share of what was granted by its estimate. */
export interface EstimateSpend {
  readonly unit: string;
  readonly provider: string;
  readonly model: string;
  /** Cost in thousandths of the estimate, rounded up; at most `permilleMax`. */
  readonly permille: bigint;
  readonly count: bigint;
  readonly estimateMicros: bigint;
  readonly actualMicros: bigint;
  readonly passedCount: bigint;
  readonly wideCount: bigint;
  readonly overrunCount: bigint;
}

/** Runs `work` on a connection for these reads. Throws StoreUnavailableError where the database can't be reached. */
export async function withSpendReads<T>(url: string, work: (client: Runs) => Promise<T>): Promise<T> {
  const client = new SqlClient({
    url,
    role: SERVICE_ROLE,
    applicationName: 'budgetd invoice',
    connectionCountMax: 1,
    isolation: 'repeatable read',
    deadlineMs: DEADLINE_MS,
    isRead: true,
    settings: {
      default_transaction_read_only: 'on',
      statement_timeout: String(STATEMENT_TIMEOUT_MS),
      // One core of the database at the most: a service may be at work beside this.
      max_parallel_workers_per_gather: '0',
      // There are few sums, which the planner can't know: it would sort all entries for them.
      enable_sort: 'off',
    },
  });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

interface SpendRow {
  readonly unit: string;
  readonly kind: 'model' | 'amount' | 'estimate';
  readonly provider: string | null;
  readonly model: string | null;
  readonly count: string;
  readonly micros: string;
  readonly replaced: string;
  readonly input: string | null;
  readonly output: string | null;
}

/** What was spent in a range. */
export async function readSpend(client: Runs, { fromMs, untilMs, tree }: SpendRange): Promise<Spend> {
  const rows = await client.run(
    (sql) => sql<SpendRow[]>`
      WITH spent AS (
        SELECT j.tree, e.priced -> 'model' ->> 0 AS provider, e.priced -> 'model' ->> 1 AS model, e.actual,
          CASE e.type WHEN 'Settled' THEN 1 ELSE lapsed.count END AS count,
          -- The first effect is that on the accounts that do not roll, the lifetime of the root among them.
          CASE e.type WHEN 'Settled' THEN (e.fx -> 0 ->> 1)::numeric + (e.fx -> 0 ->> 2)::numeric ELSE lapsed.moved END AS moved,
          CASE WHEN e.priced IS NOT NULL THEN ARRAY(
            SELECT c::numeric FROM json_array_elements_text(e.priced -> 'counts') WITH ORDINALITY AS x(c, place) ORDER BY place
          ) END AS counts
        FROM budgetd.journal j
        CROSS JOIN LATERAL json_to_recordset(j.entries::json)
          AS e(type text, at bigint, actual numeric, fx json, lapses json, priced json)
        LEFT JOIN LATERAL (
          SELECT count(*) AS count, sum((l -> 3 -> 0 ->> 1)::numeric + (l -> 3 -> 0 ->> 2)::numeric) AS moved
          FROM json_array_elements(e.lapses) AS l WHERE l ->> 2 = '1'
        ) AS lapsed ON e.type = 'Expired'
        WHERE j.at >= ${instant(fromMs)} AND j.at < ${instant(untilMs + ROW_SPAN_MS)}
          ${tree === undefined ? sql`` : sql`AND j.tree = ${tree}`}
          AND (j.entries LIKE '%"type":"Settled"%' OR j.entries LIKE '%"type":"Expired"%')
          AND e.at >= ${fromMs} AND e.at < ${untilMs} AND (e.type = 'Settled' OR lapsed.count > 0)
        -- What is taken out of an entry is taken out once.
        OFFSET 0
      ), summed AS (
        SELECT tree, provider, model,
          CASE WHEN provider IS NOT NULL THEN 'model' WHEN actual IS NOT NULL THEN 'amount' ELSE 'estimate' END AS kind,
          sum(count) AS count, sum(coalesce(actual, moved)) AS micros,
          -- What was reported moves the counters, less what it takes the place of.
          sum(coalesce(actual, moved) - moved) AS replaced,
          sum(counts[1] + counts[2] + counts[3] + counts[4] + counts[5] + counts[6]) AS input,
          sum(counts[7] + counts[8]) AS output
        FROM spent GROUP BY 1, 2, 3, 4
      ), ${units(sql)}
      SELECT unit, kind, provider, model, sum(count)::text AS count, sum(micros)::text AS micros,
        sum(replaced)::text AS replaced, sum(input)::text AS input, sum(output)::text AS output
      FROM summed JOIN units USING (tree) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
  );
  return { models: modelsOf(rows), others: othersOf(rows) };
}

interface EstimateRow {
  readonly unit: string;
  readonly provider: string;
  readonly model: string;
  readonly permille: string;
  readonly count: string;
  readonly estimate: string;
  readonly actual: string;
  readonly passed: string;
  readonly wide: string;
  readonly overrun: string;
}

/**
 * How estimates stood: reservations whose last settlement, by usage, was in the range. What they cost is all that was settled of
 * them. Where nothing was granted, a cost of 0 is all of the estimate, and any other is `permilleMax`.
 */
export async function readEstimates(
  client: Runs,
  { fromMs, untilMs, tree }: SpendRange,
  permilleMax: bigint,
): Promise<EstimateSpend[]> {
  const rows = await client.run(
    (sql) => sql<EstimateRow[]>`
      WITH ended AS (
        SELECT j.tree, e.priced -> 'model' ->> 0 AS provider, e.priced -> 'model' ->> 1 AS model,
          (e.fig ->> 2)::numeric AS estimate, (e.fig ->> 4)::numeric + (e.fig ->> 6)::numeric AS actual,
          (e.fig ->> 6)::numeric > 0 AS overran
        FROM budgetd.journal j
        CROSS JOIN LATERAL json_to_recordset(j.entries::json)
          AS e(type text, at bigint, "keepOpen" boolean, fig json, priced json)
        WHERE j.at >= ${instant(fromMs)} AND j.at < ${instant(untilMs + ROW_SPAN_MS)}
          ${tree === undefined ? sql`` : sql`AND j.tree = ${tree}`}
          AND j.entries LIKE '%"priced":%'
          AND e.at >= ${fromMs} AND e.at < ${untilMs}
          AND e.type = 'Settled' AND NOT e."keepOpen" AND e.priced IS NOT NULL
        -- What is taken out of an entry is taken out once.
        OFFSET 0
      ), summed AS (
        SELECT tree, provider, model,
          CASE WHEN estimate > 0 THEN least(div(actual * 1000 + estimate - 1, estimate), ${String(permilleMax)}::numeric)
            WHEN actual > 0 THEN ${String(permilleMax)}::numeric ELSE 1000 END AS permille,
          count(*) AS count, sum(estimate) AS estimate, sum(actual) AS actual,
          count(*) FILTER (WHERE actual > estimate) AS passed, count(*) FILTER (WHERE actual * 10 < estimate) AS wide,
          count(*) FILTER (WHERE overran) AS overrun
        FROM ended GROUP BY 1, 2, 3, 4
      ), ${units(sql)}
      SELECT unit, provider, model, s.permille::text AS permille, sum(count)::text AS count,
        sum(estimate)::text AS estimate, sum(actual)::text AS actual, sum(passed)::text AS passed, sum(wide)::text AS wide,
        sum(overrun)::text AS overrun
      FROM summed s JOIN units USING (tree) GROUP BY 1, 2, 3, s.permille ORDER BY 1, 2, 3, s.permille`,
  );
  return rows.map((row) => ({
    unit: row.unit,
    provider: row.provider,
    model: row.model,
    permille: BigInt(row.permille),
    count: BigInt(row.count),
    estimateMicros: BigInt(row.estimate),
    actualMicros: BigInt(row.actual),
    passedCount: BigInt(row.passed),
    wideCount: BigInt(row.wide),
    overrunCount: BigInt(row.overrun),
  }));
}

/** Whether there is such a tree. */
export async function hasTree(client: Runs, tree: TreeId): Promise<boolean> {
  const rows = await client.run((sql) => sql`SELECT FROM budgetd.tree_heads h WHERE h.tree = ${tree}`);
  return rows.length > 0;
}

const instant = (ms: number): string => new Date(ms).toISOString();

// The unit of each tree that was summed, which never changes: of its root as projected, else as made by its first entry.
function units(sql: Sql) {
  return sql`units AS MATERIALIZED (
    SELECT t.tree, coalesce(
      (SELECT b.def ->> 'unit' FROM budgetd.budgets b WHERE b.tree = t.tree AND b.parent_no IS NULL),
      (SELECT f.entries::json -> 0 -> 'def' ->> 'unit' FROM budgetd.journal f WHERE f.tree = t.tree ORDER BY f.last_seq LIMIT 1),
      '') AS unit
    FROM (SELECT DISTINCT tree FROM summed OFFSET 0) AS t
  )`;
}

function modelsOf(rows: readonly SpendRow[]): ModelSpend[] {
  return rows
    .filter(({ kind }) => kind === 'model')
    .map(({ unit, provider, model, count, micros, input, output }) => ({
      unit,
      provider: provider ?? '',
      model: model ?? '',
      count: BigInt(count),
      micros: BigInt(micros),
      inputTokens: BigInt(input ?? '0'),
      outputTokens: BigInt(output ?? '0'),
    }));
}

// What settlements replaced of estimates is taken out of the estimates, in the month of the settlement.
function othersOf(rows: readonly SpendRow[]): OtherSpend[] {
  const units = [...new Set(rows.map(({ unit }) => unit))];
  return units.flatMap((unit) => {
    const own = rows.filter((row) => row.unit === unit);
    return (['amount', 'estimate'] as const).flatMap((kind) => {
      const row = own.find((each) => each.kind === kind);
      const replaced = own.reduce((sum, each) => sum + BigInt(each.replaced), 0n);
      const micros = BigInt(row?.micros ?? '0') - (kind === 'estimate' ? replaced : 0n);
      if (row === undefined && micros === 0n) return [];
      return [{ unit, kind, count: BigInt(row?.count ?? '0'), micros }];
    });
  });
}
