// Commands of a batch by their trees, in their order.
import type { TreeId } from '../kernel/names.ts';
import type { Submitted } from './batch.ts';

/** See the head of this file. */
export function groupByTree(items: readonly Submitted[]): Map<TreeId, Submitted[]> {
  const groups = new Map<TreeId, Submitted[]>();
  for (const item of items) {
    const group = groups.get(item.treeId);
    if (group === undefined) groups.set(item.treeId, [item]);
    else group.push(item);
  }
  return groups;
}
