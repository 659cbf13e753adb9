// Who wants to know what the lane does, in the lane's own words: telemetry, without the lane knowing of it. All of it is
// called on the hot path and must be quick, and must not throw.
import type { Command, CommandKind } from '../kernel/command.ts';
import type { Reason } from '../kernel/refusal.ts';
import type { Submitted, TreeBatch } from './batch.ts';
import type { WaitEnd } from './wait-end.ts';

/** What became of a batch: how its append ended (see outcomes.ts); `failed` stands for a fault that is neither race nor outage. */
export type BatchOutcome = 'committed' | 'fenced' | 'conflict' | 'key_exists' | 'unavailable' | 'failed';

/** A batch that was appended, or was not. Times by the monotonic clock, in milliseconds. */
export interface BatchReport {
  readonly outcome: BatchOutcome;
  /** Trees with something to answer or to write. Their answers are given only where the outcome is `committed`. */
  readonly trees: readonly TreeBatch[];
  /** When it was taken from the queue. */
  readonly takenMs: number;
  /** When its append began. */
  readonly appendMs: number;
  /** When the append's outcome was known. */
  readonly endedMs: number;
}

/** See the head of this file. */
export interface LaneObserver {
  /** A command was let in. Called in the context of its call. */
  readonly submitted?: (command: Command) => void;
  /** Runs a batch. Called in the context of whatever woke the lane, which is not the batch's. */
  readonly runBatch?: (items: readonly Submitted[], work: () => Promise<void>) => Promise<void>;
  readonly batchEnded: (report: BatchReport) => void;
  /** A command was refused without a decision: at the door, while it waited, or since its batch could not be appended. */
  readonly refused: (command: CommandKind, reason: Reason) => void;
  /** A caller whose Reserve was put into the queue of its tree waits no more. Time since it came, by the monotonic clock, in milliseconds. */
  readonly waitEnded: (end: WaitEnd, waitedMs: number) => void;
  /** So many of those who wait could not be judged, or their queue not be gone through, by a fault of the program. */
  readonly queueFailed?: (count: number) => void;
}

/** Nobody wants to know. */
export const NO_LANE_OBSERVER: LaneObserver = {
  batchEnded: () => undefined,
  refused: () => undefined,
  waitEnded: () => undefined,
};
