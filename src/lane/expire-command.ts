// The command by which the coordinator itself records lapses: sent by the reaper for quiet trees and by readers of lists,
// and decided at the start of every batch.
import type { Expire } from '../kernel/command.ts';
import type { TreeId } from '../kernel/names.ts';
import { DUE_COUNT_MAX } from './cached-tree.ts';

/** Records the lapses of a tree that are due, a page at a time. */
export function expireCommand(treeId: TreeId): Expire {
  return { kind: 'Expire', treeId, actor: 'budgetd', key: undefined, personal: undefined, countMax: DUE_COUNT_MAX };
}
