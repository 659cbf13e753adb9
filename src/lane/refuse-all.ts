// Refuses commands that the lane has taken, without a decision. Its own file because the lane and what handles the outcomes of
// its appends must tell the observer alike.
import type { Refusal } from '../kernel/refusal.ts';
import type { Submitted } from './batch.ts';
import type { LaneObserver } from './lane-observer.ts';

/** Answers all of them with the same refusal. */
export function refuseAll(observer: LaneObserver, items: readonly Submitted[], refusal: Refusal): void {
  for (const { command, resolve } of items) {
    observer.refused(command.kind, refusal.reason);
    resolve(refusal);
  }
}
