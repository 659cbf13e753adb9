// One tree as the lane keeps it between batches: its state, the end of its journal, and the entries that the projection
// has not caught up with yet. Whatever is not loaded is asked for by `missing`, in the words of the store's port.

import { apply } from '../kernel/apply.ts';
import type { Command } from '../kernel/command.ts';
import type { Entry } from '../kernel/entry.ts';
import { invariant } from '../kernel/invariant.ts';
import { type BudgetPath, parentOf, type ReservationId, type TreeId } from '../kernel/names.ts';
import { reservationOf } from '../kernel/replay.ts';
import type { Reservation } from '../kernel/reservation.ts';
import { TreeState } from '../kernel/tree-state.ts';
import type { Head, Loaded } from '../store/port.ts';

/** Ended reservations kept in memory a tree: a repeat or a second settlement usually comes at once or never. */
const ENDED_COUNT_MAX = 1_000;

/** Names known not to exist, kept a tree, so that a caller in a loop does not read the store each time. */
const ABSENT_COUNT_MAX = 10_000;

/** Lapses that one batch records for a tree at the most. A page of this size takes about 10 ms to decide and append, which is
 * what other trees may have to wait for it. */
export const DUE_COUNT_MAX = 1_000;

/** What a command needs and the cache does not have. */
export interface Missing {
  readonly paths: readonly BudgetPath[];
  readonly reservationIds: readonly ReservationId[];
  readonly leases: boolean;
}

/** A tree in the cache. */
export class CachedTree {
  readonly treeId: TreeId;
  readonly state: TreeState;
  head: Head;
  /** Entries after `projectedSeq`, oldest first. */
  tail: Entry[];
  projectedSeq: number;
  /** Every live reservation with a reclaim time up to here is loaded. */
  leasesThroughMs: number;
  /** Whether every lease that ran out before this process led has got its grace. */
  graced = false;
  readonly #absentPaths = new Set<BudgetPath>();
  readonly #absentIds = new Set<ReservationId>();
  readonly #ended: ReservationId[] = [];

  constructor(treeId: TreeId, loaded: Loaded) {
    this.treeId = treeId;
    this.head = loaded.head;
    this.projectedSeq = loaded.projectedSeq;
    this.tail = [...loaded.tail];
    this.leasesThroughMs = loaded.leasesThroughMs ?? Number.NEGATIVE_INFINITY;
    this.state = stateOf(treeId, loaded, this.tail);
    const { position } = this.state;
    invariant(
      position.seq === loaded.head.seq,
      `tree ${treeId} ends at ${position.seq}, its journal at ${loaded.head.seq}`,
    );
    // Where nothing is left to replay, only the head knows how late it was: time must not go back behind it.
    this.state.advance({ ...position, atMs: loaded.head.atMs });
    this.state.commit();
  }

  /** What must be loaded before lapses that are due at `nowMs` can be recorded; undefined where nothing is. */
  missingForDue(nowMs: number): Missing | undefined {
    if (nowMs > this.leasesThroughMs) return { paths: [], reservationIds: [], leases: true };
    const paths: BudgetPath[] = [];
    for (const reservation of this.state.due(nowMs, DUE_COUNT_MAX)) this.#needChain(reservation, paths);
    return paths.length === 0 ? undefined : { paths, reservationIds: [], leases: false };
  }

