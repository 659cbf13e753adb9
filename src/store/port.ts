// The port between the lane and whatever keeps the journal: PostgreSQL in production, memory in tests. One contract suite
// runs over every implementation. Everything that correctness needs of a database is said here.
import type { Account, BudgetState } from '../kernel/budget.ts';
import type { Entry } from '../kernel/entry.ts';
import type { BudgetPath, ReservationId, TreeId } from '../kernel/names.ts';
import type { Reservation } from '../kernel/reservation.ts';
import type { HistoryNeed, WindowHistory } from '../kernel/window-history.ts';
import type { PriceStore } from './price-port.ts';

/** End of a tree's journal. A tree without entries has seq 0, GENESIS_HASH and atMs 0. */
export interface Head {
  readonly seq: number;
  /** SHA-256 that ends the chain, in hex. */
  readonly hash: string;
  readonly atMs: number;
}

/** What `load` is asked for: records that a decision needs and the cache does not have. */
export interface LoadRequest {
  readonly treeId: TreeId;
  /** Chains are loaded: each path and all its ancestors. */
  readonly paths: readonly BudgetPath[];
  /** Each with the budgets that it charges. */
  readonly reservationIds: readonly ReservationId[];
  /** Counters of these periods are loaded, with their budgets. Default: none. */
  readonly periods?: readonly Account[];
  /**
   * Loads live reservations by reclaim time (each with the budgets that it charges), up to this many of them; those that
   * share the last one's instant come along.
   */
  readonly leases: { readonly afterReclaimMs: number; readonly countMax: number } | undefined;
  /**
   * Whether the entries after the projected sequence are wanted: yes unless the cache has them. Everything that waits in the
   * tree comes along with them, each with the budgets on the paths that it names, as far as they exist as projected.
   */
  readonly withTail: boolean;
}

/** Records as projected at `projectedSeq`, all read in one snapshot with `head`. */
export interface Loaded {
  readonly head: Head;
  readonly projectedSeq: number;
  /** Budgets that the tree had at projectedSeq; the next one takes the number after it. */
  readonly budgetCount: number;
  /**
   * Each with its lifetime counter; of its calendar and range windows the latest period and those that the reservations here or
   * the request name; of its rolling windows what is held, and the steps that count at projectedSeq or later.
   */
  readonly budgets: readonly BudgetState[];
  /** Those that were asked for, live ones by reclaim time where asked, and with a tail those that wait; each once. */
  readonly reservations: readonly Reservation[];
  /**
   * Every live reservation with a reclaim time after the one asked and up to here is among `reservations`; undefined
   * where not asked. Number.MAX_SAFE_INTEGER: there are no more.
   */
  readonly leasesThroughMs: number | undefined;
  /** Entries after projectedSeq up to head, oldest first; empty where not asked for, and where there are too many. */
  readonly tail: readonly Entry[];
  /**
   * Set where a tail was asked for and has more than TAIL_COUNT_MAX entries. `tail` is empty then, and nothing may be
   * decided on these records: bring the projection forward from the journal, then load again.
   */
  readonly tailTooLong?: true;
  /** Why the tree is out of service; undefined for a healthy one. */
  readonly quarantine: string | undefined;
}

/** One tree's part of an append: entries that follow `expected`, at least one. A tree is in a batch once. */
export interface TreeAppend {
  readonly treeId: TreeId;
  readonly expected: Head;
  readonly entries: readonly Entry[];
}

/** Entries of one tree that follow each other; may be none. */
export interface TreeEntries {
  readonly treeId: TreeId;
  readonly entries: readonly Entry[];
}

/** What became of an append. Anything that is none of these is thrown, and then nothing was written. */
export type AppendResult =
  /** Committed and durable. `heads` in the order of the batch. */
  | { readonly outcome: 'committed'; readonly heads: readonly Head[] }
  /** Another epoch rules: this process is no longer the writer. Nothing was written. */
  | { readonly outcome: 'fenced' }
  /** A head had moved, or the database asked for a retry (40001, 40P01). Nothing was written. */
  | { readonly outcome: 'conflict' }
  /** A key of the batch is in the journal already. Nothing was written. */
  | { readonly outcome: 'key_exists' };

/**
 * Thrown by every method when the store cannot be reached or does not answer in time. After an append it says nothing
 * about the outcome: the same append at the same heads finds out.
 */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';
}

/**
 * Thrown by reads alone (load, findKeys, readEntries, lists) when the store is there but could not answer this question
 * within its time. It says nothing about other trees or other calls: refuse what waits for this answer, and go on. An
 * append never throws it.
 */
export class StoreTimeoutError extends StoreUnavailableError {
  override readonly name: string = 'StoreTimeoutError';
}

/**
 * Thrown where stored bytes can't be read: unknown version or type, malformed figures, a broken chain. The tree that they
 * belong to has to be quarantined.
 */
export class CorruptJournalError extends Error {
  override readonly name = 'CorruptJournalError';
}

/**
 * Thrown by `project` where an entry does not fit what is projected of its tree, for example a change to a reservation that
 * is not there. Nothing of the batch was written. The tree has to be quarantined; which one it is the caller finds out.
 */
