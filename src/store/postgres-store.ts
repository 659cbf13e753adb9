// The store on PostgreSQL: puts the verbs of this room together over four sets of connections, so that a page of a list
// never stands before an append, and the writer's lease is renewed whatever else is going on.
import { appendBatch } from './append.ts';
import { type Audit, postgresAudit } from './audit.ts';
import { checkDurability } from './durability.ts';
import { loadTree } from './load.ts';
import type { Store } from './port.ts';
import { projectBatch } from './project.ts';
import { dueTrees, findKeys, readEntries, unprojectedTrees } from './read-journal.ts';
import { databaseInfo, listBudgetPaths, listReservations, uncappedRoots } from './read-models.ts';
import type { ReadModels } from './reads.ts';
import { SERVICE_ROLE, SqlClient, type SqlClientOptions } from './sql-client.ts';
import { holdWriterLease, quarantineTree, releaseWriterLease } from './writer-lease.ts';

// Loads are short and come in bursts after a start; two cores of a database serve four of them at a time.
const READ_CONNECTION_COUNT = 4;
// Entries keep coming at the turn of a month even if the service was down before it: two further months are ready.
const MONTHS_AHEAD = 2;

/** How to reach the database. */
export interface PostgresStoreOptions {
  readonly url: string;
  /** Role to work as. Default: budgetd_service; `null`: the login itself, which must then have that role's rights. */
  readonly role?: string | null;
  /** Accept a server that may lose acknowledged commits. Default: false. */
  readonly allowUnsafeDurability?: boolean;
  /** Time after which a silent server counts as unreachable. Default: 8 s. */
  readonly deadlineMs?: number;
}

/** The store on PostgreSQL with everything that reads it. */
export interface PostgresStore extends Store, ReadModels, Audit {
  /** Makes the journal's partitions of the coming months. To be called daily; start does it too. */
  ensurePartitions(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to a migrated database. Throws DurabilityError where it may lose commits, StoreUnavailableError where it can't
 * be reached.
 */
export async function createPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const open = (name: string, rest: Pick<SqlClientOptions, 'connectionCountMax' | 'isolation' | 'settings'>) =>
    new SqlClient({
      url: options.url,
      role: options.role === null ? undefined : (options.role ?? SERVICE_ROLE),
      applicationName: `budgetd ${name}`,
      ...(options.deadlineMs !== undefined && { deadlineMs: options.deadlineMs }),
      ...rest,
    });
  const appends = open('append', {
    connectionCountMax: 1,
    isolation: 'serializable',
    settings: { enable_seqscan: 'off' },
  });
  const projections = open('project', { connectionCountMax: 1, isolation: 'read committed' });
  const leases = open('lease', { connectionCountMax: 1, isolation: 'read committed' });
  const reads = open('read', { connectionCountMax: READ_CONNECTION_COUNT, isolation: 'repeatable read' });
  const close = async () => {
    await Promise.all([appends, projections, leases, reads].map((client) => client.close()));
  };
  const ensurePartitions = async () => {
    await leases.run((sql) => sql`SELECT budgetd.ensure_journal_partitions(${MONTHS_AHEAD})`);
  };
  try {
    await appends.run((sql) => checkDurability(sql, options.allowUnsafeDurability));
    await ensurePartitions();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    load: (request) => loadTree(reads, request),
    append: (epoch, batch) => appendBatch(appends, epoch, batch),
    findKeys: (treeId, digests) => findKeys(reads, treeId, digests),
    readEntries: (treeId, afterSeq, countMax) => readEntries(reads, treeId, afterSeq, countMax),
    project: (batch) => projectBatch(projections, batch),
    unprojectedTrees: (countMax) => unprojectedTrees(reads, countMax),
    dueTrees: (nowMs, after, countMax) => dueTrees(reads, nowMs, after, countMax),
    holdWriterLease: (holder, address, epoch, ttlMs, graceMs) =>
      holdWriterLease(leases, holder, address, epoch, ttlMs, graceMs),
    releaseWriterLease: (holder, epoch) => releaseWriterLease(leases, holder, epoch),
    quarantine: (treeId, reason) => quarantineTree(leases, treeId, reason),
    listBudgetPaths: (query) => listBudgetPaths(reads, query),
    listReservations: (query) => listReservations(reads, query),
    uncappedRoots: (countMax) => uncappedRoots(reads, countMax),
    databaseInfo: () => databaseInfo(reads),
    ...postgresAudit(reads),
    ensurePartitions,
    close,
  };
}
