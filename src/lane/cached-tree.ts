// One tree as the lane keeps it between batches: its state, the end of its journal, and the entries that the projection
// has not caught up with yet. Whatever is not loaded is asked for by `missing`, in the words of the store's port. What can be
// loaded again is counted here, for whoever bounds memory, and forgotten on command.
import { apply } from '../kernel/apply.ts';
import type { Command } from '../kernel/command.ts';
import type { QueueFault } from '../kernel/decide-queue.ts';
import type { Entry } from '../kernel/entry.ts';
import { invariant } from '../kernel/invariant.ts';
import type { BudgetPath, ReservationId, TreeId } from '../kernel/names.ts';
import type { ReservationFigures } from '../kernel/reservation.ts';
import { TreeState } from '../kernel/tree-state.ts';
import { reservationWeight } from '../kernel/weight.ts';
import type { Head, Loaded } from '../store/port.ts';
import { AbsentNames } from './absent-names.ts';
import { bringForward } from './bring-forward.ts';
import { KnownRecords } from './known-records.ts';
import type { Missing } from './missing.ts';
import { hasAll } from './missing-periods.ts';
import { TailIndex } from './tail-index.ts';

/** Weight of the ended reservations kept in memory a tree: a repeat or a second settlement usually comes at once or never. */
const ENDED_WEIGHT_MAX = 1_000;

/** Closed budgets kept in memory a tree: a run that was closed is looked at for a moment, and then never again. */
const CLOSED_COUNT_MAX = 1_000;

/** Between two looks for periods that are over: a rolling window makes at most sixty steps meanwhile. */
const PAST_LOOK_MS = 60_000;

/** Lapses that one batch records for a tree at the most. A page of this size takes about 10 ms to decide and append, which is
 * what other trees may have to wait for it. */
export const DUE_COUNT_MAX = 1_000;

/** What a tree has in memory that can be loaded again. All by their weight (weight.ts): most weigh 1. */
export interface Spare {
  /** Answers that are remembered by their keys, and names that are known not to exist. */
  readonly answers: number;
  /** Reservations that have ended. */
  readonly ended: number;
  /** Budgets, those included that can't be spared now. */
  readonly budgets: number;
}

/** A tree in the cache. */
export class CachedTree {
  readonly treeId: TreeId;
  readonly state: TreeState;
  /** The end of the journal as it is committed. */
  head: Head;
  /** What `head` will be once every batch that is sealed is committed. */
  #tip: Head;
  /** Entries after `projectedSeq`, oldest first. */
  tail: Entry[];
  projectedSeq: number;
  /** Every live reservation with a reclaim time up to here is loaded. */
  leasesThroughMs: number;
  /** Whether every lease that ran out before this process led has got its grace. */
  graced = false;
  /**
   * Until when those who waited when the tree came into memory keep their places though nobody asks for them; undefined until
   * somebody looks.
   */
  attachByMs: number | undefined;
  /** Whether those who did not come back by then were let go. */
  isSwept = false;
  /** Nothing is done for those who wait before, for a fault in it; see QueueDoubts. */
  queueRestUntilMs = 0;
  /** Those who could not be let go for a fault, until everybody was tried. */
  readonly failedToLeave = new Set<ReservationId>();
  /** Whether those who wait for something in it were compared with it. */
  isReviewed = false;
  /** The first in keeping the queue up that nobody has dealt with. */
  #queueFault: QueueFault | undefined;
  #index = new TailIndex();
  readonly #absent = new AbsentNames();
  readonly #known = new KnownRecords(this, this.#absent);
  /** Paths that those who wait name, which may exist though they are not in memory: nothing can be decided before they are asked for. */
  readonly #unasked = new Set<BudgetPath>();
  /** In the order in which they ended or came; one may be here twice. */
  readonly #ended: (readonly [id: ReservationId, weight: number])[] = [];
  #endedWeight = 0;
  readonly #closed: number[] = [];
  #closedLookCount = CLOSED_COUNT_MAX * 2;
  /** When to look next for periods that are over. */
  #pastLookMs: number;