  /** What must be loaded before `command` can be decided; undefined where nothing is. */
  missingFor(command: Command): Missing | undefined {
    const paths: BudgetPath[] = [];
    const reservationIds: ReservationId[] = [];
    this.#needBudgetsOf(command, paths);
    for (const id of this.#reservationsOf(command)) this.#needReservation(id, paths, reservationIds);
    return paths.length === 0 && reservationIds.length === 0 ? undefined : { paths, reservationIds, leases: false };
  }

  /**
   * Takes in what a load brought, brought forward by the entries that it had not seen. Only between batches. Returns false
   * where the load was read too early or too late to be joined: it has to be done again.
   */
  install(loaded: Loaded, asked: Missing): boolean {
    if (loaded.projectedSeq < this.projectedSeq || loaded.projectedSeq > this.state.position.seq) return false;
    const piece = stateOf(this.treeId, loaded, this.tail);
    for (const budget of piece.budgets()) {
      if (this.state.budget(budget.def.no) === undefined) this.state.putBudget(budget);
    }
    for (const reservation of piece.reservations()) {
      const wanted = reservation.figures.state === 'ACTIVE' || asked.reservationIds.includes(reservation.id);
      if (wanted && this.state.reservation(reservation.id) === undefined) this.state.putReservation(reservation);
    }
    this.state.commit();
    if (loaded.leasesThroughMs !== undefined && loaded.leasesThroughMs > this.leasesThroughMs) {
      this.leasesThroughMs = loaded.leasesThroughMs;
    }
    this.noteAbsent(asked);
    return true;
  }

  /** Notes what was asked for and is not there. */
  noteAbsent(asked: Missing): void {
    if (this.#absentPaths.size + this.#absentIds.size > ABSENT_COUNT_MAX) {
      this.#absentPaths.clear();
      this.#absentIds.clear();
    }
    for (const path of asked.paths) if (this.state.budgetAt(path) === undefined) this.#absentPaths.add(path);
    for (const id of asked.reservationIds) if (this.state.reservation(id) === undefined) this.#absentIds.add(id);
  }

  /** Makes a batch final. */
  committed(head: Head, entries: readonly Entry[]): void {
    this.state.commit();
    this.head = head;
    for (const entry of entries) {
      this.tail.push(entry);
      this.#noteEnded(entry);
    }
    if (this.#ended.length > ENDED_COUNT_MAX * 2) {
      const oldest = this.#ended.splice(0, this.#ended.length - ENDED_COUNT_MAX);
      for (const id of oldest) this.state.evictReservation(id);
    }
  }

  /** Notes that the projection has come as far as `projectedSeq`. */
  projected(projectedSeq: number): void {
    if (projectedSeq <= this.projectedSeq) return;
    const seen = this.tail.findIndex((entry) => entry.seq > projectedSeq);
    this.tail = seen === -1 ? [] : this.tail.slice(seen);
    this.projectedSeq = projectedSeq;
  }

  #needBudgetsOf(command: Command, paths: BudgetPath[]): void {
    if (!('budget' in command)) return;
    this.#needPath(command.budget, paths);
    const parent = command.kind === 'CreateBudget' ? parentOf(command.budget) : undefined;
    if (parent !== undefined) this.#needPath(parent, paths);
  }

  #reservationsOf(command: Command): ReservationId[] {
    const ids: ReservationId[] = [];
    if (command.kind === 'Renew') for (const { id } of command.renewals) ids.push(id);
    else if ('id' in command && command.kind !== 'Reserve') ids.push(command.id);
    const remembered = command.key === undefined ? undefined : this.state.remembered(command.key.digest);
    const repeated = remembered === undefined ? undefined : reservationOf(remembered);
    if (repeated !== undefined) ids.push(repeated);
    return ids;
  }

  #needPath(path: BudgetPath, paths: BudgetPath[]): void {
    if (this.state.budgetAt(path) === undefined && !this.#absentPaths.has(path)) paths.push(path);
  }

  #needReservation(id: ReservationId, paths: BudgetPath[], ids: ReservationId[]): void {
    const reservation = this.state.reservation(id);
    if (reservation !== undefined) this.#needChain(reservation, paths);
    else if (!this.#absentIds.has(id)) ids.push(id);
  }

  // A reservation that came with the tail may charge budgets that nobody has asked for yet.
  #needChain(reservation: Reservation, paths: BudgetPath[]): void {
    const whole = reservation.accounts.every((account) => this.state.budget(account.budgetNo) !== undefined);
    if (!whole) paths.push(reservation.budget);
  }

  #noteEnded(entry: Entry): void {
    if ((entry.type === 'Settled' || entry.type === 'Released') && entry.figures.state !== 'ACTIVE') {
      this.#ended.push(entry.id);
    }
    if (entry.type === 'Expired') for (const { id } of entry.lapses) this.#ended.push(id);
  }
}

function stateOf(treeId: TreeId, loaded: Loaded, tail: readonly Entry[]): TreeState {
  const { projectedSeq, budgetCount } = loaded;
  const state = new TreeState(treeId, { seq: projectedSeq, atMs: 0, budgetCount });
  for (const budget of loaded.budgets) state.putBudget(budget);
  for (const reservation of loaded.reservations) state.putReservation(reservation);
  for (const entry of tail) if (entry.seq > projectedSeq) apply(state, entry);
  return state;
}

/** What a command needs of a tree of which nothing is loaded. */
export function needsOf(command: Command): Missing {
  const paths: BudgetPath[] = 'budget' in command ? [command.budget] : [];
  const reservationIds: ReservationId[] = [];
  if (command.kind === 'Renew') for (const { id } of command.renewals) reservationIds.push(id);
  else if ('id' in command && command.kind !== 'Reserve') reservationIds.push(command.id);
  return { paths, reservationIds, leases: true };
}

/** Several needs as one. */
export function mergeMissing(all: readonly Missing[]): Missing {
  return {
    paths: [...new Set(all.flatMap((missing) => missing.paths))],
    reservationIds: [...new Set(all.flatMap((missing) => missing.reservationIds))],
    leases: all.some((missing) => missing.leases),
  };
}
