// Callers whose Reserve waits in the queue of its tree. Tells them what became of it once that is committed, notices when they go,
// and has a tree looked at when a wait is over though nothing else happens in it. What is in the queue is the kernel's to say; who
// waits for the answer is known here alone, and ends with this process.
import type { Answer } from '../kernel/answer.ts';
import type { Command } from '../kernel/command.ts';
import type { Entry, Granted } from '../kernel/entry.ts';
import type { ReservationId, TreeId } from '../kernel/names.ts';
import type { Reason, Refusal } from '../kernel/refusal.ts';
import type { Submitted } from './batch.ts';
import type { CachedTree } from './cached-tree.ts';
import { expireCommand } from './expire-command.ts';
import type { LaneDeps } from './lane-deps.ts';
import { NO_LANE_OBSERVER } from './lane-observer.ts';
import { leaveQueueCommand } from './leave-queue-command.ts';
import { keptMs } from './place-kept.ts';
import { callerGone, waitLost } from './refusals.ts';
import { refuseAll } from './refuse-all.ts';
import { UntakenGrants } from './untaken-grants.ts';
import { type WaitEnd, waitEndOf } from './wait-end.ts';

/** How long a clock that does not run by itself may be ahead of what was done about it. */
const LOOK_MS = 250;

/** After a look that was refused. The store, or the leader, comes back within seconds. */
const LOOK_AGAIN_MS = 1_000;

/** What a look is refused for that may do better a moment later. */
const PASSING: ReadonlySet<Reason> = new Set<Reason>(['OVERLOADED', 'CONTENTION', 'STORE_UNAVAILABLE']);

/** A caller that waits for one reservation. */
interface Caller {
  readonly item: Submitted;
  readonly stopListening: () => void;
}

type Deps = Pick<LaneDeps, 'clock' | 'monotonicMs' | 'observer' | 'log'>;

/** See the head of this file. */
export class WaitingRoom {
  readonly #deps: Deps;
  readonly #submit: (command: Command) => Promise<Answer>;
  readonly #trees = new Map<TreeId, Map<ReservationId, Caller[]>>();
  /** When each tree has to be looked at. */
  readonly #dues = new Map<TreeId, number>();
  /**
   * Those who are to leave, and when: their places are kept until then, or they could not be taken out yet. Without end while they are
   * being taken out.
   */
  readonly #leaving = new Map<TreeId, Map<ReservationId, number>>();
  readonly untaken = new UntakenGrants();
  /** Who had found a committed place, and are to be decided once more, or refused. */
  readonly #unseated = new WeakSet<Submitted>();
  /** Since when commands are decided. */
  #openSinceMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer goes off, by the coordinator's clock, at the latest. */
  #timerMs = Number.POSITIVE_INFINITY;
  #count = 0;

  /** `submit`: has a command decided like any other. */
  constructor(deps: Deps, submit: (command: Command) => Promise<Answer>) {
    this.#deps = deps;
    this.#submit = submit;
  }

  /** Callers that wait. */
  get count(): number {
    return this.#count;
  }

  /** Whether anybody waits for a reservation. */
  isAttached(treeId: TreeId, id: ReservationId): boolean {
    return this.#trees.get(treeId)?.has(id) === true;
  }

  /** Whether the place of one, or its grant, is kept for a while though nobody waits for it. */
  isKept(treeId: TreeId, id: ReservationId): boolean {
    return this.#leaving.get(treeId)?.has(id) === true;
  }

  /** Since when those who were sent away together could come back; undefined while they can't. */
  get openSinceMs(): number | undefined {
    return this.#openSinceMs;
  }

  /** Commands may be decided from now on, unless they could be before. */
  open(): void {
    this.#openSinceMs ??= this.#deps.clock.nowMs();
  }

  /** A Reserve was put into the queue, or has found its place there. */
  enter(item: Submitted, id: ReservationId): void {
    const tree = this.#trees.get(item.treeId) ?? new Map<ReservationId, Caller[]>();
    this.#trees.set(item.treeId, tree);
    const gone = (): void => this.#gone(item, id);
    item.signal?.addEventListener('abort', gone, { once: true });
    const caller = { item, stopListening: () => item.signal?.removeEventListener('abort', gone) };
    const callers = tree.get(id);
    if (callers === undefined) tree.set(id, [caller]);
    else callers.push(caller);
    this.#count += 1;
  }

