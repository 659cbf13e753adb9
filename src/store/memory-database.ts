// What a memory store keeps. Apart from the store, so that two stores can be replicas on one database.
import type { TreeId } from '../kernel/names.ts';
import { MemoryTree } from './memory-tree.ts';
import type { StoredPrice } from './price-port.ts';

/** What a memory store keeps; several stores on one of them are replicas on one database. */
export class MemoryDatabase {
  readonly trees = new Map<TreeId, MemoryTree>();
  /** By kind and hash. */
  readonly prices = new Map<string, StoredPrice>();
  lease = {
    epoch: 0,
    holder: '',
    address: '',
    expireMs: 0,
    renewedMs: 0,
    ledMs: Number.NEGATIVE_INFINITY,
    gapFromMs: 0,
  };

  tree(treeId: TreeId): MemoryTree {
    const tree = this.trees.get(treeId) ?? new MemoryTree(treeId);
    this.trees.set(treeId, tree);
    return tree;
  }
}
