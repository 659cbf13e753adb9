// The state of one tree, or of the part of it that is loaded. What a batch touches first is noted as it was, so that a batch
// that fails to commit can be taken back to the last one that did. A batch may be decided on one that is still being
// committed: each is sealed when it is decided, the oldest becomes final first, and they are taken back together. Holds no
// rule of its own.
//
// Records are immutable and replaced whole, with one exception: within a batch the counters of a budget are moved in place
// on a copy that the batch made, since replacing three budgets for each of a thousand reserves was a tenth of the time of
// a hot tree. Whoever keeps a counter past the decision copies it (read.ts). Steps of rolling windows, of which a budget may
// have half a million, are moved in place without a copy, and each move is noted.
//
// Longer than other files: what is here is one set of private maps that must change together.
import type { Account, BudgetState, Counter, PeriodAccounts } from './budget.ts';
import type { Alert, Effect, Entry, RateMove } from './entry.ts';
import { invariant } from './invariant.ts';
import { KeptQueue } from './kept-queue.ts';
import { LeaseIndex } from './lease-index.ts';
import {
  type MovingBudget,
  mark,
  moveLifetime,
  moveOpenChildren,
  moveRate,
  moveWindow,
  movingCopy,
  withoutPast,
} from './moving-budget.ts';
import type { BudgetPath, ReservationId, TreeId } from './names.ts';
import { effectMoved } from './queue-of-tree.ts';
import { Before, type StatePosition } from './records-before.ts';
import { Remembered } from './remembered.ts';
import type { Reservation } from './reservation.ts';
import { undoStep } from './rolling-spend.ts';
import { isWaiting } from './wait-order.ts';
import type { WaitQueue } from './wait-queue.ts';
import { budgetWeight } from './weight.ts';

/** Loaded records of one tree. A record that is not loaded is not known to be absent: whoever decides loads first. */
export class TreeState {
  readonly treeId: TreeId;
  #position: StatePosition;
  /** Those whose counters moved last come last. */
  readonly #budgets = new Map<number, BudgetState>();
  #budgetsWeight = 0;
  readonly #budgetNos = new Map<BudgetPath, number>();
  readonly #reservations = new Map<ReservationId, Reservation>();
  readonly #remembered = new Remembered();
  readonly #leases = new LeaseIndex();
  readonly #accounts = new Map<number, PeriodAccounts>();
  /** Budgets that may have counters of periods that are over. */
  readonly #turned = new Set<number>();
  readonly #kept: KeptQueue;
  /** Loaded budgets right below a budget, where there are any. */
  readonly #childCounts = new Map<number, number>();
  /** Of the batch that is being decided. */
  #before: Before;
  /** Of those that are decided and not final yet, oldest first. */
  readonly #sealed: Before[] = [];
  /** Copies that the batch that is being decided made and may move in place. */
  readonly #moving = new Map<number, MovingBudget>();

  /**
   * `queueFailed`: told of a fault in keeping the queue up, after which it was made anew from the records, which are as they would be
   * without it. Default: a QueueIndexError is thrown.
   */
  constructor(treeId: TreeId, position: StatePosition, queueFailed?: (error: unknown) => void) {
    this.treeId = treeId;
    this.#kept = new KeptQueue(this, queueFailed);
    this.#position = position;
    this.#before = new Before(position);
  }

