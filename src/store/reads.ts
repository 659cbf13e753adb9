// Lists that readers ask for, from the projected tables. The caller catches the projection up first.
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

/**
 * What the api reads past the lane. Every method throws StoreUnavailableError where the store does not answer, and
 * StoreTimeoutError, which is one too, where it does not answer this in time.
 */
export interface ReadModels {
  listBudgetPaths(query: ListBudgetsQuery): Promise<readonly BudgetPath[]>;
  listReservations(query: ListReservationsQuery): Promise<readonly Reservation[]>;
  /** Roots that say `uncapped`, up to `countMax`. */
  uncappedRoots(countMax: number): Promise<readonly BudgetPath[]>;
  /** Version of the database and of the schema. */
  databaseInfo(): Promise<{ readonly version: string; readonly schemaVersion: number }>;
}
