// Callers whose Reserve waits in the queue of its tree. Tells them what became of it once that is committed, notices when they go,
// and has a tree looked at when a wait is over though nothing else happens in it. What is in the queue is the kernel's to say; who
// waits for the answer is known here alone, and ends with this process.
import type { Answer } from '../kernel/answer.ts';
import type { Command } from '../kernel/command.ts';
import type { Entry, Granted } from '../kernel/entry.ts';
import type { ReservationId, TreeId } from '../kernel/names.ts';
import type { Refusal } from '../kernel/refusal.ts';
import type { Submitted } from './batch.ts';
import type { CachedTree } from './cached-tree.ts';
import { expireCommand } from './expire-command.ts';
import type { LaneDeps } from './lane-deps.ts';
import { NO_LANE_OBSERVER } from './lane-observer.ts';
import { leaveQueueCommand } from './leave-queue-command.ts';
import { callerGone } from './refusals.ts';
import { refuseAll } from './refuse-all.ts';

/** How long a clock that does not run by itself may be ahead of what was done about it. */
const LOOK_MS = 250;

/** After a look that was refused. The store, or the leader, comes back within seconds. */
const LOOK_AGAIN_MS = 1_000;

/** A caller that waits for one reservation. */
interface Caller {
  readonly item: Submitted;
  readonly stopListening: () => void;
}

/** See the head of this file. */
export class WaitingRoom {
  readonly #deps: Pick<LaneDeps, 'clock' | 'observer' | 'log'>;
  readonly #submit: (command: Command) => Promise<Answer>;
  readonly #trees = new Map<TreeId, Map<ReservationId, Caller[]>>();
  /** When each tree has to be looked at. */
  readonly #dues = new Map<TreeId, number>();
  /** Those who are to leave, and could not be taken out yet. */
  readonly #leaving = new Map<TreeId, Set<ReservationId>>();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer goes off, by the coordinator's clock, at the latest. */
  #timerMs = Number.POSITIVE_INFINITY;
  #count = 0;

  /** `submit`: has a command decided like any other. */
  constructor(deps: Pick<LaneDeps, 'clock' | 'observer' | 'log'>, submit: (command: Command) => Promise<Answer>) {
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

  /** A batch of a tree is final: tells callers what became of their requests, and takes note of when to look again. */
  committed(tree: CachedTree, entries: readonly Entry[]): void {
    const { treeId } = tree;
    if (this.#trees.has(treeId)) for (const entry of entries) this.#tell(treeId, entry);
    this.#note(tree);
    if (this.#leaving.has(treeId)) this.#takeOutLeft(treeId);
  }

  /** A Reserve that might have waited was answered at once: a grant for nobody is taken back. */
  answered(item: Submitted, answer: Answer): void {
    if (item.signal?.aborted !== true || answer.kind !== 'reservation' || answer.replayed) return;
    this.#takeOut(item.treeId, answer.reservation.id);
  }

  /** Refuses everybody who waits. Their places are kept for those who ask again. */
  refuseAll(refusal: Refusal): void {
    for (const treeId of [...this.#trees.keys()]) this.refuseTree(treeId, refusal);
    this.#dues.clear();
    // Whoever is not back in time is let go with the others.
    this.#leaving.clear();
  }

  /** Refuses everybody who waits in a tree. */
  refuseTree(treeId: TreeId, refusal: Refusal): void {
    this.#dues.delete(treeId);
    const tree = this.#trees.get(treeId);
    this.#trees.delete(treeId);
    for (const callers of tree?.values() ?? []) {
      for (const { stopListening } of callers) stopListening();
      this.#count -= callers.length;
      refuseAll(
        this.#deps.observer ?? NO_LANE_OBSERVER,
        callers.map(({ item }) => item),
        refusal,
      );
    }
  }

  #tell(treeId: TreeId, entry: Entry): void {
    switch (entry.type) {
      case 'Granted':
        if (entry.enqueuedSeq !== undefined) this.#resolve(treeId, entry.reservation.id, grantOf(treeId, entry));
        return;
      case 'LeftQueue':
        for (const { id, refusal } of entry.leaves) this.#resolve(treeId, id, refusal);
        return;
      default:
    }
  }

  #resolve(treeId: TreeId, id: ReservationId, answer: Answer): void {
    const tree = this.#trees.get(treeId);
    const callers = tree?.get(id) ?? [];
    tree?.delete(id);
    if (tree?.size === 0) this.#trees.delete(treeId);
    this.#count -= callers.length;
    for (const { item, stopListening } of callers) {
      stopListening();
      item.resolve(answer);
    }
    // Decided while somebody waited, who has gone since.
    if (callers.length === 0 && answer.kind === 'reservation') this.#takeOut(treeId, id);
  }

  #gone(item: Submitted, id: ReservationId): void {
    this.leave(item, id);
    // Nobody reads it, but whoever handed it in goes on.
    item.resolve(callerGone());
    if (!this.isAttached(item.treeId, id)) this.#takeOut(item.treeId, id);
  }

  #takeOut(treeId: TreeId, id: ReservationId): void {
    this.#do(leaveQueueCommand(treeId, id), () => {
      const leaving = this.#leaving.get(treeId) ?? new Set<ReservationId>();
      this.#leaving.set(treeId, leaving.add(id));
      this.#lookAgain(treeId);
    });
  }

  #note({ treeId, state, attachByMs }: CachedTree): void {
    const { queue } = state;
    if (queue === undefined) {
      this.#dues.delete(treeId);
      return;
    }
    const nowMs = this.#deps.clock.nowMs();
    const dueMs = queue.isDue(nowMs) ? nowMs : Math.min(state.queueDueMs, attachByMs ?? nowMs);
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
        this.#do(expireCommand(treeId), () => this.#lookAgain(treeId));
        this.#takeOutLeft(treeId);
      }
    }
    this.#wind(firstMs);
  }

  // Whoever has come back meanwhile stays.
  #takeOutLeft(treeId: TreeId): void {
    const leaving = this.#leaving.get(treeId) ?? [];
    this.#leaving.delete(treeId);
    for (const id of leaving) if (!this.isAttached(treeId, id)) this.#takeOut(treeId, id);
  }

  #lookAgain(treeId: TreeId): void {
    const dueMs = this.#deps.clock.nowMs() + LOOK_AGAIN_MS;
    this.#dues.set(treeId, dueMs);
    this.#wind(dueMs);
  }

  // Nobody waits for the answer. Where it was refused, or failed, it is tried again; where another leads by then, that one lets go of
  // those for whom nobody comes back.
  #do(command: Command, refused: () => void): void {
    this.#submit(command).then(
      (answer) => {
        if (answer.kind !== 'refusal' || answer.reason === 'NOT_LEADER' || answer.reason === 'TREE_QUARANTINED') return;
        refused();
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
