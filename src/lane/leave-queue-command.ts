// The command by which the coordinator itself takes a request out of the queue for which nobody waits any more.
import type { LeaveQueue } from '../kernel/command.ts';
import type { ReservationId, TreeId } from '../kernel/names.ts';

/** See the head of this file. */
export function leaveQueueCommand(treeId: TreeId, id: ReservationId): LeaveQueue {
  return { kind: 'LeaveQueue', treeId, id, actor: 'budgetd', key: undefined, personal: undefined };
}
