// Commands that failed by a fault of the program: told to their callers each, and to the log in one line for all of them, since
// a thousand lines would hold up the lane for as long as it takes to write them.
import type { TreeId } from '../kernel/names.ts';
import type { Submitted } from './batch.ts';
import type { Log } from './log.ts';

/** A command, or all of a tree, that failed. */
export interface Failure {
  readonly treeId: TreeId;
  readonly items: readonly Submitted[];
  readonly error: unknown;
}

/** Rejects all of them, each with its own error; the log says the first one. */
export function rejectAll(log: Log, failures: readonly Failure[]): void {
  const [first] = failures;
  if (first === undefined) return;
  log('error', 'commands failed', {
    commands: failures.reduce((sum, { items }) => sum + items.length, 0),
    trees: new Set(failures.map(({ treeId }) => treeId)).size,
    first: { treeId: first.treeId, command: first.items[0]?.command.kind },
    error: first.error,
  });
  for (const { items, error } of failures) for (const item of items) item.reject(error);
}
