// Looks for budgets that close by age and are idle (sql/0007). It moves on those that it looked at in vain, so it needs a
// connection that may write; what it writes is no part of what was projected, only when to look again.
import type { BudgetPath, TreeId } from '../kernel/names.ts';
import type { IdleBudget } from './port.ts';
import type { Runs } from './sql-client.ts';

// A look is an index lookup and at times an update: all of these take about 50 ms, for which the projector may have to wait.
const LOOK_COUNT_MAX = 1_000;

/** Finds them. See Store.idleBudgets. */
export async function idleBudgets(
  client: Runs,
  nowMs: number,
  after: IdleBudget | undefined,
  countMax: number,
): Promise<readonly IdleBudget[]> {
  const rows = await client.run(
    (sql) => sql<{ tree: TreeId; budget_no: number; path: BudgetPath; look_ms: string }[]>`
      SELECT * FROM budgetd.idle_budgets(${nowMs}, ${after?.lookMs ?? Number.MIN_SAFE_INTEGER}, ${after?.treeId ?? ''},
        ${after?.budgetNo ?? 0}, ${countMax}, ${LOOK_COUNT_MAX})`,
  );
  return rows.map((row) => ({
    treeId: row.tree,
    budgetNo: row.budget_no,
    path: row.path,
    lookMs: Number(row.look_ms),
  }));
}
