// The lane's waiting room: bounded, first come first served within a tree, taking turns between trees, so that one
// tenant's flood costs the others nothing but their turn.
import type { TreeId } from '../kernel/names.ts';

/** What can wait. */
export interface Waiting {
  readonly treeId: TreeId;
}

/** A queue of queues. */
export class FairQueue<T extends Waiting> {
  readonly #countMax: number;
  readonly #trees = new Map<TreeId, T[]>();
  #count = 0;

  /** Holds up to `countMax` items. */
  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Adds at the end of its tree's line. Where the room is full, the newest item of the longest line has to go, which may be
   * the one added: whoever floods is shed, not whoever came last. Returns the item that was shed.
   */
  push(item: T): T | undefined {
    const shed = this.#count >= this.#countMax ? this.#shedFor(item) : undefined;
    if (shed === item) return item;
    this.#line(item.treeId).push(item);
    this.#count += 1;
    return shed;
  }

  /** Puts items back at the front of their tree's line, in the order given. Never refused: they were let in before. */
  putBack(treeId: TreeId, items: readonly T[]): void {
    if (items.length === 0) return;
    this.#line(treeId).unshift(...items);
    this.#count += items.length;
  }

  /** Takes up to `countMax` items, in turns of at most `turnMax` a tree. */
  take(countMax: number, turnMax: number): T[] {
    const taken: T[] = [];
    while (taken.length < countMax && this.#count > 0) {
      const [treeId, line] = this.#trees.entries().next().value as [TreeId, T[]];
      const turn = line.splice(0, Math.min(turnMax, countMax - taken.length));
      for (const item of turn) taken.push(item);
      this.#count -= turn.length;
      // The tree goes to the back of the round; an empty line leaves it.
      this.#trees.delete(treeId);
      if (line.length > 0) this.#trees.set(treeId, line);
    }
    return taken;
  }

  /** Empties the room. */
  drain(): T[] {
    const all = [...this.#trees.values()].flat();
    this.#trees.clear();
    this.#count = 0;
    return all;
  }

  #line(treeId: TreeId): T[] {
    let line = this.#trees.get(treeId);
    if (line === undefined) {
      line = [];
      this.#trees.set(treeId, line);
    }
    return line;
  }

  #shedFor(item: T): T {
    let longest: T[] = [];
    for (const line of this.#trees.values()) if (line.length > longest.length) longest = line;
    const own = this.#trees.get(item.treeId)?.length ?? 0;
    if (own + 1 >= longest.length) return item;
    this.#count -= 1;
    return longest.pop() as T;
  }
}
