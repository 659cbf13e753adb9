// Who has to go where as many commands wait as may: whoever floods, not whoever comes last, and new work before what ends it.
// Stands apart from the lane because it looks at every place in which commands wait, and at nothing else.
import type { TreeId } from '../kernel/names.ts';
import type { Submitted } from './batch.ts';
import type { FairQueue } from './fair-queue.ts';
import type { KeySearch } from './key-search.ts';
import type { TreeCache } from './tree-cache.ts';

/** Where commands wait. */
export interface WaitingRooms {
  readonly queue: FairQueue<Submitted>;
  readonly cache: TreeCache;
  readonly searches: KeySearch;
}

/**
 * Takes out the newest command that may be sent away of the tree that has most of them waiting in one place. Undefined where
 * the one that comes has to go instead: its tree has as many, or nothing else may be sent away.
 */
export function shedFor(
  { queue, cache, searches }: WaitingRooms,
  coming: { readonly treeId: TreeId; readonly sheddable: boolean },
): Submitted | undefined {
  const rooms = [queue, cache, searches];
  const counts = rooms.map((room) => room.longest()?.sheddableCount ?? 0);
  const longestCount = Math.max(...counts);
  const own = [queue.lineOf(coming.treeId), cache.lineOf(coming.treeId)];
  const ownCount = own.reduce((sum, line) => sum + (line?.sheddableCount ?? 0), 0);
  if (coming.sheddable && ownCount + 1 >= longestCount) return undefined;
  return rooms[counts.indexOf(longestCount)]?.shedLongest();
}
