// Faults in judging those who wait: counted, and told to the log in one line for all of a batch, as those of commands (reject-all.ts).
import type { TreeId } from '../kernel/names.ts';
import type { TreeBatch } from './batch.ts';
import type { LaneObserver } from './lane-observer.ts';
import type { Log } from './log.ts';
import type { QueueDoubts, QueueFaultError } from './queue-doubts.ts';

/** See the head of this file. Does nothing where there are none. Says so where the tree is to be read anew for them. */
export function tellQueueFaults(
  log: Log,
  observer: LaneObserver,
  doubts: QueueDoubts,
  { tree, queueFaults }: TreeBatch,
  nowMs: number,
): void {
  const [first] = queueFaults;
  if (first === undefined) return;
  const { id, error } = first;
  const { treeId } = tree;
  log('error', 'those who wait could not be judged', { treeId, faults: queueFaults.length, first: id, error });
  observer.queueFailed?.(queueFaults.length);
  if (doubts.note(tree, queueFaults, nowMs)) log('warn', 'a tree is read anew for faults in its queue', { treeId });
}

/** What was decided of those who wait could not be applied. */
export function tellQueueUnapplied(log: Log, observer: LaneObserver, treeId: TreeId, { cause }: QueueFaultError): void {
  log('error', 'those who wait could not be served: the tree is read anew', { treeId, error: cause });
  observer.queueFailed?.(1);
}
