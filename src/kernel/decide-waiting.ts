// Commands and reads on those who wait: a repeat that asks for its place, an end that its caller or the lane makes of it, and what the
// queue looks like.
import type { Answer, QueueAnswer, QueueStanding, ReservationAnswer } from './answer.ts';
import type { GetQueue, LeaveQueue, Release, Reserve } from './command.ts';
import { leaveOf, leftQueue, standingRefusal } from './decide-queue.ts';
import { decideRelease } from './decide-settle.ts';
import { answerOnly, type DecideContext, type Decision, entryBase } from './decision.ts';
import type { BudgetPath } from './names.ts';
import { publicReservationId } from './names.ts';
import { readReservation } from './read.ts';
import type { Refusal } from './refusal.ts';
import { budgetNotFound, reservationNotFound } from './refuse-state.ts';
import type { TreeState } from './tree-state.ts';
import { childAt, isAhead, isWaiting, rankOf, type Waiting } from './wait-order.ts';

/**
 * The place of a Reserve whose key waits already; undefined where none does. The same key with another request is refused. Whoever
 * was gone may be back: the place is to be stirred then.
 */
export function joinQueue(state: TreeState, command: Reserve, context: DecideContext): Answer | undefined {
  const waiting = command.key && state.queue?.byKey(command.key.digest);
  if (waiting === undefined) return undefined;
  if (isSameRequest(waiting, command, context)) {
    return { kind: 'queued', treeId: state.treeId, id: waiting.id };
  }
  return {
    kind: 'refusal',
    reason: 'IDEMPOTENCY_KEY_REUSED',
    message: 'this idempotency key waits with another request',
    reservationId: publicReservationId(state.treeId, waiting.id),
  };
}

// As for a repeat of what is remembered (replay.ts).
function isSameRequest({ queued, actingFor, labels }: Waiting, command: Reserve, context: DecideContext): boolean {
  if (queued.key.fingerprint !== command.key?.fingerprint) return false;
  if (queued.commitment === undefined || command.personal === undefined) {
    return queued.commitment === undefined && command.personal === undefined;
  }
  if (queued.salt === undefined) return actingFor === '' && labels.length === 0;
  return context.commit({ ...command.personal, salt: queued.salt }) === queued.commitment;
}

/** Decides a LeaveQueue. Nothing changes for a request that somebody waits for again, nor for a grant that anybody may have. */
export function decideLeaveQueue(state: TreeState, command: LeaveQueue, context: DecideContext): Decision {
  const reservation = state.reservation(command.id);
  if (reservation === undefined) return answerOnly(reservationNotFound(state, command.id));
  const { figures } = reservation;
  const { isAttached, isUntaken } = context.queue;
  if (isWaiting(reservation) && !isAttached(command.id)) {
    return leave(state, command, reservation, 'nobody waits for it any more', context);
  }
  const isUntouched = figures.state === 'ACTIVE' && !figures.started && figures.settledMicros === 0n;
  if (!isUntouched || !isUntaken(command.id)) return answerOnly(readReservation(state, reservation, context, false));
  return decideRelease(state, { ...command, kind: 'Release', reason: 'nobody waited for the grant any more' }, context);
}

/** Decides a Release of one that waits; undefined where it does not. */
export function decideReleaseWaiting(state: TreeState, command: Release, context: DecideContext): Decision | undefined {
  const reservation = state.reservation(command.id);
  return isWaiting(reservation) ? leave(state, command, reservation, command.reason, context) : undefined;
}

function leave(
  state: TreeState,
  command: Release | LeaveQueue,
  waiting: Waiting,
  releaseReason: string,
  context: DecideContext,
): Decision {
  const reservationId = publicReservationId(state.treeId, waiting.id);
  const refusal: Refusal = {
    kind: 'refusal',
    reason: 'RESERVATION_RELEASED',
    message: `reservation ${reservationId} was released while it waited`,
    budget: waiting.budget,
  };
  const left = leaveOf(waiting, refusal, context);
  const figures = { ...left.figures, releaseReason };
  const base = entryBase(state, command, context);
  const entry = { ...leftQueue(state, [{ ...left, figures }], context), ...base };
  return { answer: readReservation(state, { ...waiting, figures }, context, false), entries: [entry] };
}

/** One that waits, and how it stands. */
export function readWaiting(state: TreeState, waiting: Waiting, context: DecideContext): ReservationAnswer {
  const standing = standingOf(state, waiting, context);
  const at = standing.refusal.budget as BudgetPath | undefined;
  const aheadCount = at === undefined ? 0 : inOrder(state, at, context).indexOf(waiting);
  return { ...readReservation(state, waiting, context, false), standing: { ...standing, aheadCount } };
}

function standingOf(state: TreeState, waiting: Waiting, context: DecideContext): QueueStanding {
  const { retryAfterMs: _, ...refusal } = standingRefusal(state, waiting, context);
  return { refusal, aheadCount: 0 };
}

/** Decides a GetQueue. */
export function readQueue(state: TreeState, command: GetQueue, context: DecideContext): QueueAnswer | Refusal {
  if (state.budgetAt(command.budget) === undefined) return budgetNotFound(command.budget);
  const all = inOrder(state, command.budget, context);
  const waiting = all.slice(0, command.countMax).map((reservation, aheadCount) => ({
    reservation,
    standing: { ...standingOf(state, reservation, context), aheadCount },
  }));
  return { kind: 'queue', treeId: state.treeId, waiting, count: all.length };
}

// As a point of this budget would have them, though they may wait at others.
function inOrder(state: TreeState, budget: BudgetPath, { nowMs, queue: { ageMs } }: DecideContext): Waiting[] {
  const { queue } = state;
  if (queue === undefined) return [];
  const all = [...queue.waiting()].flatMap((waiting) => {
    const child = childAt(budget, [waiting.budget, ...waiting.also]);
    if (child === undefined) return [];
    const rank = rankOf(waiting.priority, waiting.createMs, nowMs, ageMs);
    return [
      { waiting, standing: { rank, child, seq: waiting.queued.seq, share: queue.shareOf(budget, child, nowMs) } },
    ];
  });
  return all.sort((a, b) => (isAhead(a.standing, b.standing) ? -1 : 1)).map(({ waiting }) => waiting);
}
