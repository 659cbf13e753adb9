// The state of one tree, or of the part of it that is loaded. Records are immutable and replaced whole; every replacement
// is noted so that a batch that fails to commit can be taken back to the last one that did. Holds no rule of its own.
import type { Account, BudgetState, Counter } from './budget.ts';
import type { Effect, Entry } from './entry.ts';
import { invariant } from './invariant.ts';
import { LeaseIndex } from './lease-index.ts';
import type { BudgetPath, ReservationId, TreeId } from './names.ts';
import type { Reservation } from './reservation.ts';

/** Where a tree's journal ends, as far as this state knows. */
export interface StatePosition {
  readonly seq: number;
  readonly atMs: number;
  /** Budgets that the tree has; the next one takes the number after it. */
  readonly budgetCount: number;
}

/** Loaded records of one tree. A record that is not loaded is not known to be absent: whoever decides loads first. */
export class TreeState {
  readonly treeId: TreeId;
  #position: StatePosition;
  #committed: StatePosition;
  readonly #budgets = new Map<number, BudgetState>();
  readonly #budgetNos = new Map<BudgetPath, number>();
  readonly #reservations = new Map<ReservationId, Reservation>();
  readonly #remembered = new Map<string, Entry>();
  readonly #leases = new LeaseIndex();
  readonly #accounts = new Map<number, readonly Account[]>();
  #undo: (() => void)[] = [];

  constructor(treeId: TreeId, position: StatePosition) {
    this.treeId = treeId;
    this.#position = position;
    this.#committed = position;
  }

  get position(): StatePosition {
    return this.#position;
  }

  /** The budget at a path; undefined where it is not loaded or does not exist. */
  budgetAt(path: BudgetPath): BudgetState | undefined {
    const no = this.#budgetNos.get(path);
    return no === undefined ? undefined : this.#budgets.get(no);
  }

  /** A budget by number; undefined where it is not loaded. */
  budget(no: number): BudgetState | undefined {
    return this.#budgets.get(no);
  }

  /** A budget that must be loaded. */
  mustBudget(no: number): BudgetState {
    const budget = this.#budgets.get(no);
    invariant(budget !== undefined, `budget ${no} of tree ${this.treeId} is not loaded`);
    return budget;
  }

  /** A reservation; undefined where it is not loaded or does not exist. */
  reservation(id: ReservationId): Reservation | undefined {
    return this.#reservations.get(id);
  }

  /** The entry that answers a key; undefined where it is not known here. */
  remembered(digest: string): Entry | undefined {
    return this.#remembered.get(digest);
  }

  /** Budgets on the way from the root to `budget`, root first. All must be loaded. */
  chain(budget: BudgetState): BudgetState[] {
    const chain: BudgetState[] = [budget];
    for (let at = budget; at.def.parentNo !== undefined; ) {
      at = this.mustBudget(at.def.parentNo);
      chain.push(at);
    }
    return chain.reverse();
  }

  /** The accounts that a reservation on `budget` moves, root first. Shared by all reservations on it. */
  accountsOf(budget: BudgetState): readonly Account[] {
    const known = this.#accounts.get(budget.def.no);
    if (known !== undefined) return known;
    const accounts = this.chain(budget).map(({ def }) => ({ budgetNo: def.no, windowNo: 0, periodMs: 0 }));
    this.#accounts.set(budget.def.no, accounts);
    return accounts;
  }

  /** The counter of an account; undefined where its budget is loaded without it. */
  counter(account: Account): Counter | undefined {
    return this.#budgets
      .get(account.budgetNo)
      ?.counters.find((counter) => counter.windowNo === account.windowNo && counter.periodMs === account.periodMs);
  }

