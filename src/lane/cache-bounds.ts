// How much memory the cache of trees may take beyond what has to be there: over all trees together, so that many trees that
// each keep a little can't do what one tree may not. Past a bound the trees that were not used for longest forget first.
//
// What has to be there is not bounded here: live holds (650 bytes each, measured), and the entries that the projection has not
// caught up with, for which the projector refuses new work.
import type { CachedTree, Spare } from './cached-tree.ts';

/** By kind; about 105 MB where all are full, by what one of each takes (measured). */
const COUNT_MAX: Spare = {
  // 1,060 bytes. A retry comes within seconds, in which a busy lane gives some ten thousand answers; the journal knows all.
  answers: 50_000,
  // 650 bytes. A repeated Settle comes at once or never; a tree alone keeps fewer than this by itself.
  ended: 20_000,
  // 710 bytes. More than the runs that are under way at a time; one that is asked for again is one load of a millisecond.
  budgets: 50_000,
};

const KINDS = ['answers', 'ended', 'budgets'] as const;

/** Part of a bound that is made free at once: looking through all trees is paid for by thousands of records. */
const SLACK = 1 / 8;

type Counts = Record<keyof Spare, number>;

/** See the head of this file. */
export class CacheBounds {
  readonly #countMax: Spare;
  readonly #counted = new Map<CachedTree, Spare>();
  #totals: Counts = { answers: 0, ended: 0, budgets: 0 };
  /** When to look next: later than at the bound where there was too little to forget. */
  readonly #lookAt: Counts;

  /** `countMax`: records of each kind over all trees. */
  constructor(countMax: Spare = COUNT_MAX) {
    this.#countMax = countMax;
    this.#lookAt = { ...countMax };
  }

  get totals(): Spare {
    return this.#totals;
  }

  /** Counts a tree that is new or has changed. */
  note(tree: CachedTree): void {
    const before = this.#counted.get(tree);
    const now = tree.spare();
    for (const kind of KINDS) this.#totals[kind] += now[kind] - (before?.[kind] ?? 0);
    this.#counted.set(tree, now);
  }

  /** A tree leaves memory. */
  drop(tree: CachedTree): void {
    const before = this.#counted.get(tree);
    if (before === undefined) return;
    for (const kind of KINDS) this.#totals[kind] -= before[kind];
    this.#counted.delete(tree);
  }

  /** All trees leave memory. */
  clear(): void {
    this.#counted.clear();
    this.#totals = { answers: 0, ended: 0, budgets: 0 };
  }

  /** Whether `trim` would have trees forget something. */
  get isPassed(): boolean {
    for (const kind of KINDS) if (this.#totals[kind] > this.#lookAt[kind]) return true;
    return false;
  }

  /** Has trees forget what is too much. Only between batches. `trees`: those not used for longest first. */
  trim(trees: Iterable<CachedTree>): void {
    for (const kind of KINDS) if (this.#totals[kind] > this.#lookAt[kind]) this.#trim(kind, trees);
  }

  #trim(kind: keyof Spare, trees: Iterable<CachedTree>): void {
    const slackCount = Math.ceil(this.#countMax[kind] * SLACK);
    const keptCount = this.#countMax[kind] - slackCount;
    for (const tree of trees) {
      const overCount = this.#totals[kind] - keptCount;
      if (overCount <= 0) break;
      tree.forget(kind, overCount);
      this.note(tree);
    }
    this.#lookAt[kind] = Math.max(this.#countMax[kind], this.#totals[kind] + slackCount);
  }
}
