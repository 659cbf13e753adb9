// Searches the journal for idempotency keys, off the lane, for answers that would append no key and so would not find out
// by appending. Stands beside the tree cache, with the same way of waiting and arriving.
import type { Entry } from '../kernel/entry.ts';
import type { TreeId } from '../kernel/names.ts';
import type { Store } from '../store/port.ts';
import type { Submitted } from './batch.ts';

/** A search that has come back. */
export interface SearchArrival {
  readonly treeId: TreeId;
  readonly items: readonly Submitted[];
  readonly outcome: { readonly found: readonly Entry[] } | { readonly error: unknown };
}

/** Searches under way. */
export class KeySearch {
  readonly #store: Store;
  readonly #onArrival: () => void;
  readonly #underWay = new Set<readonly Submitted[]>();
  #arrived: SearchArrival[] = [];

  /** `onArrival` is called when a search has come back and the lane should look. */
  constructor(store: Store, onArrival: () => void) {
    this.#store = store;
    this.#onArrival = onArrival;
  }

  /** Commands that wait for a search. */
  get parkedCount(): number {
    let count = 0;
    for (const items of this.#underWay) count += items.length;
    for (const arrival of this.#arrived) count += arrival.items.length;
    return count;
  }

  /** Looks for the keys of these commands of one tree. */
  search(treeId: TreeId, items: readonly Submitted[]): void {
    this.#underWay.add(items);
    const digests = items.flatMap(({ command }) => (command.key === undefined ? [] : [command.key.digest]));
    this.#store.findKeys(treeId, digests).then(
      (found) => this.#arrive({ treeId, items, outcome: { found } }),
      (error: unknown) => this.#arrive({ treeId, items, outcome: { error } }),
    );
  }

  /** What has come back since the last look. */
  takeArrivals(): readonly SearchArrival[] {
    const arrived = this.#arrived;
    this.#arrived = [];
    return arrived;
  }

  /** Everything that waits, taken out. */
  drain(): Submitted[] {
    const all = [...[...this.#underWay].flat(), ...this.#arrived.flatMap(({ items }) => items)];
    this.#underWay.clear();
    this.#arrived = [];
    return all;
  }

  #arrive(arrival: SearchArrival): void {
    if (!this.#underWay.delete(arrival.items)) return;
    this.#arrived.push(arrival);
    this.#onArrival();
  }
}
