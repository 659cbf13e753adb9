// Searches the journal for idempotency keys, off the lane, for answers that would append no key and so would not find out
// by appending. Stands beside the tree cache, with the same way of waiting and arriving.
import type { Entry } from '../kernel/entry.ts';
import type { TreeId } from '../kernel/names.ts';
import type { Store } from '../store/port.ts';
import type { Submitted } from './batch.ts';
import type { CachedTree } from './cached-tree.ts';
import { Line, longestOf } from './line.ts';
import { digestsOf } from './missing.ts';

interface Search {
  readonly tree: CachedTree;
  readonly waiting: Line<Submitted>;
}

/** A search that has come back. */
export interface SearchArrival {
  /** For which it was made. Where that is not the tree in memory any more, somebody else may have written since. */
  readonly tree: CachedTree;
  readonly items: readonly Submitted[];
  readonly outcome: { readonly found: readonly Entry[] } | { readonly error: unknown };
}

/** Searches under way. */
export class KeySearch {
  readonly #store: Store;
  readonly #onArrival: () => void;
  readonly #underWay = new Set<Search>();
  #arrived: SearchArrival[] = [];
  #parkedCount = 0;

  /** `onArrival` is called when a search has come back and the lane should look. */
  constructor(store: Store, onArrival: () => void) {
    this.#store = store;
    this.#onArrival = onArrival;
  }

  /** Commands that wait for a search. */
  get parkedCount(): number {
    return this.#parkedCount;
  }

  /** Whether a search has come back that nobody has looked at. */
  get hasArrivals(): boolean {
    return this.#arrived.length > 0;
  }

  /** Looks for the keys of these commands of one tree. */
  search(tree: CachedTree, items: readonly Submitted[]): void {
    const search: Search = { tree, waiting: new Line() };
    for (const item of items) search.waiting.push(item);
    this.#parkedCount += items.length;
    this.#underWay.add(search);
    const digests = items.flatMap(({ command }) => digestsOf(command));
    this.#store.findKeys(tree.treeId, digests).then(
      (found) => this.#arrive(search, { found }),
      (error: unknown) => this.#arrive(search, { error }),
    );
  }

  /** What has come back since the last look. */
  takeArrivals(): readonly SearchArrival[] {
    const arrived = this.#arrived;
    this.#arrived = [];
    for (const { items } of arrived) this.#parkedCount -= items.length;
    return arrived;
  }

  /** The commands of a tree that wait for a search, or for somebody to look at what it brought. */
  itemsOf(treeId: TreeId): Submitted[] {
    const searches = [...this.#underWay].map(({ tree, waiting }) => ({ tree, items: waiting.items }));
    return [...searches, ...this.#arrived].flatMap(({ tree, items }) => (tree.treeId === treeId ? items : []));
  }

  /** Of the commands under way: the line with most that may be sent away. */
  longest(): Line<Submitted> | undefined {
    return longestOf([...this.#underWay].map(({ waiting }) => waiting));
  }

  /** Takes the newest command that may be sent away out of that line; undefined where none may. */
  shedLongest(): Submitted | undefined {
    const item = this.longest()?.shed();
    if (item !== undefined) this.#parkedCount -= 1;
    return item;
  }

  /** Everything that waits, taken out. */
  drain(): Submitted[] {
    const underWay = [...this.#underWay].flatMap(({ waiting }) => [...waiting.items]);
    const all = [...underWay, ...this.#arrived.flatMap(({ items }) => items)];
    this.#underWay.clear();
    this.#arrived = [];
    this.#parkedCount = 0;
    return all;
  }

  #arrive(search: Search, outcome: SearchArrival['outcome']): void {
    if (!this.#underWay.delete(search)) return;
    this.#arrived.push({ tree: search.tree, items: search.waiting.items, outcome });
    this.#onArrival();
  }
}
