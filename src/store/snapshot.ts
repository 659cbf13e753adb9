// Snapshots of the whole store for verifiers: what one reads belongs together, however busy the service is meanwhile.
import postgres from 'postgres';
import { type Audit, postgresAudit } from './audit.ts';
import { SERVICE_ROLE, type Sql } from './sql-client.ts';
import { storeErrorOf } from './sql-errors.ts';

/** A connection that takes one read-only snapshot after the other. */
export interface Snapshots {
  /** Runs `work` on one snapshot. Throws StoreUnavailableError where the store can't be reached. */
  run<T>(work: (audit: Audit) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Opens a connection for snapshots; it connects at the first use. */
export function openSnapshots(url: string): Snapshots {
  const sql = postgres(url, {
    max: 1,
    fetch_types: false,
    onnotice: () => undefined,
    connection: { application_name: 'budgetd verify', role: SERVICE_ROLE, timezone: 'UTC' } as Record<string, string>,
  });
  return {
    run: (work) => onSnapshot(sql, work),
    close: () => sql.end(),
  };
}

/** Runs `work` on one snapshot of its own connection. */
export async function withSnapshot<T>(url: string, work: (audit: Audit) => Promise<T>): Promise<T> {
  const snapshots = openSnapshots(url);
  try {
    return await snapshots.run(work);
  } finally {
    await snapshots.close();
  }
}

async function onSnapshot<T>(sql: Sql, work: (audit: Audit) => Promise<T>): Promise<T> {
  const result: { value: T }[] = [];
  try {
    await sql.begin('isolation level repeatable read read only', async (tx) => {
      // A transaction runs statements as a pool does; what only pools can do is not used by the audit.
      result.push({ value: await work(postgresAudit({ run: (query) => query(tx as unknown as Sql) })) });
    });
  } catch (error) {
    throw storeErrorOf(error);
  }
  return (result[0] as { value: T }).value;
}
