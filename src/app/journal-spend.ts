// What `budgetctl invoice` reads of the journal: the spend of months, and how estimates stood. On the database, like verify, so
// that it needs no running service and asks nothing of one.
import type { TreeId } from '../kernel/names.ts';
import type { EstimateShare } from '../pricing/invoice/judge-estimates.ts';
import { ESTIMATE_PERMILLE_MAX } from '../pricing/invoice/judge-estimates.ts';
import { hasTree, readEstimates, readSpend, type Spend, withSpendReads } from '../store/read-spend.ts';
import type { Runs } from '../store/sql-client.ts';
import { withOperatorDatabase } from './operator-database.ts';
import { OperatorError } from './operator-error.ts';

/** Where to read, and of what. */
export interface JournalSpendOptions {
  /** Default: DATABASE_URL; without one the embedded PostgreSQL, which is started if nothing runs it. */
  readonly databaseUrl?: string | undefined;
  /** Only this tree. Default: all. */
  readonly tree?: string | undefined;
}

/** The spend of one month. */
export interface MonthSpend extends Spend {
  /** In UTC: "2026-11". */
  readonly month: string;
}

/** Reads months, in the order asked for. Throws StoreUnavailableError, or OperatorError where there is no such database or tree. */
export async function readMonths(options: JournalSpendOptions, months: readonly string[]): Promise<MonthSpend[]> {
  return withJournal(options, async (client, tree) => {
    const found: MonthSpend[] = [];
    for (const month of months) {
      found.push({ month, ...(await readSpend(client, { ...monthRange(month), tree })) });
    }
    return found;
  });
}

/** Reads how the estimates stood of what was settled from an instant on and before another. Throws as readMonths. */
export async function readEstimateShares(
  options: JournalSpendOptions,
  range: { readonly fromMs: number; readonly untilMs: number },
): Promise<EstimateShare[]> {
  return withJournal(options, (client, tree) => readEstimates(client, { ...range, tree }, ESTIMATE_PERMILLE_MAX));
}

async function withJournal<T>(
  { databaseUrl, tree }: JournalSpendOptions,
  work: (client: Runs, tree: TreeId | undefined) => Promise<T>,
): Promise<T> {
  const treeId = tree as TreeId | undefined;
  return withOperatorDatabase(
    databaseUrl,
    () => undefined,
    (url) =>
      withSpendReads(url, async (client) => {
        if (treeId !== undefined && !(await hasTree(client, treeId))) {
          throw new OperatorError(`the journal has no tree ${treeId}`);
        }
        return work(client, treeId);
      }),
  );
}

function monthRange(month: string): { readonly fromMs: number; readonly untilMs: number } {
  const [year, monthNo] = month.split('-').map(Number) as [number, number];
  return { fromMs: Date.UTC(year, monthNo - 1), untilMs: Date.UTC(year, monthNo) };
}
