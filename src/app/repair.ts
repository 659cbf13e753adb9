// What an operator does when records do not agree: rebuild a tree's projection from its journal, see which trees are out of
// service, and put them back. Works on the database, like verify, as the role that owns the schema; the service may run.
import postgres from 'postgres';
import type { TreeId } from '../kernel/names.ts';
import { createPostgresStore } from '../store/postgres-store.ts';
import { storeErrorOf } from '../store/sql-errors.ts';

/** Entries in one transaction of a rebuild. */
const PAGE_COUNT = 4_096;

/** Rebuilds the projection of a tree. Returns how many entries it took. Readers see the tree grow meanwhile. */
export async function rebuildProjection(ownerUrl: string, treeId: TreeId): Promise<number> {
  await asOwner(ownerUrl, async (sql) => {
    await sql.begin(async (tx) => {
      // The head goes first and is locked by it: a projector of the service waits, then begins from the start as well.
      await tx`DELETE FROM budgetd.projection_heads WHERE tree = ${treeId}`;
      await tx`DELETE FROM budgetd.reservations WHERE tree = ${treeId}`;
      await tx`DELETE FROM budgetd.counters WHERE tree = ${treeId}`;
      await tx`DELETE FROM budgetd.rate_levels WHERE tree = ${treeId}`;
      await tx`DELETE FROM budgetd.alerts WHERE tree = ${treeId}`;
      await tx`DELETE FROM budgetd.budgets WHERE tree = ${treeId}`;
    });
  });
  const store = await createPostgresStore({ url: ownerUrl });
  try {
    for (let seq = 0; ; ) {
      const entries = await store.readEntries(treeId, seq, PAGE_COUNT);
      if (entries.length === 0) return seq;
      seq = (await store.project([{ treeId, entries }])).get(treeId) ?? seq;
    }
  } finally {
    await store.close();
  }
}

/** A tree out of service. */
export interface QuarantinedTree {
  readonly tree: string;
  readonly reason: string;
  readonly since: Date;
}

/** Trees out of service. */
export async function listQuarantine(ownerUrl: string): Promise<readonly QuarantinedTree[]> {
  return asOwner(ownerUrl, async (sql) => {
    const rows = await sql<{ tree: string; reason: string; at: Date }[]>`
      SELECT tree, reason, at FROM budgetd.quarantine ORDER BY tree`;
    return rows.map(({ tree, reason, at }) => ({ tree, reason, since: at }));
  });
}

/** Puts a tree back into service. Returns whether it was out of it. A running service notices within seconds. */
export async function clearQuarantine(ownerUrl: string, treeId: TreeId): Promise<boolean> {
  return asOwner(ownerUrl, async (sql) => {
    const cleared = await sql`DELETE FROM budgetd.quarantine WHERE tree = ${treeId} RETURNING tree`;
    return cleared.length > 0;
  });
}

async function asOwner<T>(ownerUrl: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(ownerUrl, { max: 1, onnotice: () => undefined });
  try {
    return await work(sql);
  } catch (error) {
    throw storeErrorOf(error);
  } finally {
    await sql.end();
  }
}
