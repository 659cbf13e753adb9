// Commands and reads on those who wait: a repeat that asks for its place, an end that its caller or the lane makes of it, and what the
// queue looks like.
import type { Answer, QueueAnswer, QueueStanding, ReservationAnswer } from './answer.ts';
import type { GetQueue, LeaveQueue, Release, Reserve } from './command.ts';
import { leaveOf, leftQueue, requestOf, standingRefusal } from './decide-queue.ts';
import { decideRelease } from './decide-settle.ts';
import { answerOnly, type DecideContext, type Decision, entryBase } from './decision.ts';
import type { LeftQueue, Refused } from './entry.ts';
import { IndexedHeap } from './indexed-heap.ts';
import type { BudgetPath } from './names.ts';
import { publicReservationId } from './names.ts';
import { readReservation } from './read.ts';
import type { Refusal } from './refusal.ts';
import { budgetNotFound, reservationNotFound, UNTAKEN_REASON } from './refuse-state.ts';
import type { TreeState } from './tree-state.ts';
import type { WaitLine } from './wait-line.ts';
import { childAt, isAhead, isWaiting, rankOf, type Standing, type Waiting } from './wait-order.ts';
import type { WaitQueue } from './wait-queue.ts';

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
  const isWanted = isAttached(command.id);
  if (isWaiting(reservation) && !isWanted) {
    return leave(state, command, reservation, 'nobody waits for it any more', context);
  }
  const isUntouched = figures.state === 'ACTIVE' && !figures.started && figures.settledMicros === 0n;
  if (isWanted || !isUntouched || !isUntaken(command.id)) {
    return answerOnly(readReservation(state, reservation, context, false));
  }
  return decideRelease(state, { ...command, kind: 'Release', reason: UNTAKEN_REASON }, context);
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
  const answer = readReservation(state, { ...waiting, figures }, context, false);
  // Where its caller is gone nobody is told: its key is free.
  if (command.kind === 'LeaveQueue') return { answer, entries: [entry] };
  return { answer, entries: [entry, refusedBy(entry, waiting, left.refusal)] };
}

// The entry before it has the key of the Release: what the one who waited is told is remembered by the key of the Reserve.
function refusedBy({ seq, atMs }: LeftQueue, waiting: Waiting, refusal: Refusal): Refused {
  const { id, budget, holder, figures, queued } = waiting;
  return {
    seq: seq + 1,
    atMs,
    actor: queued.actor,
    ...requestOf(waiting),
    type: 'Refused',
    command: 'Reserve',
    budget,
    id,
    maxMicros: figures.requestedMicros,
    minMicros: queued.minMicros,
    holder,
    revisions: [],
    refusal,
  };
}

/** One that waits, and how it stands. */
export function readWaiting(state: TreeState, waiting: Waiting, context: DecideContext): ReservationAnswer {
  const standing = standingOf(state, waiting, context);
  const at = standing.refusal.budget as BudgetPath | undefined;
  const aheadCount = at === undefined ? 0 : aheadOf(state, at, waiting, context);
  return { ...readReservation(state, waiting, context, false), standing: { ...standing, aheadCount } };
}

function standingOf(state: TreeState, waiting: Waiting, context: DecideContext): QueueStanding {
  const { retryAfterMs: _, ...refusal } = standingRefusal(state, waiting, context);
  return { refusal, aheadCount: 0 };
}

/** Decides a GetQueue. */
export function readQueue(state: TreeState, command: GetQueue, context: DecideContext): QueueAnswer | Refusal {
  if (state.budgetAt(command.budget) === undefined) return budgetNotFound(command.budget);
  const waiting = firstOf(state, command.budget, command.countMax, context).map((reservation, aheadCount) => ({
    reservation,
    standing: { ...standingOf(state, reservation, context), aheadCount },
  }));
  return { kind: 'queue', treeId: state.treeId, waiting, count: state.queue?.countAt(command.budget) ?? 0 };
}

// Thousands may wait, and whoever reads holds up the commands of the tree: those ahead are counted and the first are picked out, and
// nobody is put into order who is not shown.

function aheadOf(state: TreeState, budget: BudgetPath, own: Waiting, context: DecideContext): number {
  const { queue } = state;
  const child = childAt(budget, [own.budget, ...own.also]);
  if (queue === undefined || child === undefined) return 0;
  const { nowMs } = context;
  const { ageMs } = context.queue;
  const share = queue.shareOf(budget, child, nowMs);
  const { seq } = own.queued;
  const mine: Standing = { rank: rankOf(own.priority, own.createMs, nowMs, ageMs), child, share, seq };
  let count = 0;
  for (const line of queue.linesAt(budget)) {
    let its: Pick<Standing, 'child' | 'share'> | undefined;
    for (const { priority, createMs, queued } of line.all()) {
      const rank = rankOf(priority, createMs, nowMs, ageMs);
      // Nobody has had less than nothing.
      if (rank < mine.rank || (rank === mine.rank && share.useMicros === 0n && queued.seq >= seq)) continue;
      its ??= shareOfLine(queue, budget, line, nowMs);
      if (rank > mine.rank || isAhead({ ...its, rank, seq: queued.seq }, mine)) count += 1;
    }
  }
  return count;
}

function shareOfLine(queue: WaitQueue, budget: BudgetPath, { paths }: WaitLine, nowMs: number) {
  const child = childAt(budget, paths) ?? '';
  return { child, share: queue.shareOf(budget, child, nowMs) };
}

function firstOf(state: TreeState, budget: BudgetPath, countMax: number, context: DecideContext): Waiting[] {
  const found = new IndexedHeap<Standing & { readonly waiting: Waiting }>((a, b) => isAhead(b, a));
  forEachAt(state, budget, context, (waiting, its) => {
    const last = found.top;
    if (found.size === countMax) {
      if (last === undefined || !isAhead(its, last)) return;
      found.remove(last);
    }
    found.add({ ...its, waiting });
  });
  return found.items.toSorted((a, b) => (isAhead(a, b) ? -1 : 1)).map(({ waiting }) => waiting);
}

// All who wait at a budget or below it, as a point of this budget would have them, though they may wait at others. Those of a line come
// through one child.
function forEachAt(
  { queue }: TreeState,
  budget: BudgetPath,
  { nowMs, queue: { ageMs } }: DecideContext,
  look: (waiting: Waiting, standing: Standing) => void,
): void {
  if (queue === undefined) return;
  for (const line of queue.linesAt(budget)) {
    const its = shareOfLine(queue, budget, line, nowMs);
    for (const waiting of line.all()) {
      const { priority, createMs, queued } = waiting;
      look(waiting, { ...its, rank: rankOf(priority, createMs, nowMs, ageMs), seq: queued.seq });
    }
  }
}