  /** Live reservations whose lease and grace have run out at `nowMs`, oldest first, up to `countMax`. */
  due(nowMs: number, countMax: number): Reservation[] {
    return this.#leases.due(nowMs, countMax).map(({ id }) => {
      const reservation = this.#reservations.get(id);
      invariant(reservation !== undefined, `lease of ${id} without its reservation`);
      return reservation;
    });
  }

  counts(): { readonly budgets: number; readonly reservations: number; readonly remembered: number } {
    return {
      budgets: this.#budgets.size,
      reservations: this.#reservations.size,
      remembered: this.#remembered.size,
    };
  }

  budgets(): IterableIterator<BudgetState> {
    return this.#budgets.values();
  }

  reservations(): IterableIterator<Reservation> {
    return this.#reservations.values();
  }

  putBudget(budget: BudgetState): void {
    const no = budget.def.no;
    const before = this.#budgets.get(no);
    this.#budgets.set(no, budget);
    if (before === undefined) this.#budgetNos.set(budget.def.path, no);
    this.#undo.push(() => {
      if (before !== undefined) {
        this.#budgets.set(no, before);
        return;
      }
      this.#budgets.delete(no);
      this.#budgetNos.delete(budget.def.path);
      this.#accounts.delete(no);
    });
  }

  putReservation(reservation: Reservation): void {
    const before = this.#reservations.get(reservation.id);
    this.#replaceReservation(reservation.id, before, reservation);
    this.#undo.push(() => this.#replaceReservation(reservation.id, reservation, before));
  }

  remember(digest: string, entry: Entry): void {
    const before = this.#remembered.get(digest);
    this.#remembered.set(digest, entry);
    this.#undo.push(() => {
      if (before === undefined) this.#remembered.delete(digest);
      else this.#remembered.set(digest, before);
    });
  }

  /** Moves counters. Accounts of budgets that are not loaded are passed over: their counters are loaded with the effect. */
  move(effect: Effect): void {
    for (const account of effect.accounts) {
      const budget = this.#budgets.get(account.budgetNo);
      if (budget !== undefined) this.putBudget(moved(budget, account, effect));
    }
  }

  advance(position: StatePosition): void {
    const before = this.#position;
    this.#position = position;
    this.#undo.push(() => {
      this.#position = before;
    });
  }

  /** Makes everything since the last commit final. */
  commit(): void {
    this.#undo = [];
    this.#committed = this.#position;
  }

  /** Takes everything since the last commit back. */
  rollback(): void {
    const undo = this.#undo;
    this.#undo = [];
    for (let i = undo.length - 1; i >= 0; i--) (undo[i] as () => void)();
    invariant(this.#position.seq === this.#committed.seq, 'a rollback ends at the last commit');
  }

  /** A point to which `rollbackTo` can go back within the batch. */
  savepoint(): number {
    return this.#undo.length;
  }

  /** Takes back what was done since the savepoint and keeps the rest of the batch. */
  rollbackTo(savepoint: number): void {
    for (let i = this.#undo.length - 1; i >= savepoint; i--) (this.#undo[i] as () => void)();
    this.#undo.length = savepoint;
  }

  /** Forgets records that can be loaded again. Only between batches. */
  evictReservation(id: ReservationId): void {
    const reservation = this.#reservations.get(id);
    if (reservation !== undefined) this.#replaceReservation(id, reservation, undefined);
  }

  /** Forgets the oldest remembered keys beyond `countMax`; the store still knows them. Only between batches. */
  evictRemembered(countMax: number): void {
    for (const digest of this.#remembered.keys()) {
      if (this.#remembered.size <= countMax) return;
      this.#remembered.delete(digest);
    }
  }

  #replaceReservation(id: ReservationId, before: Reservation | undefined, after: Reservation | undefined): void {
    const reclaimBefore = before?.figures.state === 'ACTIVE' ? before.figures.reclaimMs : undefined;
    const reclaimAfter = after?.figures.state === 'ACTIVE' ? after.figures.reclaimMs : undefined;
    if (reclaimBefore !== reclaimAfter) {
      if (reclaimBefore !== undefined) this.#leases.remove(id, reclaimBefore);
      if (reclaimAfter !== undefined) this.#leases.add(id, reclaimAfter);
    }
    if (after === undefined) this.#reservations.delete(id);
    else this.#reservations.set(id, after);
  }
}

function moved(budget: BudgetState, account: Account, effect: Effect): BudgetState {
  let found = false;
  const counters = budget.counters.map((counter) => {
    if (counter.windowNo !== account.windowNo || counter.periodMs !== account.periodMs) return counter;
    found = true;
    const heldMicros = counter.heldMicros + effect.heldMicros;
    const settledMicros = counter.settledMicros + effect.settledMicros;
    const overrunMicros = counter.overrunMicros + effect.overrunMicros;
    invariant(
      heldMicros >= 0n && settledMicros >= 0n && overrunMicros >= 0n,
      `a counter of ${budget.def.path} below 0`,
    );
    return { windowNo: counter.windowNo, periodMs: counter.periodMs, heldMicros, settledMicros, overrunMicros };
  });
  invariant(found, `budget ${budget.def.path} has no counter for window ${account.windowNo} at ${account.periodMs}`);
  const activeCount = account.windowNo === 0 ? budget.activeCount + effect.active : budget.activeCount;
  invariant(activeCount >= 0, `live reservations of ${budget.def.path} below 0`);
  return { def: budget.def, counters, activeCount, labels: budget.labels };
}
