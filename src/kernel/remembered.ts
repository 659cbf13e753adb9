// The entries that a tree's idempotency keys are answered with, as far as they are in memory, oldest first. Its own file because
// what they weigh has to be known at any time: they are most of what a tree keeps that can be read again.
import type { Entry } from './entry.ts';
import { entryWeight } from './weight.ts';

/** Entries by the digest of their key. */
export class Remembered {
  readonly #entries = new Map<string, Entry>();
  #weight = 0;

  get count(): number {
    return this.#entries.size;
  }

  /** What all of them weigh: their count where they are usual ones. */
  get weight(): number {
    return this.#weight;
  }

  get(digest: string): Entry | undefined {
    return this.#entries.get(digest);
  }

  /** Remembers `entry`, or forgets what is there where it is undefined. */
  put(digest: string, entry: Entry | undefined): void {
    const before = this.#entries.get(digest);
    if (before !== undefined) this.#weight -= entryWeight(before);
    if (entry === undefined) {
      this.#entries.delete(digest);
      return;
    }
    this.#weight += entryWeight(entry);
    this.#entries.set(digest, entry);
  }

  /** Forgets the oldest beyond `weightMax` in all. */
  evict(weightMax: number): void {
    for (const digest of this.#entries.keys()) {
      if (this.#weight <= weightMax) return;
      this.put(digest, undefined);
    }
  }
}
