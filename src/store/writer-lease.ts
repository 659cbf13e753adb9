// The writer's lease and the quarantine: small rows that decide who may write at all, timed by the database's own clock.
import type { TreeId } from '../kernel/names.ts';
import type { WriterLease } from './port.ts';
import type { Runs } from './sql-client.ts';

interface LeaseRow {
  readonly epoch: string;
  readonly address: string;
  readonly held: boolean;
  readonly store_now_ms: string;
  readonly expire_ms: string;
  readonly gap_ms: string;
}

/** Takes or renews the lease. See Store.holdWriterLease. */
export async function holdWriterLease(
  client: Runs,
  holder: string,
  address: string,
  epoch: number | undefined,
  ttlMs: number,
  graceMs = 0,
): Promise<WriterLease> {
  const [row] = await client.run(
    (sql) => sql<[LeaseRow]>`
      SELECT * FROM budgetd.hold_writer_lease(${holder}, ${address}, ${epoch ?? null}, ${Math.round(ttlMs)},
        ${Math.round(graceMs)})`,
  );
  return {
    epoch: Number(row.epoch),
    address: row.address,
    held: row.held,
    storeNowMs: Number(row.store_now_ms),
    expireMs: Number(row.expire_ms),
    gapMs: Number(row.gap_ms),
  };
}

/** Gives the lease back. See Store.releaseWriterLease. */
export async function releaseWriterLease(client: Runs, holder: string, epoch: number): Promise<void> {
  await client.run(
    (sql) => sql`UPDATE budgetd.writer_lease SET expire_at = '-infinity', renewed_at = clock_timestamp()
      WHERE holder = ${holder} AND epoch = ${epoch}`,
  );
}

/** Puts a tree out of service; the first reason stays. See Store.quarantine. */
export async function quarantineTree(client: Runs, treeId: TreeId, reason: string): Promise<void> {
  await client.run(
    (sql) => sql`INSERT INTO budgetd.quarantine (tree, reason) VALUES (${treeId}, ${reason}) ON CONFLICT DO NOTHING`,
  );
}