  /** Whether there is a batch that is decided and neither final nor taken back. Nothing may be forgotten while there is. */
  get isTentative(): boolean {
    return this.#sealed.length > 0;
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

  /** Who waits; undefined where nobody does. */
  get queue(): WaitQueue | undefined {
    return this.#kept.queue;
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

  /** The accounts that a reservation on a budget moves at `atMs`, as remembered: shared by all of its period. */
  accountsOf(budgetNo: number, atMs: number): PeriodAccounts | undefined {
    const known = this.#accounts.get(budgetNo);
    return known === undefined || atMs >= known.untilMs || atMs < known.fromMs ? undefined : known;
  }

  rememberAccounts(budgetNo: number, accounts: PeriodAccounts): void {
    this.#accounts.set(budgetNo, accounts);
  }

  /**
   * Whether the counters of accounts are loaded: those of lifetime windows always are with their budgets. For a reservation ask
   * with the accounts of its reservationCharge, which knows windows that came to be after it.
   */
  hasCounters(accounts: readonly Account[]): boolean {
    for (const account of accounts) if (account.windowNo !== 0 && !this.#hasCounter(account)) return false;
    return true;
  }

  // A window that is gone from its budget is not counted any more.
  #hasCounter({ budgetNo, windowNo, periodMs }: Account): boolean {
    const budget = this.#budgets.get(budgetNo);
    if (budget === undefined) return false;
    if (!budget.def.windows.some(({ no }) => no === windowNo)) return true;
    return budget.counters.some((each) => each.windowNo === windowNo && each.periodMs === periodMs);
  }

  /** Live reservations whose lease and grace have run out at `nowMs`, oldest first, up to `countMax`. */
  due(nowMs: number, countMax: number): Reservation[] {
    return this.#leases.due(nowMs, countMax).map(({ id }) => this.#leased(id));
  }

  /**
   * Makes the queue anew from who waits, for a fault in it: nobody is looked at, and has a place, before `restUntilMs`. Ends that are tried
   * again later stay so. Throws QueueIndexError.
   */
  renewQueue(restUntilMs: number): void {
    this.#kept.renew(restUntilMs);
  }

  /** When those who wait have to be looked at though nothing happens: a wait or a lease is over. Infinite where nobody waits. */
  get queueDueMs(): number {
    return this.queue === undefined ? Number.POSITIVE_INFINITY : Math.min(this.queue.dueMs, this.leaseDueMs);
  }

  /** When the first lease and its grace are over; infinite where there is none. */
  get leaseDueMs(): number {
    return this.#leases.nextMs();
  }

  /** Live reservations with afterMs < reclaimMs <= untilMs, oldest first. Nothing may change until the last one is read. */
  *reclaimedBetween(afterMs: number, untilMs: number): Generator<Reservation> {
    for (const { id } of this.#leases.between(afterMs, untilMs)) yield this.#leased(id);
  }

  counts(): { readonly budgets: number; readonly reservations: number; readonly remembered: number } {
    return {
      budgets: this.#budgets.size,
      reservations: this.#reservations.size,
      remembered: this.#remembered.count,
    };
  }

  /** What the remembered entries weigh together (weight.ts). */
  get rememberedWeight(): number {
    return this.#remembered.weight;
  }

  /** What the loaded budgets weigh together. */
  get budgetsWeight(): number {
    return this.#budgetsWeight;
  }

  budgets(): IterableIterator<BudgetState> {
    return this.#budgets.values();
  }

  reservations(): IterableIterator<Reservation> {
    return this.#reservations.values();
  }

  putBudget(budget: BudgetState): void {
    const no = budget.def.no;
    this.#noteBudget(no);
    this.#moving.delete(no);
    const before = this.#budgets.get(no);
    if (before === undefined) this.#countChild(budget, 1);
    // Those of all budgets below hold its windows too.
    else if (before.def.windows !== budget.def.windows) this.#accounts.clear();
    this.#budgetsWeight += budgetWeight(budget) - (before === undefined ? 0 : budgetWeight(before));
    this.#budgets.set(no, budget);
    this.#budgetNos.set(budget.def.path, no);
    this.#kept.keepUp((queue) => {
      if (before !== undefined) queue.budgetEdited(before.def, budget.def);
      else queue.budgetMade(budget.def);
    });
  }

  putReservation(reservation: Reservation): void {
    const { id } = reservation;
    const before = this.#reservations.get(id);
    this.#before.reservations.push([id, before]);
    this.#replaceReservation(id, before, reservation);
  }

  remember(digest: string, entry: Entry): void {
    this.#before.remembered.push([digest, this.#remembered.get(digest)]);
    this.#remembered.put(digest, entry);
  }

  /** Moves counters. Accounts of budgets that are not loaded are passed over: their counters are loaded with the effect. */
  move(effect: Effect, atMs: number): void {
    if (this.queue !== undefined) this.#kept.keepUp((queue) => effectMoved(queue, this, effect));
    for (const account of effect.accounts) {
      const budget = this.#mustMove(account.budgetNo);
      if (budget === undefined) continue;
      if (account.windowNo !== 0) {
        if (moveWindow(budget, account, effect, this.#before.stepMoves)) this.#turned.add(account.budgetNo);
        continue;
      }
      moveLifetime(budget, effect, atMs);
    }
  }

  /** Takes note of how full rates are at `atMs`. */
  moveRates(moves: readonly RateMove[], atMs: number): void {
    for (const { budgetNo, rateNo, level } of moves) {
      const budget = this.#mustMove(budgetNo);
      if (budget !== undefined) moveRate(budget, { no: rateNo, level, atMs });
    }
  }

  /** Takes note of shares that were told of. */
  markAlerts(alerts: readonly Alert[]): void {
    for (const no of new Set(alerts.map(({ budgetNo }) => budgetNo))) {
      const budget = this.#mustMove(no);
      if (budget !== undefined) mark(budget, alerts);
    }
  }

  /** Counts the children of a budget that are not closed. */
  countOpenChildren(budgetNo: number, change: number): void {
    const budget = change === 0 ? undefined : this.#mustMove(budgetNo);
    if (budget !== undefined) moveOpenChildren(budget, change);
  }

  advance(position: StatePosition): void {
    this.#position = position;
  }

  /**
   * Takes back whatever `work` does to the records, and returns what it returns: for a decision that has to see what a part of it
   * would do. What the batch did before stays.
   */
  tentatively<T>(work: () => T): T {
    const batch = this.#before;
    const position = this.#position;
    this.#begin();
    try {
      return work();
    } finally {
      this.#restore(this.#before);
      this.#position = position;
      this.#accounts.clear();
      this.#begin();
      this.#before = batch;
    }
  }

  /** Ends a batch that is decided; what comes after it belongs to the next one. */
  seal(): void {
    this.#sealed.push(this.#before);
    this.#begin();
  }

  /** Makes the oldest sealed batch final; where none is sealed, everything. */
  commit(): void {
    if (this.#sealed.shift() === undefined) this.#begin();
  }

  /** Takes everything back that is not final: what is sealed as well. */
  rollback(): void {
    let { position } = this.#before;
    this.#restore(this.#before);
    for (const before of this.#sealed.splice(0).reverse()) {
      this.#restore(before);
      position = before.position;
    }
    this.#position = position;
    this.#accounts.clear();
    this.#kept.keepUp((queue) => queue.stirAll());
    this.#begin();
  }

  /** Forgets records that can be loaded again. Only between batches. */
  evictReservation(id: ReservationId): void {
    const reservation = this.#reservations.get(id);
    if (reservation !== undefined) this.#replaceReservation(id, reservation, undefined);
  }

  /**
   * Forgets a budget that can be loaded again. Only between batches. Returns false where it has to stay: it is the root, has
   * holds, is waited for, or is above a budget that is loaded.
   */
  evictBudget(no: number): boolean {
    const budget = this.#budgets.get(no);
    if (budget === undefined) return true;
    if (budget.def.parentNo === undefined || budget.activeCount > 0 || this.#childCounts.has(no)) return false;
    if (this.queue !== undefined && this.queue.countAt(budget.def.path) > 0) return false;
    this.#forgetBudget(budget);
    return true;
  }

  /**
   * Forgets budgets that weigh `weight` together, as `evictBudget` does, beginning with those whose counters have not moved for
   * longest. Only between batches.
   */
  evictBudgets(weight: number): void {
    const keptWeight = this.#budgetsWeight - weight;
    for (const no of this.#budgets.keys()) {
      if (this.#budgetsWeight <= keptWeight) return;
      this.evictBudget(no);
    }
  }

  /**
   * Forgets budgets whose ancestors are not all loaded: they came with their entries alone, and no decision can be made on
   * them. Only between batches.
   */
  evictOrphans(): void {
    // A budget has a higher number than those above it.
    const inOrder = [...this.#budgets.values()].sort((a, b) => a.def.no - b.def.no);
    for (const budget of inOrder) {
      const { parentNo } = budget.def;
      if (parentNo !== undefined && !this.#budgets.has(parentNo)) this.#forgetBudget(budget);
    }
  }

  /**
   * Forgets counters of periods that are over and hold nothing, and steps that do not count any more at `nowMs`, of the budgets
   * where new ones have come. Only between batches.
   */
  evictPast(nowMs: number): void {
    for (const no of this.#turned) {
      const budget = this.#budgets.get(no);
      if (budget !== undefined) this.#budgets.set(no, withoutPast(budget, nowMs));
    }
    this.#turned.clear();
  }

  /**
   * Adds counters of a loaded budget that it does not have, as a load brought them, each once. Only between batches.
   */
  addCounters(budgetNo: number, counters: readonly Counter[]): void {
    const budget = this.mustBudget(budgetNo);
    const known = [...budget.counters];
    for (const counter of counters) {
      const { windowNo, periodMs } = counter;
      const counts = budget.def.windows.some(({ no }) => no === windowNo);
      // A load may bring one twice, for two reservations.
      const isHere = known.some((each) => each.windowNo === windowNo && each.periodMs === periodMs);
      if (counts && !isHere) known.push(counter);
    }
    // In front of later periods: the last one of a window is its latest. Lifetime has number 0.
    known.sort((a, b) => a.windowNo - b.windowNo || a.periodMs - b.periodMs);
    this.#budgets.set(budgetNo, { ...budget, counters: known });
  }

  /** Forgets the oldest remembered keys beyond `weightMax` in all; the store still knows them. Only between batches. */
  evictRemembered(weightMax: number): void {
    this.#remembered.evict(weightMax);
  }

  #leased(id: ReservationId): Reservation {
    const reservation = this.#reservations.get(id);
    invariant(reservation !== undefined, `lease of ${id} without its reservation`);
    return reservation;
  }

  #noteBudget(no: number): void {
    if (!this.#before.budgets.has(no)) this.#before.budgets.set(no, this.#budgets.get(no));
  }

  #mustMove(no: number): MovingBudget | undefined {
    return this.#moving.get(no) ?? this.#startMoving(no);
  }

  #startMoving(no: number): MovingBudget | undefined {
    const budget = this.#budgets.get(no);
    if (budget === undefined) return undefined;
    this.#noteBudget(no);
    const copy = movingCopy(budget);
    // To the end of the order, once a batch.
    this.#budgets.delete(no);
    this.#budgets.set(no, copy);
    this.#moving.set(no, copy);
    return copy;
  }

  #forgetBudget(budget: BudgetState): void {
    const { no, path } = budget.def;
    this.#budgetNos.delete(path);
    this.#budgetsWeight -= budgetWeight(budget);
    this.#budgets.delete(no);
    this.#accounts.delete(no);
    this.#countChild(budget, -1);
  }

  #countChild(budget: BudgetState, change: 1 | -1): void {
    const { parentNo } = budget.def;
    if (parentNo === undefined) return;
    const count = (this.#childCounts.get(parentNo) ?? 0) + change;
    if (count === 0) this.#childCounts.delete(parentNo);
    else this.#childCounts.set(parentNo, count);
  }

  #begin(): void {
    this.#before = new Before(this.#position);
    this.#moving.clear();
  }

  #restore({ budgets, reservations, remembered, stepMoves }: Before): void {
    for (const move of stepMoves.toReversed()) undoStep(move);
    for (const [no, before] of budgets) {
      const after = this.#budgets.get(no);
      if (before !== undefined) {
        this.#budgetsWeight += budgetWeight(before) - (after === undefined ? 0 : budgetWeight(after));
        this.#budgets.set(no, before);
      } else if (after !== undefined) this.#forgetBudget(after);
    }
    // Backwards: of several changes of one record the oldest is what it was.
    for (const [id, before] of reservations.toReversed()) {
      this.#replaceReservation(id, this.#reservations.get(id), before);
    }
    for (const [digest, before] of remembered.toReversed()) this.#remembered.put(digest, before);
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
    if (isWaiting(before) || isWaiting(after)) this.#kept.replace(before, after);
  }
}
