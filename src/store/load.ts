// Reads what a decision needs of one tree: one call (sql/0005), one snapshot, index lookups only.
import { type BudgetPath, chainOf } from '../kernel/names.ts';
import { checkChainOf } from './check-chain.ts';
import { decodeEntries } from './entry-codec.ts';
import { scalarArray, textArray } from './pg-array.ts';
import { GENESIS_HASH, type Loaded, type LoadRequest, TAIL_COUNT_MAX } from './port.ts';
import { budgetStateOf, personalLookup, reservationsOf } from './projected-rows.ts';
import type { Runs } from './sql-client.ts';

interface LoadRow {
  readonly head_seq: string | null;
  readonly head_hash: Buffer | null;
  readonly head_at_ms: string | null;
  readonly projected_seq: string | null;
  readonly budget_count: number | null;
  readonly quarantine: string | null;
  readonly budgets: readonly unknown[] | null;
  readonly reservations: readonly unknown[] | null;
  readonly leases_through_ms: string | null;
  readonly tail: string | null;
  readonly tail_chain: readonly unknown[] | null;
  readonly tail_personal: readonly unknown[] | null;
}

/** Loads records of a tree. See Store.load. Throws CorruptJournalError where stored bytes can't be read. */
export async function loadTree(client: Runs, request: LoadRequest): Promise<Loaded> {
  const paths = new Set<BudgetPath>();
  for (const path of request.paths) for (const ancestor of chainOf(path)) paths.add(ancestor);
  const row = await client.run(async (sql) => {
    const [only] = await sql<[LoadRow]>`SELECT * FROM budgetd.load_tree(${request.treeId}, ${textArray([...paths])},
      ${textArray(request.reservationIds)}, ${periodsOf(request)}, ${afterReclaimMs(request)}, ${request.leases?.countMax ?? 0},
      ${request.withTail ? TAIL_COUNT_MAX : 0})`;
    return only;
  });
  const projectedSeq = Number(row.projected_seq ?? 0);
  return {
    head: {
      seq: Number(row.head_seq ?? 0),
      hash: row.head_hash?.toString('hex') ?? GENESIS_HASH,
      atMs: Number(row.head_at_ms ?? 0),
    },
    projectedSeq,
    budgetCount: row.budget_count ?? 0,
    budgets: (row.budgets ?? []).map(budgetStateOf),
    reservations: reservationsOf(row.reservations ?? []),
    leasesThroughMs: request.leases && Number(row.leases_through_ms ?? Number.MAX_SAFE_INTEGER),
    tail: tailOf(request.treeId, row, projectedSeq),
    ...(request.withTail &&
      Number(row.head_seq ?? 0) - projectedSeq > TAIL_COUNT_MAX && { tailTooLong: true as const }),
    quarantine: row.quarantine ?? undefined,
  };
}

// "From the very first" may be asked as minus infinity, which int8 has no word for.
function afterReclaimMs(request: LoadRequest): number {
  return Math.max(request.leases?.afterReclaimMs ?? 0, Number.MIN_SAFE_INTEGER);
}

function periodsOf({ periods = [] }: LoadRequest): string {
  return scalarArray(periods.flatMap(({ budgetNo, windowNo, periodMs }) => [budgetNo, windowNo, periodMs]));
}

function tailOf(treeId: string, row: LoadRow, projectedSeq: number): Loaded['tail'] {
  if (row.tail === null) return [];
  const texts = row.tail.split('\n');
  checkChainOf(treeId, texts, row.tail_chain, row.head_hash?.toString('hex'));
  const personalOf = personalLookup(row.tail_personal);
  const entries = texts.flatMap((text) => decodeEntries(text, personalOf));
  // A projection may have stopped within a row.
  return entries.filter((entry) => entry.seq > projectedSeq);
}
