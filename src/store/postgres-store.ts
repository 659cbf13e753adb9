// The store on PostgreSQL: puts the verbs of this room together over five sets of connections, so that a page of a list
// never stands before an append or a load, one that is given up takes no other with it, and the writer's lease is renewed
// whatever else is going on.
import { appendBatch, headsAfter } from './append.ts';
import { type Audit, postgresAudit } from './audit.ts';
import { checkDurability } from './durability.ts';
import { idleBudgets } from './idle-budgets.ts';
import { loadTree } from './load.ts';
import type { Store } from './port.ts';
import { addPrices, loadPrices } from './prices.ts';
import { projectBatch } from './project.ts';
import { readHistory } from './read-history.ts';
import {
  dueTrees,
  findKeys,
  readEntries,
  readEvents,
  seqThrough,
  treeHeads,
  unprojectedTrees,
} from './read-journal.ts';
import {
  databaseInfo,
  findReservations,
  LIST_SETTINGS,
  listBudgetPaths,
  listReservations,
  uncappedRoots,
} from './read-models.ts';
import type { ReadModels } from './reads.ts';
import { SERVICE_ROLE, SqlClient, type SqlClientOptions } from './sql-client.ts';
import { holdWriterLease, quarantineTree, releaseWriterLease } from './writer-lease.ts';

// Loads are short and come in bursts after a start; two cores of a database serve four of them at a time.
const READ_CONNECTION_COUNT = 4;
// Lists and audits: people wait for them, decisions don't. Few, so that they leave the database to the lane.
const LIST_CONNECTION_COUNT = 2;
// Below the 1.5 s between two renewals of the lease: one that hangs is given up before the next is due, and three have a
// connection of their own before the lease (6 s) runs out.
const LEASE_DEADLINE_MS = 1_200;
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
  /**
   * Throws DurabilityError where the server may by now lose what it acknowledges: its settings can be changed while it
   * runs. To be called daily; start does it too.
   */
  checkDurability(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to a migrated database. Throws DurabilityError where it may lose commits, StoreUnavailableError where it can't
 * be reached.
 */
export async function createPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const open = (name: string, rest: Omit<SqlClientOptions, 'url' | 'role' | 'applicationName'>) =>
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
    settings: {
      enable_seqscan: 'off',
      // Whatever the server, the database or the role is set to: an acknowledged append is on disk.
      ...(options.allowUnsafeDurability !== true && { synchronous_commit: 'on' }),
    },
  });
  const projections = open('project', { connectionCountMax: 1, isolation: 'read committed' });
  const leases = open('lease', {
    connectionCountMax: 1,
    isolation: 'read committed',
    deadlineMs: Math.min(options.deadlineMs ?? LEASE_DEADLINE_MS, LEASE_DEADLINE_MS),
  });
  const reads = open('read', {
    connectionCountMax: READ_CONNECTION_COUNT,
    isolation: 'repeatable read',
    isRead: true,
  });
  const lists = open('list', {
    connectionCountMax: LIST_CONNECTION_COUNT,
    isolation: 'repeatable read',
    isRead: true,
    settings: LIST_SETTINGS,
  });
  const close = async () => {
    await Promise.all([appends, projections, leases, reads, lists].map((client) => client.close()));
  };
  const ensurePartitions = async () => {
    await projections.run((sql) => sql`SELECT budgetd.ensure_journal_partitions(${MONTHS_AHEAD})`);
  };
  const checkServer = () => appends.run((sql) => checkDurability(sql, options.allowUnsafeDurability));
  try {
    await checkServer();
    await ensurePartitions();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    load: (request) => loadTree(reads, request),
    append: (epoch, batch) => appendBatch(appends, epoch, batch),
    headsAfter,
    findKeys: (treeId, digests) => findKeys(reads, treeId, digests),
    readEntries: (treeId, afterSeq, countMax) => readEntries(reads, treeId, afterSeq, countMax),
    project: (batch) => projectBatch(projections, batch),
    unprojectedTrees: (countMax, after) => unprojectedTrees(reads, countMax, after),
    dueTrees: (nowMs, after, countMax) => dueTrees(reads, nowMs, after, countMax),
    readHistory: (treeId, budgetNo, needs) => readHistory(reads, treeId, budgetNo, needs),
    idleBudgets: (nowMs, after, countMax) => idleBudgets(projections, nowMs, after, countMax),
    holdWriterLease: (holder, address, epoch, ttlMs, graceMs) =>
      holdWriterLease(leases, holder, address, epoch, ttlMs, graceMs),
    releaseWriterLease: (holder, epoch) => releaseWriterLease(leases, holder, epoch),
    loadPrices: () => loadPrices(lists),
    addPrices: (epoch, records) => addPrices(appends, epoch, records),
    quarantine: (treeId, reason) => quarantineTree(projections, treeId, reason),
    listBudgetPaths: (query) => listBudgetPaths(lists, query),
    listReservations: (query) => listReservations(lists, query),
    readEvents: (treeId, afterSeq, countMax) => readEvents(lists, treeId, afterSeq, countMax),
    treeHeads: (after, countMax, movedAfterMs) => treeHeads(lists, after, countMax, movedAfterMs),
    seqThrough: (treeId, atMs) => seqThrough(lists, treeId, atMs),
    findReservations: (treeId, ids) => findReservations(lists, treeId, ids),
    uncappedRoots: (countMax) => uncappedRoots(lists, countMax),
    databaseInfo: () => databaseInfo(lists),
    ...postgresAudit(lists),
    ensurePartitions,
    checkDurability: checkServer,
    close,
  };
}
