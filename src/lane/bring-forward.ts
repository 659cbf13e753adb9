// What a load brought is as old as its snapshot: this brings the records of it that memory does not have forward to now, by the
// entries of the tail that touch them and no others. Gives what a replay of the whole tail would (a test holds it to that).
import { apply } from '../kernel/apply.ts';
import type { BudgetState } from '../kernel/budget.ts';
import { chainOf, type ReservationId } from '../kernel/names.ts';
import type { Reservation } from '../kernel/reservation.ts';
import { TreeState } from '../kernel/tree-state.ts';
import type { Loaded } from '../store/port.ts';
import type { Missing } from './missing.ts';
import type { TailIndex } from './tail-index.ts';

/** Records as they are now, those that ended since they were loaded among them. */
export interface Forwarded {
  readonly budgets: readonly BudgetState[];
  readonly reservations: readonly Reservation[];
}

/**
 * Brings forward what was loaded and asked for and is not in `state`, by the entries after `loaded.projectedSeq`, all of which
 * must be in `index`.
 */
export function bringForward(state: TreeState, index: TailIndex, loaded: Loaded, asked: Missing): Forwarded {
  const { projectedSeq: seq, budgetCount } = loaded;
  const piece = new TreeState(state.treeId, { seq, atMs: 0, budgetCount });
  const budgetNos = new Set<number>();
  const ids = new Set<ReservationId>(asked.reservationIds.filter((id) => state.reservation(id) === undefined));
  for (const budget of loaded.budgets) {
    if (state.budget(budget.def.no) !== undefined) continue;
    piece.putBudget(budget);
    budgetNos.add(budget.def.no);
  }
  // Budgets that were made since, and then forgotten.
  for (const path of asked.paths.flatMap(chainOf)) {
    const no = state.budgetAt(path) === undefined ? index.created(path) : undefined;
    if (no !== undefined) budgetNos.add(no);
  }
  for (const reservation of loaded.reservations) {
    if (state.reservation(reservation.id) !== undefined) continue;
    piece.putReservation(reservation);
    ids.add(reservation.id);
  }
  for (const entry of index.touching(budgetNos, ids)) {
    if (entry.seq <= seq) continue;
    // The entries between touch nothing that is wanted.
    piece.advance({ ...piece.position, seq: entry.seq - 1 });
    apply(piece, entry);
  }
  return {
    budgets: [...budgetNos].flatMap((no) => piece.budget(no) ?? []),
    reservations: [...ids].flatMap((id) => piece.reservation(id) ?? []),
  };
}
