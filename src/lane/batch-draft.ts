// What one tree's part of a batch has come to so far: what was decided is applied to the tree in memory as it is written down, and the
// tree has had its turn when that weighs enough. Its own file because commands and those who wait add to it alike.
import { apply } from '../kernel/apply.ts';
import type { HeadsLeft, QueueFault } from '../kernel/decide-queue.ts';
import type { Entry } from '../kernel/entry.ts';
import { entryWeight } from '../kernel/weight.ts';
import type { CachedTree } from './cached-tree.ts';
import { isCorrupt } from './is-corrupt.ts';

/**
 * What a tree's entries of one batch may weigh before the rest of its commands wait for the next. As many usual ones as a batch
 * takes at the most, so that those never wait; of reservations that charge thousands of accounts, 10 ms each, it takes four: other
 * trees wait for as long as it lasts.
 */
const WEIGHT_MAX = 256;

/**
 * How many of those who wait are judged for a tree in one batch, or let go because their time is over, on few levels each: some 10 ms,
 * where an edit of what thousands wait for takes seconds, and so do thousands of waits that are over at once.
 */
const HEADS_MAX = 256;

/** Thrown where a tree's own records make every decision impossible: it has to be quarantined. */
export class CorruptTreeError extends Error {
  override readonly name = 'CorruptTreeError';
}

/** See the head of this file. */
export interface DraftEntries {
  readonly tree: CachedTree;
  readonly entries: Entry[];
  /** Faults in serving those who wait. */
  readonly queueFaults: QueueFault[];
  readonly heads: HeadsLeft;
  /** What the entries weigh that were weighed. */
  weight: number;
  weighedCount: number;
}

/** Nothing yet. */
export function draftEntries(tree: CachedTree): DraftEntries {
  const queueFaults: QueueFault[] = [];
  const heads = { left: HEADS_MAX, failed: (fault: QueueFault) => queueFaults.push(fault) };
  return { tree, entries: [], queueFaults, heads, weight: 0, weighedCount: 0 };
}

/** Whether the rest has to wait for the next batch. What is left to do goes before whatever comes next: nothing slips in between. */
export function isFull(draft: DraftEntries): boolean {
  return weighsEnough(draft) || draft.heads.left <= 0;
}

/** Whether the entries weigh as much as those of one batch may. */
function weighsEnough(draft: DraftEntries): boolean {
  for (; draft.weighedCount < draft.entries.length; draft.weighedCount += 1)
    draft.weight += entryWeight(draft.entries[draft.weighedCount] as Entry);
  return draft.weight > WEIGHT_MAX;
}

/**
 * Applies what was decided on the tree's records: where they are at odds with it, nothing that they say can be believed, and
 * CorruptTreeError is thrown. A fault of the program says nothing about them, and goes on as it is.
 */
export function applyAll({ tree, entries }: DraftEntries, decided: readonly Entry[]): void {
  try {
    for (const entry of decided) {
      apply(tree.state, entry);
      entries.push(entry);
    }
  } catch (error) {
    if (!isCorrupt(error)) throw error;
    throw new CorruptTreeError(`what tree ${tree.treeId} holds does not add up`, { cause: error });
  }
}