  /** `asked`: what the load was made for. */
  constructor(treeId: TreeId, loaded: Loaded, asked?: Missing) {
    this.treeId = treeId;
    this.head = loaded.head;
    this.#pastLookMs = loaded.head.atMs + PAST_LOOK_MS;
    this.#tip = loaded.head;
    this.projectedSeq = loaded.projectedSeq;
    this.tail = [...loaded.tail];
    this.leasesThroughMs = loaded.leasesThroughMs ?? Number.NEGATIVE_INFINITY;
    const { projectedSeq: seq, budgetCount } = loaded;
    const queueFailed = (error: unknown): void => {
      this.#queueFault ??= { id: undefined, error };
    };
    this.state = new TreeState(treeId, { seq, atMs: 0, budgetCount }, queueFailed);
    for (const budget of loaded.budgets) this.state.putBudget(budget);
    for (const reservation of loaded.reservations) this.state.putReservation(reservation);
    for (const entry of this.tail) apply(this.state, entry);
    const { position } = this.state;
    invariant(
      position.seq === loaded.head.seq,
      `tree ${treeId} ends at ${position.seq}, its journal at ${loaded.head.seq}`,
    );
    // Where nothing is left to replay, only the head knows how late it was: time must not go back behind it.
    this.state.advance({ ...position, atMs: loaded.head.atMs });
    this.state.commit();
    this.state.evictOrphans();
    for (const { id, figures } of this.state.reservations()) if (hasEnded(figures)) this.#noteEnded(id);
    for (const { def } of this.state.budgets()) if (def.closed) this.#closed.push(def.no);
    this.#noteUnasked(asked);
    // Before anything is forgotten: what was asked for and is there must not be taken for absent. Of a tree that does not
    // exist nothing has to be noted: no name is in it.
    if (asked !== undefined && this.head.seq > 0) this.noteAbsent(asked);
    this.letGo();
  }

  /** Where the next batch's entries begin: the end of the journal once every batch that is sealed is committed. */
  get tip(): Head {
    return this.#tip;
  }

