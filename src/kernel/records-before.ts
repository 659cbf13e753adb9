// What a batch touched as it was before, so that it can be taken back. Kept apart from the state, which has one of these for each
// batch that is not final.
import type { BudgetState } from './budget.ts';
import type { Entry } from './entry.ts';
import type { ReservationId } from './names.ts';
import type { Reservation } from './reservation.ts';
import type { StepMove } from './rolling-spend.ts';

/** Where a tree's journal ends, as far as this state knows. */
export interface StatePosition {
  readonly seq: number;
  readonly atMs: number;
  /** Budgets that the tree has; the next one takes the number after it. */
  readonly budgetCount: number;
}

/** Records as they were before a batch, of those that it touched. */
export class Before {
  readonly position: StatePosition;
  readonly budgets = new Map<number, BudgetState | undefined>();
  readonly reservations: (readonly [ReservationId, Reservation | undefined])[] = [];
  readonly remembered: (readonly [string, Entry | undefined])[] = [];
  /** Steps are moved in place: what takes them back. */
  readonly stepMoves: StepMove[] = [];

  constructor(position: StatePosition) {
    this.position = position;
  }
}
