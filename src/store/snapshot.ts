// One snapshot of the whole store for a verifier: what it reads belongs together, however busy the service is meanwhile.
import postgres from 'postgres';
import { type Audit, postgresAudit } from './audit.ts';
import { SERVICE_ROLE, type Sql } from './sql-client.ts';
import { storeErrorOf } from './sql-errors.ts';

/** Runs `work` on one read-only snapshot. Throws StoreUnavailableError where the store can't be reached. */
export async function withSnapshot<T>(url: string, work: (audit: Audit) => Promise<T>): Promise<T> {
  const sql = postgres(url, {
    max: 1,
    fetch_types: false,
    onnotice: () => undefined,
    connection: { application_name: 'budgetd verify', role: SERVICE_ROLE, timezone: 'UTC' } as Record<string, string>,
  });
  try {
    const result: { value: T }[] = [];
    await sql.begin('isolation level repeatable read read only', async (tx) => {
      // A transaction runs statements as a pool does; what only pools can do is not used by the audit.
      result.push({ value: await work(postgresAudit({ run: (query) => query(tx as unknown as Sql) })) });
    });
    return (result[0] as { value: T }).value;
  } catch (error) {
    throw storeErrorOf(error);
  } finally {
    await sql.end();
  }
}
