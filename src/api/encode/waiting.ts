// How a reservation waits, for both ways of writing it: as it stands now where somebody looked, else as it came.
import type { QueueStanding } from '../../kernel/answer.ts';
import type { Reservation } from '../../kernel/reservation.ts';

/** What the message says, in the kernel's words. */
export interface WaitingFields {
  readonly queueMs: number;
  readonly untilMs: number;
  readonly reason: string;
  readonly budget: string;
  readonly limit: string;
  readonly aheadCount: number | undefined;
  readonly minMicros: bigint;
}

/** Undefined for one that does not wait. */
export function waitingOf(
  { queued, figures, createMs: queueMs }: Reservation,
  standing: QueueStanding | undefined,
): WaitingFields | undefined {
  if (queued === undefined || figures.state !== 'QUEUED') return undefined;
  const { untilMs, minMicros } = queued;
  if (standing === undefined) {
    const { reason, blockedBy: budget, limit } = queued;
    return { queueMs, untilMs, reason, budget, limit, aheadCount: undefined, minMicros };
  }
  const { reason, budget = '', limit = '' } = standing.refusal;
  return { queueMs, untilMs, reason, budget, limit, aheadCount: standing.aheadCount, minMicros };
}
