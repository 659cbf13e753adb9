// The lane's waiting room: first come first served within a tree, taking turns between trees, so that one tenant's flood
// costs the others nothing but their turn. How many may wait is the lane's to say, since not all wait here.
import type { TreeId } from '../kernel/names.ts';
import { Line, longestOf, type Waiting } from './line.ts';

/** What can wait here. */
export interface WaitingOfTree extends Waiting {
  readonly treeId: TreeId;
}

/** A queue of queues. */
export class FairQueue<T extends WaitingOfTree> {
  readonly #trees = new Map<TreeId, Line<T>>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Adds at the end of its tree's line. */
  push(item: T): void {
    this.#line(item.treeId).push(item);
    this.#count += 1;
  }

  /** Puts items back at the front of their tree's line, in the order given. */
  putBack(treeId: TreeId, items: readonly T[]): void {
    if (items.length === 0) return;
    this.#line(treeId).putFirst(items);
    this.#count += items.length;
  }

  /** Trees of which something waits here. */
  get treeCount(): number {
    return this.#trees.size;
  }

  /** Takes up to `countMax` items, in turns of at most `turnMax` a tree; each tree has at most `turnsMax` of them. */
  take(countMax: number, turnMax: number, turnsMax = Number.POSITIVE_INFINITY): T[] {
    const taken: T[] = [];
    for (let left = this.#trees.size * turnsMax; left > 0 && taken.length < countMax && this.#count > 0; left -= 1) {
      const [treeId, line] = this.#trees.entries().next().value as [TreeId, Line<T>];
      const turn = line.take(Math.min(turnMax, countMax - taken.length));
      for (const item of turn) taken.push(item);
      this.#count -= turn.length;
      // The tree goes to the back of the round; an empty line leaves it.
      this.#trees.delete(treeId);
      if (line.count > 0) this.#trees.set(treeId, line);
    }
    return taken;
  }

  /** The line of a tree; undefined where nothing of it waits here. */
  lineOf(treeId: TreeId): Line<T> | undefined {
    return this.#trees.get(treeId);
  }

  /** The line with most items that may be sent away. */
  longest(): Line<T> | undefined {
    return longestOf(this.#trees.values());
  }

  /** Takes the newest item that may be sent away out of that line; undefined where none may. */
  shedLongest(): T | undefined {
    const line = this.longest();
    const item = line?.shed();
    if (line === undefined || item === undefined) return undefined;
    this.#count -= 1;
    if (line.count === 0) this.#trees.delete(item.treeId);
    return item;
  }

  /** Empties the room. */
  drain(): T[] {
    const all = [...this.#trees.values()].flatMap((line) => [...line.items]);
    this.#trees.clear();
    this.#count = 0;
    return all;
  }

  #line(treeId: TreeId): Line<T> {
    let line = this.#trees.get(treeId);
    if (line === undefined) {
      line = new Line();
      this.#trees.set(treeId, line);
    }
    return line;
  }
}
