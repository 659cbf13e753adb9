// Commands that wait for the same thing, in order. Knows how many of them may be sent away when there is too much work, since
// that is what trees are compared by: a line of settlements is no flood.

/** What can wait. */
export interface Waiting {
  /** Whether it may be sent away while there is other work to keep. */
  readonly sheddable: boolean;
}

/** See the head of this file. */
export class Line<T extends Waiting> {
  readonly #items: T[] = [];
  #sheddableCount = 0;

  get count(): number {
    return this.#items.length;
  }

  get sheddableCount(): number {
    return this.#sheddableCount;
  }

  /** All that wait, first come first. */
  get items(): readonly T[] {
    return this.#items;
  }

  push(item: T): void {
    this.#items.push(item);
    if (item.sheddable) this.#sheddableCount += 1;
  }

  /** Puts items before all others, in the order given. */
  putFirst(items: readonly T[]): void {
    this.#items.unshift(...items);
    for (const item of items) if (item.sheddable) this.#sheddableCount += 1;
  }

  /** Takes up to `countMax` from the front. */
  take(countMax: number): T[] {
    const taken = this.#items.splice(0, countMax);
    for (const item of taken) if (item.sheddable) this.#sheddableCount -= 1;
    return taken;
  }

  /** Takes out the newest that may be sent away; undefined where none may. */
  shed(): T | undefined {
    if (this.#sheddableCount === 0) return undefined;
    this.#sheddableCount -= 1;
    const [shed] = this.#items.splice(
      this.#items.findLastIndex((item) => item.sheddable),
      1,
    );
    return shed;
  }
}

/** The line with most items that may be sent away; undefined where there is none in any. */
export function longestOf<T extends Waiting>(lines: Iterable<Line<T> | undefined>): Line<T> | undefined {
  let longest: Line<T> | undefined;
  for (const line of lines) {
    if (line !== undefined && line.sheddableCount > (longest?.sheddableCount ?? 0)) longest = line;
  }
  return longest;
}
