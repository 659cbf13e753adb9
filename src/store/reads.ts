// What readers ask for past the lane: lists, from the projected tables, which the caller brings up to date first; and events,
// from the journal itself, which is what it is at any time.
import type { Entry } from '../kernel/entry.ts';
import type { BudgetPath, ReservationId, TreeId } from '../kernel/names.ts';
import type { Reservation, ReservationState } from '../kernel/reservation.ts';

/** Which budgets to list. Pages by path, in the order of the segments, parents before children. */
export interface ListBudgetsQuery {
  /** Undefined: from the roots. */
  readonly parent: BudgetPath | undefined;
  /** Whole subtrees; otherwise `parent` itself and its children, or the roots alone. */
  readonly recursive: boolean;
  /** Only paths after this one. */
  readonly after: BudgetPath | undefined;
  readonly countMax: number;
}

/** Which reservations to list. Pages by id. */
export interface ListReservationsQuery {
  readonly treeId: TreeId;
  /** The subtree. */
  readonly budget: BudgetPath;
  readonly state: ReservationState | undefined;
  readonly holder: string | undefined;
  readonly after: ReservationId | undefined;
  readonly countMax: number;
}

/** Where the journal of a tree ends. */
export interface TreeHead {
  readonly treeId: TreeId;
  /** Of the last entry; at least 1. */
  readonly seq: number;
  /** Time of the last entry. */
  readonly atMs: number;
}

/**
 * What the api reads past the lane. Every method throws StoreUnavailableError where the store does not answer, and
 * StoreTimeoutError, which is one too, where it does not answer this in time.
 */
export interface ReadModels {
  listBudgetPaths(query: ListBudgetsQuery): Promise<readonly BudgetPath[]>;
  listReservations(query: ListReservationsQuery): Promise<readonly Reservation[]>;
  /**
   * Entries of a tree after a sequence, oldest first, up to `countMax`; none where there are no more. They are durable, and so
   * are those before them. Throws CorruptJournalError.
   */
  readEvents(treeId: TreeId, afterSeq: number, countMax: number): Promise<readonly Entry[]>;
  /**
   * Heads of trees, by id, after a cursor, up to `countMax`; whoever follows all trees finds here which of them have moved.
   * With `movedAfterMs` only those whose last entry is later: no index has them, so the others are read too.
   */
  treeHeads(after: TreeId | undefined, countMax: number, movedAfterMs?: number): Promise<readonly TreeHead[]>;
  /** Sequence of a tree's last entry that is no later than an instant (default: of its last entry); 0 where there is none. */
  seqThrough(treeId: TreeId, atMs?: number): Promise<number>;
  /** Reservations of a tree by their ids, as projected; those that are not projected yet are left out. */
  findReservations(treeId: TreeId, ids: readonly ReservationId[]): Promise<readonly Reservation[]>;
  /** Roots that say `uncapped`, up to `countMax`. */
  uncappedRoots(countMax: number): Promise<readonly BudgetPath[]>;
  /** Version of the database and of the schema. */
  databaseInfo(): Promise<{ readonly version: string; readonly schemaVersion: number }>;
}
