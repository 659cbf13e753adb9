// What a tree's part of a batch is decided with: the settings of the lane, the time, and who waits in this tree.
import type { ReservationId, TreeId } from '../kernel/names.ts';
import type { BatchContext, Submitted } from './batch.ts';
import type { CachedTree } from './cached-tree.ts';
import type { LaneDeps } from './lane-deps.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** See the head of this file. `nowMs`: the coordinator's time; a tree's own does not go back behind its journal. */
export function batchContext(
  { graceMs, commit, calendar, implausibleFactor, pricing, queue, gap }: LaneDeps,
  room: WaitingRoom,
  { treeId, state }: CachedTree,
  nowMs: number,
  pending: (treeId: TreeId) => Iterable<Submitted>,
): BatchContext {
  return {
    nowMs: Math.max(nowMs, state.position.atMs),
    graceMs,
    commit,
    calendar,
    implausibleFactor,
    pricing,
    queue: {
      ...queue,
      isAttached: (id: ReservationId) => room.isAttached(treeId, id),
      isUntaken: (id: ReservationId) => room.untaken.has(treeId, id),
    },
    pending: () => pending(treeId),
    isKept: (id: ReservationId) => room.isKept(treeId, id),
    untaken: {
      add: (id, signal) => room.untaken.add(treeId, id, signal),
      addRepeat: (id, signal) => room.untaken.addRepeat(treeId, id, signal),
    },
    openSinceMs: room.openSinceMs,
    gap: gap?.(),
  };
}
