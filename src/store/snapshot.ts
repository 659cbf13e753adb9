// Snapshots of the whole store for verifiers: what one reads belongs together, however busy the service is meanwhile.
import postgres from 'postgres';
import { type Audit, postgresAudit } from './audit.ts';
import { StoreUnavailableError } from './port.ts';
import { SERVICE_ROLE, type Sql } from './sql-client.ts';
import { storeErrorOf } from './sql-errors.ts';

// A page of a verifier takes well under a second.
const CLOSE_TIMEOUT_S = 5;

/** A connection that takes one read-only snapshot after the other. */
export interface Snapshots {
  /** Runs `work` on one snapshot. Throws StoreUnavailableError where the store can't be reached. */
  run<T>(work: (audit: Audit) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Opens a connection for snapshots; it connects at the first use, and anew where it was lost. */
export function openSnapshots(url: string): Snapshots {
  let session = openSession(url);
  return {
    async run(work) {
      if (session.lost) {
        await session.sql.end({ timeout: 0 });
        session = openSession(url);
      }
      return onSnapshot(session, work);
    },
    close: () => session.sql.end({ timeout: session.lost ? 0 : CLOSE_TIMEOUT_S }),
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

interface Session {
  readonly sql: Sql;
  /** Its connection was closed, and the snapshot with it. */
  lost: boolean;
}

function openSession(url: string): Session {
  const sql = postgres(url, {
    max: 1,
    fetch_types: false,
    max_lifetime: null,
    onnotice: () => undefined,
    onclose: () => {
      session.lost = true;
    },
    connection: { application_name: 'budgetd verify', role: SERVICE_ROLE, timezone: 'UTC' } as Record<string, string>,
  });
  const session: Session = { sql, lost: false };
  return session;
}

// Not with the driver's own `begin`: postgres 3.4.9 writes to the connection that it keeps for a transaction even after that
// was closed, from where nobody can catch the error, and the process ends.
async function onSnapshot<T>(session: Session, work: (audit: Audit) => Promise<T>): Promise<T> {
  const { sql } = session;
  try {
    await sql`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`;
    const value = await work(
      postgresAudit({
        run: (query) => {
          // Another connection would read another snapshot, or none.
          if (session.lost) throw new StoreUnavailableError('the snapshot was lost with its connection');
          return query(sql);
        },
      }),
    );
    await sql`COMMIT`;
    return value;
  } catch (error) {
    // Whatever it was, the transaction is of no use any more; ending its connection ends it for certain.
    session.lost = true;
    throw storeErrorOf(error);
  }
}