export class ProjectionMismatchError extends Error {
  override readonly name = 'ProjectionMismatchError';
}

/** What the writer's lease says. */
export interface WriterLease {
  readonly epoch: number;
  /** Address under which the writer says it can be reached. */
  readonly address: string;
  /** Whether the asking process holds it. */
  readonly held: boolean;
  /** The store's clock when it answered, in milliseconds. */
  readonly storeNowMs: number;
  /** When it runs out, by the store's clock. */
  readonly expireMs: number;
  /**
   * How long there was no leader before this epoch began: since the last renewal by the one before, or longer where that
   * one did not last for a grace. In milliseconds of the store's clock.
   */
  readonly gapMs: number;
}

/** A tree with a hold that has lapsed or a wait that is over, as the reaper looks for them across trees. */
export interface DueTree {
  readonly treeId: TreeId;
  /** Earliest reclaim time of what is live there, or end of a wait where that is earlier. */
  readonly reclaimMs: number;
}

/** An open budget that has had no live hold, nothing that waits and no movement for as long as it says, as the reaper looks for them. */
export interface IdleBudget {
  readonly treeId: TreeId;
  readonly budgetNo: number;
  readonly path: BudgetPath;
  /** When it was to be looked at; for the cursor alone. */
  readonly lookMs: number;
}

/** All that the lane asks of a store. */
export interface Store extends PriceStore {
  /** Reads in one snapshot. Budgets and reservations that do not exist are left out. */
  load(request: LoadRequest): Promise<Loaded>;
  /**
   * Appends all or nothing, in one serializable transaction guarded by the epoch and by every head, and writes nothing
   * but journal rows, heads, key digests and personal fields. An empty batch checks the epoch alone. Repeating an append
   * whose outcome is unknown is safe: where it had been committed the answer is `committed` again.
   */
  append(epoch: number, batch: readonly TreeAppend[]): Promise<AppendResult>;
  /**
   * The heads that the trees have once this batch is committed, in its order, so that what follows can be decided before it
   * is. Asks nobody. What it works out is kept for `append` of the same batch.
   */
  headsAfter(batch: readonly TreeAppend[]): readonly Head[];
  /** The entries that answer these key digests; digests that are not in the journal are left out. */
  findKeys(treeId: TreeId, digests: readonly string[]): Promise<readonly Entry[]>;
  /** Entries after `afterSeq`, oldest first, at least one row's worth and about `countMax` at the most. */
  readEntries(treeId: TreeId, afterSeq: number, countMax: number): Promise<readonly Entry[]>;
  /**
   * Brings projections forward, each tree's by entries that follow each other, all in one transaction. Guarded by the
   * projected sequence of each tree: entries at or below it are skipped; a tree whose entries would leave a gap is left as
   * it is. Returns the projected sequence of every tree named, after it.
   */
  project(batch: readonly TreeEntries[]): Promise<ReadonlyMap<TreeId, number>>;
  /**
   * Trees whose projection is behind their journal, by id, after a cursor, up to `countMax`; none are left where it
   * returns fewer. Looks at every head on its way: for a start and a takeover, not for each page of a list.
   */
  unprojectedTrees(
    countMax: number,
    after?: TreeId,
  ): Promise<readonly { readonly treeId: TreeId; readonly projectedSeq: number }[]>;
  /** Trees with lapses or ends of waits that are due at `nowMs` in the projection, earliest first, after a cursor, up to `countMax`. */
  dueTrees(nowMs: number, after: DueTree | undefined, countMax: number): Promise<readonly DueTree[]>;
  /**
   * Sums up what windows of a budget have to start from, as projected; `seq` says how far that is. See WindowHistory. What a
   * live reservation has settled, and what a lapsed one settled late in parts, counts in a rolling window as if at the time
   * of the last projected entry: no row says when it was.
   */
  readHistory(treeId: TreeId, budgetNo: number, needs: readonly HistoryNeed[]): Promise<WindowHistory>;
  /**
   * Budgets that have been idle at `nowMs` for as long as they close after, in the projection, those of trees in service, after
   * a cursor, up to `countMax`. Where fewer come there may be more, which a later call finds.
   */
  idleBudgets(nowMs: number, after: IdleBudget | undefined, countMax: number): Promise<readonly IdleBudget[]>;
  /**
   * Takes the writer's lease if it is free or run out (raising the epoch), or renews it if held with this epoch. `graceMs`
   * says how long a leader must last for the gap before it to be over; default 0.
   */
  holdWriterLease(
    holder: string,
    address: string,
    epoch: number | undefined,
    ttlMs: number,
    graceMs?: number,
  ): Promise<WriterLease>;
  /** Gives the lease back, if still held with this epoch, so that a standby can take over at once. */
  releaseWriterLease(holder: string, epoch: number): Promise<void>;
  /** Puts a tree out of service, with the reason that people are shown. */
  quarantine(treeId: TreeId, reason: string): Promise<void>;
}

/**
 * Longest tail that a load brings. Reading 20,000 entries takes about a fifth of a second and 40 MB; the projector keeps
 * tails far below it unless it has stood still.
 */
export const TAIL_COUNT_MAX = 20_000;

/** Hash before the first entry of every tree. */
export const GENESIS_HASH = '0'.repeat(64);
