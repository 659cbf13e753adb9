// The next state after an entry. Deciding, recovering and verifying all use this one function, so that what the journal says
// and what the coordinator believes cannot differ; the projection folds entries to net changes and is held to this by a
// property. Needs no policy, no calendar and no clock.
import type { Effect, Entry, Extended, Released, Settled } from './entry.ts';
import { invariant } from './invariant.ts';
import type { ReservationId } from './names.ts';
import { budgetAfter, labelsAfter } from './records-after.ts';
import type { Reservation, ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

/**
 * Applies the entry that follows the state's position. A state may hold a part of a tree: entries on records that are not
 * loaded move the position and the loaded budgets only.
 */
export function apply(state: TreeState, entry: Entry): void {
  const { seq, atMs, budgetCount } = state.position;
  invariant(entry.seq === seq + 1, `entry ${entry.seq} of ${state.treeId} does not follow ${seq}`);
  invariant(entry.atMs >= atMs, `entry ${entry.seq} of ${state.treeId} is older than the one before`);
  applyRecords(state, entry);
  if (entry.key !== undefined) state.remember(entry.key.digest, entry);
  const created = entry.type === 'BudgetCreated' ? 1 : 0;
  state.advance({ seq: entry.seq, atMs: entry.atMs, budgetCount: budgetCount + created });
}

function applyRecords(state: TreeState, entry: Entry): void {
  switch (entry.type) {
    case 'Granted':
      state.putReservation(entry.reservation);
      moveAll(state, entry.effects, entry.atMs);
      state.moveRates(entry.rateMoves, entry.atMs);
      return;
    case 'Extended':
    case 'Settled':
    case 'Released':
      replaceFigures(state, entry.id, entry.figures, entry);
      moveAll(state, entry.effects, entry.atMs);
      return;
    case 'Renewed':
    case 'Graced':
      for (const move of entry.moves) replaceFigures(state, move.id, move.figures, undefined);
      return;
    case 'Expired':
      for (const lapse of entry.lapses) {
        replaceFigures(state, lapse.id, lapse.figures, undefined);
        // As of the lapse, whenever it is written down: a budget is idle from then on.
        moveAll(state, lapse.effects, lapse.figures.reclaimMs);
      }
      return;
    case 'Alerted':
      state.markAlerts(entry.alerts);
      return;
    case 'Enqueued':
      state.putReservation(entry.reservation);
      return;
    case 'LeftQueue':
      for (const { id, figures } of entry.leaves) replaceFigures(state, id, figures, undefined);
      return;
    case 'Refused':
      return;
    default: {
      const before = state.budget(entry.def.no);
      if (entry.type === 'BudgetCreated') {
        const isNew = before === undefined && state.budgetAt(entry.def.path) === undefined;
        invariant(isNew, `entry ${entry.seq} makes budget ${entry.def.path}, which there is already`);
      }
      if (before !== undefined || entry.type === 'BudgetCreated') state.putBudget(budgetAfter(before, entry));
      if (entry.def.parentNo !== undefined) state.countOpenChildren(entry.def.parentNo, entry.openChildren);
    }
  }
}

function moveAll(state: TreeState, effects: readonly Effect[], atMs: number): void {
  for (const effect of effects) state.move(effect, atMs);
}

function replaceFigures(
  state: TreeState,
  id: ReservationId,
  figures: ReservationFigures,
  change: Extended | Settled | Released | undefined,
): void {
  const reservation = state.reservation(id);
  if (reservation === undefined) return;
  state.putReservation({ ...reservation, ...saidBy(reservation, change), figures });
}

// What a change says beside the figures; mostly nothing.
function saidBy(reservation: Reservation, change: Extended | Settled | Released | undefined): Partial<Reservation> {
  if (change?.type === 'Extended') return change.price === undefined ? NOTHING : { price: change.price };
  if (change?.type !== 'Settled') return NOTHING;
  const { personal, priced = reservation.priced } = change;
  return {
    labels: personal === undefined ? reservation.labels : labelsAfter(reservation.labels, personal.labels),
    priced,
  };
}

const NOTHING: Partial<Reservation> = {};
