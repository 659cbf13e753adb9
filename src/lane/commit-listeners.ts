// Who is told of commits. Its own file so that a listener can come and go while the lane runs.
import type { TreeId } from '../kernel/names.ts';

/** Told of a tree that was written to, and by how many entries. Has to be quick. */
export type CommitListener = (treeId: TreeId, entryCount: number) => void;

/** See Coordinator.onCommitted. */
export class CommitListeners {
  readonly #listeners = new Set<CommitListener>();

  /** Tells all of them. */
  tell(treeId: TreeId, entryCount: number): void {
    for (const listener of this.#listeners) listener(treeId, entryCount);
  }

  /** Adds one; returns how to take it away. */
  add(listener: CommitListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
