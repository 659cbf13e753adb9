// What a load brought is as old as its snapshot: this brings the records of it that memory does not have forward to now, by the
// entries of the tail that touch them and no others. Gives what a replay of the whole tail would (a test holds it to that).
import { apply } from '../kernel/apply.ts';
import type { Account, BudgetState, Counter } from '../kernel/budget.ts';
import type { Entry } from '../kernel/entry.ts';
import { chainOf, type ReservationId } from '../kernel/names.ts';
import type { Reservation } from '../kernel/reservation.ts';
import { TreeState } from '../kernel/tree-state.ts';
import type { Loaded } from '../store/port.ts';
import { distinctPeriods, type Missing } from './missing.ts';
import type { TailIndex } from './tail-index.ts';

/** Records as they are now, those that ended since they were loaded among them. */
export interface Forwarded {
  readonly budgets: readonly BudgetState[];
  readonly reservations: readonly Reservation[];
  /** Counters of the periods that were asked for, or that the reservations name, by the number of their budget. */
  readonly counters: ReadonlyMap<number, readonly Counter[]>;
}

/**
 * Brings forward what was loaded and asked for and is not in `state`, by the entries after `loaded.projectedSeq`, all of which
 * must be in `index`. A period that has no counter counts nothing yet.
 */
export function bringForward(state: TreeState, index: TailIndex, loaded: Loaded, asked: Missing): Forwarded {
  const { projectedSeq: seq, budgetCount } = loaded;
  const piece = new TreeState(state.treeId, { seq, atMs: 0, budgetCount });
  const budgetNos = new Set<number>();
  const ids = new Set<ReservationId>(asked.reservationIds.filter((id) => state.reservation(id) === undefined));
  const periods = wantedPeriods(state, loaded, asked);
  for (const budget of loaded.budgets) {
    const { no } = budget.def;
    const wanted = periods.get(no);
    if (state.budget(no) !== undefined && wanted === undefined) continue;
    piece.putBudget(budget);
    piece.addCounters(no, (wanted ?? []).map(nothingIn));
    if (state.budget(no) === undefined) budgetNos.add(no);
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
  const touched = new Set([...budgetNos, ...periods.keys()]);
  for (const entry of index.touching(touched, ids)) {
    if (entry.seq <= seq) continue;
    // The entries between touch nothing that is wanted.
    piece.advance({ ...piece.position, seq: entry.seq - 1 });
    applyTo(piece, entry, touched);
  }
  return {
    budgets: [...budgetNos].flatMap((no) => piece.budget(no) ?? []),
    reservations: [...ids].flatMap((id) => piece.reservation(id) ?? []),
    counters: new Map(
      [...periods].map(([no, wanted]) => [no, wanted.map((each) => counterIn(piece.budget(no), each))]),
    ),
  };
}

// Of a budget that is not wanted only the one above it is: more of its entries are not here, and it can't be followed.
function applyTo(piece: TreeState, entry: Entry, touched: ReadonlySet<number>): void {
  if (!('def' in entry) || touched.has(entry.def.no)) {
    apply(piece, entry);
    return;
  }
  if (entry.def.parentNo !== undefined) piece.countOpenChildren(entry.def.parentNo, entry.openChildren);
  piece.advance({ ...piece.position, seq: entry.seq, atMs: entry.atMs });
}

function wantedPeriods(state: TreeState, loaded: Loaded, asked: Missing): Map<number, Account[]> {
  const wanted = new Map<number, Account[]>();
  // Most reservations on one budget share their accounts.
  const lists = new Set([asked.periods ?? [], ...loaded.reservations.map(({ accounts }) => accounts)]);
  for (const account of distinctPeriods([...lists].flat())) {
    if (account.windowNo === 0 || state.hasCounters([account])) continue;
    const own = wanted.get(account.budgetNo);
    if (own === undefined) wanted.set(account.budgetNo, [account]);
    else own.push(account);
  }
  return wanted;
}

function nothingIn({ windowNo, periodMs }: Account): Counter {
  return { windowNo, periodMs, heldMicros: 0n, settledMicros: 0n, overrunMicros: 0n };
}

function counterIn(budget: BudgetState | undefined, account: Account): Counter {
  const { windowNo, periodMs } = account;
  const found = budget?.counters.find((each) => each.windowNo === windowNo && each.periodMs === periodMs);
  return found ?? nothingIn(account);
}