  /** A caller does not wait here any more; whatever it is told is told elsewhere. */
  leave(item: Submitted, id: ReservationId): void {
    const tree = this.#trees.get(item.treeId);
    const callers = tree?.get(id);
    const at = callers?.findIndex((caller) => caller.item === item) ?? -1;
    if (tree === undefined || callers === undefined || at === -1) return;
    callers[at]?.stopListening();
    callers.splice(at, 1);
    this.#count -= 1;
    if (callers.length > 0) return;
    tree.delete(id);
    if (tree.size === 0) this.#trees.delete(item.treeId);
  }

  /** The batch in which a caller came to wait was taken back, and its tree is as before. It leaves, unless it comes again. */
  takenBack({ state }: CachedTree, item: Submitted, id: ReservationId): void {
    this.leave(item, id);
    if (state.queue?.byId(id) !== undefined) this.#unseated.add(item);
  }

  /** Callers are refused that were taken back: those that had found a committed place have waited there. */
  refused(items: readonly Submitted[], refusal: Refusal): void {
    for (const item of items) if (this.#unseated.delete(item)) this.#ended(item, waitEndOf(refusal));
  }

  /** A batch of a tree is final: tells callers what became of their requests, and takes note of when to look again. */
  committed(tree: CachedTree, entries: readonly Entry[]): void {
    for (const entry of entries) this.#tell(tree, entry);
    if (!tree.state.isTentative) this.#sift(tree);
    this.#note(tree);
  }

  /** A Reserve that might have waited was answered at once: a grant for nobody is taken back, and so is a place that nobody else has. */
  answered({ treeId, state }: CachedTree, { command, signal }: Submitted, answer: Answer): void {
    if (signal === undefined) return;
    if (answer.kind !== 'reservation') {
      // It had joined one that has gone since, in a batch that was taken back.
      const place = signal.aborted && command.key !== undefined ? state.queue?.byKey(command.key.digest) : undefined;
      if (place === undefined || place.queued.key.fingerprint !== command.key?.fingerprint) return;
      const isAwaited = this.isAttached(treeId, place.id) || this.isKept(treeId, place.id);
      if (!isAwaited) this.#giveUp(treeId, place.id, keptMs(signal));
      return;
    }
    if (answer.dryRun) return;
    const { id } = answer.reservation;
    if (!signal.aborted) this.untaken.delete(treeId, id);
    else if (this.untaken.has(treeId, id)) this.#giveUp(treeId, id, keptMs(signal));
  }

  /** As answered, where nobody knows whether it was committed: whoever is there was told so. */
  unanswered({ treeId }: CachedTree, { signal }: Submitted, answer: Answer): void {
    if (signal === undefined || answer.kind !== 'reservation' || answer.dryRun) return;
    const { id } = answer.reservation;
    if (!signal.aborted) this.untaken.delete(treeId, id);
    else if (this.untaken.has(treeId, id)) this.#giveUp(treeId, id, Math.max(LOOK_AGAIN_MS, keptMs(signal)));
  }

  /** A tree was forgotten, and what becomes of those who wait in it may be in its journal already: it is looked at. */
  dropped(treeId: TreeId): void {
    if (this.#trees.has(treeId) || this.#leaving.has(treeId)) this.#lookAgain(treeId);
  }

  /** All trees were forgotten; see dropped. */
  allDropped(): void {
    for (const treeId of [...this.#trees.keys(), ...this.#leaving.keys()]) this.#lookAgain(treeId);
  }

  /** A tree has come into memory, and nothing was decided on it yet: whoever waits for what does not wait in it is told. */
  review(tree: CachedTree): void {
    tree.isReviewed = true;
    this.#sift(tree);
    const { treeId, state, tail } = tree;
    const callers = this.#trees.get(treeId);
    if (callers === undefined) return;
    for (const entry of tail) {
      if (entry.type === 'Granted') {
        const { id } = entry.reservation;
        if (!callers.has(id) || state.reservation(id)?.figures.state !== 'ACTIVE') continue;
      }
      this.#tell(tree, entry);
    }
    for (const id of [...callers.keys()]) {
      if (state.queue?.byId(id) === undefined) this.#resolve(tree, id, waitLost());
    }
  }

  /** Refuses everybody who waits. Their places are kept for those who ask again. */
  sendAway(refusal: Refusal): void {
    const leaving = [...this.#leaving];
    this.#refuseCallers(refusal);
    // Others who are not back in time are let go together, from when they can come back. Of a grant only its caller was known.
    for (const [treeId, ids] of leaving) {
      for (const [id, atMs] of ids) if (this.untaken.has(treeId, id)) this.#leaveAt(treeId, id, atMs);
    }
  }

  /** As sendAway, where this process stops or begins to lead: another may have handed out any grant since, or will. */
  reset(refusal: Refusal): void {
    this.#refuseCallers(refusal);
    this.untaken.clear();
  }

  #refuseCallers(refusal: Refusal): void {
    for (const treeId of [...this.#trees.keys()]) this.#refuseIn(treeId, refusal);
    this.#dues.clear();
    this.#leaving.clear();
    this.#openSinceMs = undefined;
  }

  /** Refuses everybody who waits in a tree, which is out of service. */
  refuseTree(treeId: TreeId, refusal: Refusal): void {
    this.#refuseIn(treeId, refusal);
    this.untaken.deleteTree(treeId);
  }

  #refuseIn(treeId: TreeId, refusal: Refusal): void {
    this.#dues.delete(treeId);
    this.#leaving.delete(treeId);
    const tree = this.#trees.get(treeId);
    this.#trees.delete(treeId);
    for (const [id, callers] of tree ?? []) {
      this.untaken.delete(treeId, id);
      for (const { item, stopListening } of callers) {
        stopListening();
        this.#ended(item, waitEndOf(refusal));
      }
      this.#count -= callers.length;
      refuseAll(
        this.#deps.observer ?? NO_LANE_OBSERVER,
        callers.map(({ item }) => item),
        refusal,
      );
    }
  }

  #tell(tree: CachedTree, entry: Entry): void {
    switch (entry.type) {
      case 'Granted':
        if (entry.enqueuedSeq !== undefined) this.#resolve(tree, entry.reservation.id, grantOf(tree.treeId, entry));
        return;
      case 'LeftQueue':
        for (const { id, refusal } of entry.leaves) this.#resolve(tree, id, refusal);
        return;
      default:
    }
  }

  #resolve({ treeId }: CachedTree, id: ReservationId, answer: Answer): void {
    const tree = this.#trees.get(treeId);
    const callers = tree?.get(id) ?? [];
    tree?.delete(id);
    if (tree?.size === 0) this.#trees.delete(treeId);
    this.#count -= callers.length;
    for (const { item, stopListening } of callers) {
      stopListening();
      this.#ended(item, waitEndOf(answer));
      item.resolve(answer);
    }
    const isGrant = answer.kind === 'reservation';
    if (callers.length > 0) this.untaken.delete(treeId, id);
    // Decided while somebody waited, who has gone since, or was sent away and may be back for it.
    else if (isGrant && !this.isKept(treeId, id)) this.#takeOut(treeId, id);
    if (callers.length > 0 || !isGrant) this.#stay(treeId, id);
  }

  #gone(item: Submitted, id: ReservationId): void {
    const forMs = item.signal ? keptMs(item.signal) : 0;
    this.leave(item, id);
    this.#ended(item, forMs > 0 ? 'sent_away' : 'left');
    // Nobody reads it, but whoever handed it in goes on.
    item.resolve(callerGone());
    if (!this.isAttached(item.treeId, id)) this.#giveUp(item.treeId, id, forMs);
  }

  #ended({ sinceMs }: Submitted, end: WaitEnd): void {
    this.#deps.observer?.waitEnded(end, this.#deps.monotonicMs() - sinceMs);
  }

  #giveUp(treeId: TreeId, id: ReservationId, forMs: number): void {
    if (forMs === 0) this.#takeOut(treeId, id);
    else this.#leaveAt(treeId, id, this.#deps.clock.nowMs() + forMs);
  }

