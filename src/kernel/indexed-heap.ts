// A heap whose items can be taken out from anywhere and put into order anew, each in the time of its depth. Its own file because the
// wait queue is made of several of them, and none knows what it holds.
import { invariant } from './invariant.ts';

/** A binary heap with the place of each item. */
export class IndexedHeap<T> {
  readonly #isBefore: (a: T, b: T) => boolean;
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();

  /** `isBefore`: a total order; where neither of two is before the other, either may come first. */
  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  /** The first; undefined where there is none. */
  get top(): T | undefined {
    return this.#items[0];
  }

  /** All of them, in no order. */
  get items(): readonly T[] {
    return this.#items;
  }

  has(item: T): boolean {
    return this.#places.has(item);
  }

  add(item: T): void {
    invariant(!this.#places.has(item), 'an item is in a heap once');
    this.#items.push(item);
    this.#places.set(item, this.#items.length - 1);
    this.#rise(this.#items.length - 1);
  }

  /** Takes an item out; does nothing where it is not in. */
  remove(item: T): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    const last = this.#items.pop() as T;
    this.#places.delete(item);
    if (last === item) return;
    this.#put(place, last);
    this.#settle(place);
  }

  /** To be called when an item compares otherwise than it did; does nothing where it is not in. */
  moved(item: T): void {
    const place = this.#places.get(item);
    if (place !== undefined) this.#settle(place);
  }

  /** To be called when all of them may compare otherwise than they did. */
  movedAll(): void {
    for (let place = (this.#items.length >> 1) - 1; place >= 0; place -= 1) this.#sink(place);
  }

  #settle(place: number): void {
    if (this.#rise(place) === place) this.#sink(place);
  }

  #rise(from: number): number {
    let place = from;
    const item = this.#items[place] as T;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = this.#items[above] as T;
      if (!this.#isBefore(item, other)) break;
      this.#put(place, other);
      place = above;
    }
    this.#put(place, item);
    return place;
  }

  #sink(from: number): void {
    let place = from;
    const item = this.#items[place] as T;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= this.#items.length) break;
      const right = this.#items[below + 1];
      if (right !== undefined && this.#isBefore(right, this.#items[below] as T)) below += 1;
      const other = this.#items[below] as T;
      if (!this.#isBefore(other, item)) break;
      this.#put(place, other);
      place = below;
    }
    this.#put(place, item);
  }

  #put(place: number, item: T): void {
    this.#items[place] = item;
    this.#places.set(item, place);
  }
}
