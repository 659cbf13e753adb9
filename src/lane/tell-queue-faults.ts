// Faults in judging those who wait: counted, and told to the log in one line for all of a batch, as those of commands (reject-all.ts).
import type { TreeBatch } from './batch.ts';
import type { LaneObserver } from './lane-observer.ts';
import type { Log } from './log.ts';

/** See the head of this file. Does nothing where there are none. */
export function tellQueueFaults(log: Log, observer: LaneObserver, { tree, queueFaults }: TreeBatch): void {
  const [first] = queueFaults;
  if (first === undefined) return;
  const { id, error } = first;
  log('error', 'those who wait could not be judged', {
    treeId: tree.treeId,
    faults: queueFaults.length,
    first: id,
    error,
  });
  observer.queueFailed?.(queueFaults.length);
}
