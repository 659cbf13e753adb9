// Sums over a budget's past for windows that are new on it (sql/0007), read from the projection in one snapshot.
import type { TreeId } from '../kernel/names.ts';
import type { HistoryNeed, WindowHistory, WindowSum } from '../kernel/window-history.ts';
import { amountOf, arrayOf, integerOf } from './json-text.ts';
import { scalarArray } from './pg-array.ts';
import type { Runs } from './sql-client.ts';

interface HistoryRow {
  readonly seq: string | null;
  readonly held_micros: string | null;
  readonly settled_micros: string;
  readonly overrun_micros: string;
  readonly steps: unknown;
}

/** Sums up. See Store.readHistory. */
export async function readHistory(
  client: Runs,
  treeId: TreeId,
  budgetNo: number,
  needs: readonly HistoryNeed[],
): Promise<WindowHistory> {
  const stepMs = needs.map(({ rule }) => (rule.kind === 'rolling' ? rule.stepMs : undefined));
  const untilMs = needs.map(({ rule }) => (rule.kind === 'range' ? rule.endMs : undefined));
  const rows = await client.run(
    (sql) => sql<HistoryRow[]>`SELECT * FROM budgetd.window_history(${treeId}, ${budgetNo},
      ${scalarArray(needs.map(({ fromMs }) => fromMs))}, ${scalarArray(untilMs)}, ${scalarArray(stepMs)})`,
  );
  return { seq: Number(rows[0]?.seq ?? 0), sums: needs.map((need, i) => sumOf(need, rows[i] as HistoryRow)) };
}

function sumOf({ rule, fromMs }: HistoryNeed, row: HistoryRow): WindowSum {
  return {
    rule,
    fromMs,
    heldMicros: amountOf(row.held_micros ?? '0'),
    settledMicros: amountOf(row.settled_micros ?? '0'),
    overrunMicros: amountOf(row.overrun_micros ?? '0'),
    steps: arrayOf(row.steps ?? []).map((step) => {
      const [periodMs, settled, overrun] = arrayOf(step, 3);
      return { periodMs: integerOf(periodMs), settledMicros: amountOf(settled), overrunMicros: amountOf(overrun) };
    }),
  };
}
