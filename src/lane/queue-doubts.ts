// Queues of trees in which something failed by a fault of the program: which trees are to be read anew, since what is in memory may be
// what is wrong, and whose queue rests until when. Its own file because both have to outlive the tree in memory that they are about.
import type { QueueFault } from '../kernel/decide-queue.ts';
import type { ReservationId, TreeId } from '../kernel/names.ts';
import type { CachedTree } from './cached-tree.ts';

/**
 * Faults of one that waits, or of a queue itself, after which its tree is read anew. They are ten seconds apart: a fault that passes is
 * over by then, and where it stays a tree is read once in twenty seconds.
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

/** See the head of this file. */
export class QueueDoubts {
  readonly #counts = new WeakMap<CachedTree, Map<ReservationId | undefined, number>>();
  readonly #doubted = new Set<CachedTree>();
  readonly #rests = new Map<TreeId, number>();

  /** Whether any tree is to be read anew. */
  get hasDoubted(): boolean {
    return this.#doubted.size > 0;
  }

  /** Notes faults. Returns whether the tree is to be read anew for them. */
  note(tree: CachedTree, faults: readonly QueueFault[]): boolean {
    if (faults.length === 0) return false;
    const counts = this.#counts.get(tree) ?? new Map<ReservationId | undefined, number>();
    this.#counts.set(tree, counts);
    let isDoubted = false;
    for (const { id } of faults) {
      const count = (counts.get(id) ?? 0) + 1;
      counts.set(id, count);
      if (count >= FAULTS_MAX) isDoubted = true;
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
    for (const [each, untilMs] of this.#rests) if (untilMs <= nowMs) this.#rests.delete(each);
    this.#rests.set(treeId, nowMs + QUEUE_AGAIN_MS);
  }

  /** Takes note that a tree has come into memory. */
  loaded(tree: CachedTree): void {
    const untilMs = this.#rests.get(tree.treeId);
    if (untilMs === undefined) return;
    tree.queueRestUntilMs = untilMs;
    this.#rests.delete(tree.treeId);
  }

  /** All trees were forgotten. */
  clear(): void {
    this.#doubted.clear();
    this.#rests.clear();
  }
}