  /**
   * What must be loaded before lapses that are due at `nowMs` can be recorded, and those who wait be looked at; undefined where
   * nothing is.
   */
  missingForDue(nowMs: number): Missing | undefined {
    if (nowMs > this.leasesThroughMs) return { paths: [...this.#unasked], reservationIds: [], leases: true };
    if (this.#unasked.size > 0) return { paths: [...this.#unasked], reservationIds: [], leases: false };
    const due = this.state.due(nowMs, DUE_COUNT_MAX).filter((reservation) => !hasAll(this.state, reservation));
    return due.length === 0 ? undefined : this.#known.missingOf(due);
  }

  /** What must be loaded before `command` can be decided; undefined where nothing is. */
  missingFor(command: Command): Missing | undefined {
    return this.#known.missingFor(command);
  }

  /**
   * Takes in what a load brought, brought forward by the entries that it had not seen. Only between batches. Returns false
   * where the load was read too early or too late to be joined: it has to be done again.
   */
  install(loaded: Loaded, asked: Missing): boolean {
    invariant(!this.state.isTentative, `tree ${this.treeId} takes in records while a batch of it is under way`);
    if (loaded.projectedSeq < this.projectedSeq || loaded.projectedSeq > this.state.position.seq) return false;
    this.#index.extend(this.tail);
    const { budgets, reservations, counters } = bringForward(this.state, this.#index, loaded, asked);
    for (const budget of budgets) {
      this.state.putBudget(budget);
      if (budget.def.closed) this.#closed.push(budget.def.no);
    }
    for (const [no, each] of counters) if (this.state.budget(no) !== undefined) this.state.addCounters(no, each);
    const askedIds = new Set(asked.reservationIds);
    for (const reservation of reservations) {
      const live = reservation.figures.state === 'ACTIVE';
      // One that came as a lease may have ended since it was projected.
      if (live || askedIds.has(reservation.id)) this.state.putReservation(reservation);
      if (!live && askedIds.has(reservation.id)) this.#noteEnded(reservation.id);
    }
    this.state.commit();
    if (loaded.leasesThroughMs !== undefined && loaded.leasesThroughMs > this.leasesThroughMs) {
      this.leasesThroughMs = loaded.leasesThroughMs;
    }
    this.noteAbsent(asked);
    for (const path of asked.paths) this.#unasked.delete(path);
    this.letGo();
    return true;
  }

  // A budget may have come after its waiter, and a load does not know who waits by the tail alone. From here on those who wait keep
  // theirs in memory, and what is made is seen.
  #noteUnasked(asked: Missing | undefined): void {
    const named = [...(this.state.queue?.waiting() ?? [])].flatMap(({ budget, also }) => [budget, ...also]);
    for (const path of named) if (this.state.budgetAt(path) === undefined) this.#unasked.add(path);
    for (const path of asked?.paths ?? []) this.#unasked.delete(path);
  }

  /** Notes what was asked for and is not there. */
  noteAbsent(asked: Missing): void {
    this.#absent.note(asked, this.state);
  }

  /** A fault in keeping the queue up since this was asked last; the queue was made anew. */
  takeQueueFault(): QueueFault | undefined {
    const fault = this.#queueFault;
    this.#queueFault = undefined;
    return fault;
  }

  /** Ends a batch of entries that are applied. `head`: the end of the journal once it is committed. */
  seal(head: Head): void {
    invariant(head.seq === this.state.position.seq, `a batch of ${this.treeId} ends elsewhere than its state`);
    this.state.seal();
    this.#tip = head;
  }

  /** Makes a batch final, the oldest of those that are sealed. */
  committed(head: Head, entries: readonly Entry[]): void {
    invariant(entries.at(-1)?.seq === head.seq, `a batch of ${this.treeId} is committed that was not its oldest`);
    this.state.commit();
    this.head = head;
    if (!this.state.isTentative) this.#tip = head;
    for (const entry of entries) {
      this.tail.push(entry);
      this.#note(entry);
    }
  }

  /** Takes every batch back that is not final. */
  takeBack(): void {
    this.state.rollback();
    this.#tip = this.head;
    // Whoever was let go in them waits once more.
    this.isSwept = false;
  }

  /** Notes that the projection has come as far as `projectedSeq`. */
  projected(projectedSeq: number): void {
    if (projectedSeq <= this.projectedSeq) return;
    const seen = this.tail.findIndex((entry) => entry.seq > projectedSeq);
    this.tail = seen === -1 ? [] : this.tail.slice(seen);
    this.#index = new TailIndex();
    this.projectedSeq = projectedSeq;
  }

  /** Whether there is so much of what has ended that `letGo` would forget some of it, or may be of periods that are over. */
  get isOverfull(): boolean {
    if (this.head.atMs >= this.#pastLookMs) return true;
    return this.#endedWeight > ENDED_WEIGHT_MAX * 2 || this.#closed.length > this.#closedLookCount;
  }

  /**
   * Forgets periods that are over, now and then, and what has ended, at twice the count that is kept and down to it, so that it
   * does not move whole lists for each batch. Only between batches.
   */
  letGo(): void {
    if (this.head.atMs >= this.#pastLookMs) {
      this.state.evictPast(this.head.atMs);
      this.#pastLookMs = this.head.atMs + PAST_LOOK_MS;
    }
    if (this.#endedWeight > ENDED_WEIGHT_MAX * 2) this.forget('ended', this.#endedWeight - ENDED_WEIGHT_MAX);
    if (this.#closed.length <= this.#closedLookCount) return;
    const oldest = this.#closed.splice(0, this.#closed.length - CLOSED_COUNT_MAX);
    // One that still has holds, or a budget below it in memory, gets another turn.
    for (const no of oldest) if (!this.state.evictBudget(no)) this.#closed.push(no);
    this.#closedLookCount = this.#closed.length + CLOSED_COUNT_MAX;
  }

  spare(): Spare {
    const { rememberedWeight, budgetsWeight } = this.state;
    return { answers: rememberedWeight + this.#absent.count, ended: this.#endedWeight, budgets: budgetsWeight };
  }

  /** Forgets about `count` of a kind, as `spare` has it, oldest first. Only between batches. */
  forget(kind: keyof Spare, count: number): void {
    invariant(!this.state.isTentative, `tree ${this.treeId} forgets while a batch of it is under way`);
    switch (kind) {
      case 'answers': {
        const keptCount = this.spare().answers - count;
        this.#absent.clear();
        this.state.evictRemembered(Math.max(0, keptCount));
        return;
      }
      case 'ended':
        this.#forgetEnded(this.#endedWeight - count);
        return;
      case 'budgets':
        this.state.evictBudgets(count);
    }
  }

  #noteEnded(id: ReservationId): void {
    const reservation = this.state.reservation(id);
    const weight = reservation === undefined ? 1 : reservationWeight(reservation);
    this.#ended.push([id, weight]);
    this.#endedWeight += weight;
  }

  #forgetEnded(keptWeight: number): void {
    let count = 0;
    for (const [id, weight] of this.#ended) {
      if (this.#endedWeight <= keptWeight) break;
      this.state.evictReservation(id);
      this.#endedWeight -= weight;
      count += 1;
    }
    this.#ended.splice(0, count);
  }

  // What has ended may leave memory, and what has begun is not absent any more.
  #note(entry: Entry): void {
    switch (entry.type) {
      case 'Settled':
      case 'Released':
        if (entry.figures.state !== 'ACTIVE') this.#noteEnded(entry.id);
        return;
      case 'Expired':
        for (const { id } of entry.lapses) this.#noteEnded(id);
        return;
      case 'BudgetClosed':
        this.#closed.push(entry.def.no);
        return;
      case 'BudgetCreated':
        this.#absent.deletePath(entry.def.path);
        return;
      case 'Granted':
      case 'Enqueued':
        this.#absent.deleteId(entry.reservation.id);
        return;
      case 'LeftQueue':
        for (const { id } of entry.leaves) this.#noteEnded(id);
        return;
      default:
    }
  }
}

function hasEnded({ state }: ReservationFigures): boolean {
  return state !== 'ACTIVE' && state !== 'QUEUED';
}
