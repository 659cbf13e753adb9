// Queues of trees in which something failed by a fault of the program: which trees are to be read anew, since what is in memory may be
// what is wrong, and whose queue rests until when. Its own file because both have to outlive the tree in memory that they are about.
import type { QueueFault } from '../kernel/decide-queue.ts';
import type { ReservationId, TreeId } from '../kernel/names.ts';
import type { QueueRests } from '../kernel/wait-queue.ts';
import type { CachedTree } from './cached-tree.ts';

/**
 * Faults of one that waits, or of a queue itself, after which its tree is read anew. Those within ten seconds of one that counts do not
 * count: a fault that passes is over by then, and where it stays a tree is read once in twenty seconds.
 */
const FAULTS_MAX = 3;

/** How long a queue rests after a fault in it: as long as one that can't be judged is left alone (decide-queue.ts). */
export const QUEUE_AGAIN_MS = 10_000;

/**
 * Thrown where what was decided of those who wait can't be applied, or their queue not be made anew, by a fault of the program: the tree
 * in memory may have stopped halfway, and has to be forgotten. What it was about is nobody's command.
 */
export class QueueFaultError extends Error {
  override readonly name = 'QueueFaultError';
}

/** Faults that count, and when the next one does. */
interface Counted {
  readonly count: number;
  readonly againMs: number;
}

const NONE_COUNTED: Counted = { count: 0, againMs: 0 };

/** Of a tree that is not in memory. */
interface Rests extends QueueRests {
  /** Nothing is done for those who wait before. */
  readonly allUntilMs: number;
  /** The last of them. */
  readonly untilMs: number;
}

const NO_RESTS: Rests = { queueUntilMs: 0, endsUntilMs: 0, allUntilMs: 0, untilMs: 0 };

/** See the head of this file. */
export class QueueDoubts {
  readonly #counts = new WeakMap<CachedTree, Map<ReservationId | undefined, Counted>>();
  readonly #doubted = new Set<CachedTree>();
  readonly #rests = new Map<TreeId, Rests>();

  /** Whether any tree is to be read anew. */
  get hasDoubted(): boolean {
    return this.#doubted.size > 0;
  }

  /** Notes faults of `nowMs`. Returns whether the tree is to be read anew for them. */
  note(tree: CachedTree, faults: readonly QueueFault[], nowMs: number): boolean {
    if (faults.length === 0) return false;
    const counts = this.#counts.get(tree) ?? new Map<ReservationId | undefined, Counted>();
    this.#counts.set(tree, counts);
    let isDoubted = false;
    for (const { id } of faults) {
      const { count, againMs } = counts.get(id) ?? NONE_COUNTED;
      if (nowMs < againMs) continue;
      counts.set(id, { count: count + 1, againMs: nowMs + QUEUE_AGAIN_MS });
      if (count + 1 >= FAULTS_MAX) isDoubted = true;
    }
    if (isDoubted) this.#doubted.add(tree);
    return isDoubted;
  }

  /** The trees that are to be read anew, taken out. */
  takeDoubted(): readonly CachedTree[] {
    const all = [...this.#doubted];
    this.#doubted.clear();
    return all;
  }

  /** Nothing is done for those who wait in a tree before an instant, once it has been read anew. */
  rest(treeId: TreeId, nowMs: number): void {
    // Those of trees that nobody has read since.
    for (const [each, { untilMs }] of this.#rests) if (untilMs <= nowMs) this.#rests.delete(each);
    const untilMs = nowMs + QUEUE_AGAIN_MS;
    this.#rests.set(treeId, { ...(this.#rests.get(treeId) ?? NO_RESTS), allUntilMs: untilMs, untilMs });
  }

  /** Takes note that a tree leaves memory. What rests in it goes on resting, unless it is read anew to be tried at once. */
  dropped(tree: CachedTree): void {
    const { treeId, queueRestUntilMs: allUntilMs, state } = tree;
    if (state.queue === undefined) return;
    const { queueUntilMs, endsUntilMs } = state.queue.rests;
    const untilMs = Math.max(allUntilMs, queueUntilMs, endsUntilMs);
    if (untilMs > 0) this.#rests.set(treeId, { allUntilMs, queueUntilMs, endsUntilMs, untilMs });
  }

  /** Takes note that a tree has come into memory. */
  loaded(tree: CachedTree): void {
    const rests = this.#rests.get(tree.treeId);
    if (rests === undefined) return;
    this.#rests.delete(tree.treeId);
    const { allUntilMs, queueUntilMs, endsUntilMs } = rests;
    tree.queueRestUntilMs = allUntilMs;
    if (queueUntilMs > 0) tree.state.queue?.rest(queueUntilMs);
    if (endsUntilMs > 0) tree.state.queue?.restEnds(endsUntilMs);
  }

  /** All trees were forgotten. */
  clear(): void {
    this.#doubted.clear();
    this.#rests.clear();
  }
}