  #leaveAt(treeId: TreeId, id: ReservationId, atMs: number): void {
    const leaving = this.#leaving.get(treeId) ?? new Map<ReservationId, number>();
    this.#leaving.set(treeId, leaving.set(id, atMs));
    if (atMs < Number.POSITIVE_INFINITY) this.#lookAt(treeId, atMs);
  }

  #stay(treeId: TreeId, id: ReservationId): void {
    const leaving = this.#leaving.get(treeId);
    leaving?.delete(id);
    if (leaving?.size === 0) this.#leaving.delete(treeId);
  }

  // Sought until it is known what became of it. Its caller may have come back meanwhile, and be sent away once more.
  #takeOut(treeId: TreeId, id: ReservationId): void {
    this.#leaveAt(treeId, id, Number.POSITIVE_INFINITY);
    const isToStay = (): boolean => Number.isFinite(this.#leaving.get(treeId)?.get(id));
    const again = (): void => this.#leaveAt(treeId, id, this.#deps.clock.nowMs() + LOOK_AGAIN_MS);
    this.#do(
      leaveQueueCommand(treeId, id),
      () => isToStay() || again(),
      () => isToStay() || this.#stay(treeId, id),
    );
  }

  #sift(tree: CachedTree): void {
    this.untaken.sift(tree, (id) => this.isKept(tree.treeId, id));
  }

  #note({ treeId, state, attachByMs, isSwept, queueRestUntilMs }: CachedTree): void {
    const { queue } = state;
    const nowMs = this.#deps.clock.nowMs();
    // Who is to leave, and leases that run out, are no part of what rests.
    let dueMs = this.#leavingDueMs(treeId);
    if (queue !== undefined) {
      const sweepMs = isSwept ? Number.POSITIVE_INFINITY : (attachByMs ?? nowMs);
      const serveMs = queue.isDue(nowMs) ? nowMs : Math.min(queue.dueMs, sweepMs);
      dueMs = Math.min(dueMs, state.leaseDueMs, Math.max(serveMs, queueRestUntilMs));
    }
    this.#dues.delete(treeId);
    if (dueMs < Number.POSITIVE_INFINITY) this.#lookAt(treeId, dueMs);
  }

  #leavingDueMs(treeId: TreeId): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const atMs of this.#leaving.get(treeId)?.values() ?? []) dueMs = Math.min(dueMs, atMs);
    return dueMs;
  }

  // Not later than it is to be anyway.
  #lookAt(treeId: TreeId, atMs: number): void {
    const dueMs = Math.min(atMs, this.#dues.get(treeId) ?? atMs);
    this.#dues.set(treeId, dueMs);
    this.#wind(dueMs);
  }

  // One timer for all: many trees may wait, and few at a time are due.
  #wind(dueMs: number): void {
    if (dueMs >= this.#timerMs) return;
    const nowMs = this.#deps.clock.nowMs();
    clearTimeout(this.#timer);
    this.#timerMs = dueMs;
    this.#timer = setTimeout(() => this.#look(), Math.min(LOOK_MS, Math.max(0, dueMs - nowMs)));
    this.#timer.unref();
  }

  #look(): void {
    this.#timerMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#deps.clock.nowMs();
    let firstMs = Number.POSITIVE_INFINITY;
    for (const [treeId, dueMs] of this.#dues) {
      if (dueMs > nowMs) firstMs = Math.min(firstMs, dueMs);
      else {
        this.#dues.delete(treeId);
        this.#takeOutLeft(treeId, nowMs);
        this.#do(expireCommand(treeId), () => this.#lookAgain(treeId));
        const nextMs = this.#leavingDueMs(treeId);
        if (nextMs < Number.POSITIVE_INFINITY) this.#dues.set(treeId, nextMs);
      }
    }
    this.#wind(firstMs);
  }

  // Whoever has come back meanwhile stays.
  #takeOutLeft(treeId: TreeId, nowMs: number): void {
    for (const [id, atMs] of [...(this.#leaving.get(treeId) ?? [])]) {
      if (atMs > nowMs) continue;
      if (this.isAttached(treeId, id)) this.#stay(treeId, id);
      else this.#takeOut(treeId, id);
    }
  }

  #lookAgain(treeId: TreeId): void {
    this.#lookAt(treeId, this.#deps.clock.nowMs() + LOOK_AGAIN_MS);
  }

  // Nobody waits for the answer. Where it was refused for the moment, or failed, it is tried again; where another leads by then,
  // that one lets go of those for whom nobody comes back.
  #do(command: Command, refused: () => void, done?: () => void): void {
    this.#submit(command).then(
      (answer) => {
        if (answer.kind === 'refusal' && PASSING.has(answer.reason)) refused();
        else done?.();
      },
      (error: unknown) => {
        this.#deps.log('error', 'a queue could not be looked at', { treeId: command.treeId, error });
        refused();
      },
    );
  }
}

function grantOf(treeId: TreeId, { reservation, headroom }: Granted): Answer {
  return { kind: 'reservation', treeId, reservation, headroom, replayed: false, dryRun: false };
}
