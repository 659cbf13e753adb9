// What the api sees of the lane: one place to submit commands, one clock, one source of ids. Stands alone so that the api
// can be tested without a lane and knows nothing of batches, caches or leases.
import type { Answer } from '../kernel/answer.ts';
import type { Command } from '../kernel/command.ts';
import type { ReservationId, TreeId } from '../kernel/names.ts';
import type { Refusal } from '../kernel/refusal.ts';
import type { Prices } from './prices.ts';

/** How the coordinator is, for ServerInfo, health and metrics. */
export interface CoordinatorStatus {
  /** Whether commands are decided here now: the lease is held and the store answers. */
  readonly serving: boolean;
  readonly leader: boolean;
  /** Address that the leader announced; empty if none is known. */
  readonly leaderAddress: string;
  readonly epoch: number;
  /** Age of the oldest entry not yet projected, in milliseconds; 0 where nothing waits. */
  readonly projectionLagMs: number;
  /** Commands that are let in and not yet decided. */
  readonly queueDepth: number;
  /** Callers whose Reserve waits for room here; 0 on a standby. */
  readonly waitingCount: number;
  readonly quarantinedTrees: readonly string[];
}

/** The coordinator, as the api uses it. */
export interface Coordinator {
  /**
   * Decides a command. The answer comes after the commit, with refusals as values. Rejects only where the program itself
   * is at fault (a failed invariant): the caller gets a bare internal error and nothing was changed. A Reserve that waits for
   * room leaves the queue when `signal` aborts, and what it was granted meanwhile is taken back unless a repeat was answered with it;
   * where it aborts with a PlaceKept that is done after a while, and nothing is granted until its caller comes back. Other commands
   * do not look at it.
   */
  submit(command: Command, signal?: AbortSignal): Promise<Answer>;
  /** The coordinator's clock, in milliseconds since the epoch. */
  nowMs(): number;
  /** The price book that decisions go by. */
  readonly prices: Prices;
  /** A new id, sorted by time. */
  newReservationId(): ReservationId;
  /**
   * Makes lists true: records every lapse that is due and brings the projection of the tree (of all trees, if undefined)
   * up to its journal. Returns a refusal where that cannot be done now.
   */
  catchUp(treeId: TreeId | undefined): Promise<Refusal | undefined>;
  status(): CoordinatorStatus;
  /**
   * Calls `listener` after each commit of this process with every tree that it wrote to; at once, so that it has to be quick.
   * Returns how to end that. A hint for readers of the journal: what others commit is not told.
   */
  onCommitted(listener: (treeId: TreeId) => void): () => void;
}
