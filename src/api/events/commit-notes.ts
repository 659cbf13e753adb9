// Which trees were committed to since somebody looked: how the watches of the leader learn at once that there is something to
// read. Only a hint: what is told comes from the journal, and a replica that does not lead is never noted anything and polls.
import type { TreeId } from '../../kernel/names.ts';

// More trees than this are as good as all of them: looking through the heads finds them for less.
const NOTED_MAX = 1_024;

/** What one watch has not looked at yet. */
export class CommitNotes {
  #trees = new Set<TreeId>();
  #overflowed = false;
  #wake: (() => void) | undefined;

  /** Notes a tree and ends the wait, if there is one. */
  note(treeId: TreeId): void {
    if (this.#trees.size < NOTED_MAX) this.#trees.add(treeId);
    else this.#overflowed = true;
    this.wake();
  }

  /** Ends the wait, if there is one. */
  wake(): void {
    this.#wake?.();
  }

  /** What was noted since the last call; undefined: too many to name. To be called before the journal is read. */
  take(): ReadonlySet<TreeId> | undefined {
    const trees = this.#overflowed ? undefined : this.#trees;
    this.#trees = new Set();
    this.#overflowed = false;
    return trees;
  }

  /** Resolves once something is noted, or has been since the last `take`, and after `ms` at the latest. */
  async wait(ms: number): Promise<void> {
    if (this.#trees.size > 0 || ms <= 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, ms);
    });
    this.#wake = undefined;
    clearTimeout(timer);
  }
}
