// Entries of a journal that nobody decided, for watches to read.
import type { BudgetDef } from '../../src/kernel/budget.ts';
import type { Entry } from '../../src/kernel/entry.ts';
import type { TreeId } from '../../src/kernel/names.ts';
import { budgetShown, path } from './fake-coordinator.ts';

/** A journal of a tree: its root is made and then edited, once a millisecond from `atMs` on. */
export function fakeJournal(tree: string, count: number, atMs: number): Entry[] {
  const root = budgetShown(path(tree)).def;
  return Array.from({ length: count }, (_, index) => entryOf(root, index + 1, atMs + index));
}

/** The tree of a name. */
export function treeOf(tree: string): TreeId {
  return tree as TreeId;
}

function entryOf(root: BudgetDef, seq: number, atMs: number): Entry {
  return {
    seq,
    atMs,
    actor: 'tester',
    key: undefined,
    personal: undefined,
    type: seq === 1 ? 'BudgetCreated' : 'BudgetUpdated',
    def: { ...root, revision: seq, updateMs: atMs },
    replaceLabels: false,
    addMicros: undefined,
    reason: '',
    opening: [],
    rateMoves: [],
    openChildren: 0,
  };
}
