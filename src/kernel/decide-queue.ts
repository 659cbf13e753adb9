// What becomes of those who wait: granted in their turn, or out of the queue because their time is over, their budget takes nothing
// any more, or nobody waits for the answer. Looked at after every decision, whatever it was, so that what comes back is offered in the
// same batch and nothing that comes later slips in between.
import type { Reserve } from './command.ts';
import { allPoints, type Contended, contendedBy, nextRiseMs } from './contention.ts';
import { admissionOf, granted, type Judged, judgeReserve } from './decide-reserve.ts';
import { type DecideContext, entryBase } from './decision.ts';
import { isWorthWaiting } from './enqueue.ts';
import type { Entry, Leave, LeftQueue } from './entry.ts';
import { limitRooms } from './headroom.ts';
import { invariant } from './invariant.ts';
import { publicReservationId, type TreeId } from './names.ts';
import { isRemembered, type Refusal } from './refusal.ts';
import { HELD_RETRY_MS } from './refuse-money.ts';
import { askOf } from './refuse-reserve.ts';
import type { ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';
import { rankOf, type Waiting } from './wait-order.ts';
import type { WaitLine } from './wait-point.ts';
import type { WaitQueue } from './wait-queue.ts';

/** Whose time is over at once, in one entry. */
const ENDED_PAGE = 100;

/**
 * The entries of what has to happen next to those who wait, to be applied before it is asked again; none: everybody waits rightly.
 * Who is granted is told from its `Granted`, who leaves from its `LeftQueue`.
 */
export function decideQueue(state: TreeState, context: DecideContext): readonly Entry[] {
  const { queue } = state;
  if (queue === undefined || !queue.isDue(context.nowMs)) return NONE;
  const ended = queue.ended(context.nowMs, ENDED_PAGE);
  if (ended.length > 0) return [timedOut(state, ended, context)];
  for (let line = queue.nextUnplaced(context.nowMs); line !== undefined; line = queue.nextUnplaced(context.nowMs)) {
    const entries = lookAt(state, queue, line, context, true);
    if (entries.length > 0) return entries;
  }
  for (let line = queue.nextStirred(context.nowMs); line !== undefined; line = queue.nextStirred(context.nowMs)) {
    const entries = lookAt(state, queue, line, context, false);
    if (entries.length > 0) return entries;
  }
  return NONE;
}

const NONE: readonly never[] = [];

// One that comes new, or once more, and fits claims its points first: who is first there is judged before it is granted anything.
function lookAt(
  state: TreeState,
  queue: WaitQueue,
  line: WaitLine,
  context: DecideContext,
  isNew: boolean,
): readonly Entry[] {
  const { head } = line;
  const command = reserveOf(state.treeId, head);
  const judged = judgeReserve(state, command, context);
  if ('kind' in judged) return [leftQueue(state, [leaveOf(head, judged, context)], context)];
  const { outcome, asked } = judged;
  if (outcome.kind === 'refusal' && !isWorthWaiting(outcome)) {
    return [leftQueue(state, [leaveOf(head, outcome, context)], context)];
  }
  const fits = outcome.kind === 'grant';
  const isAttached = context.queue.isAttached(head.id);
  if (fits && isAttached && !isNew) return granted(state, command, context, judged.charge, outcome).entries;
  const { nowMs } = context;
  const rank = rankOf(head.priority, head.createMs, nowMs, context.queue.ageMs);
  const rooms = limitRooms(judged.charge, nowMs);
  const held: Contended = fits
    ? { points: allPoints(asked, rooms), wakeMs: Number.POSITIVE_INFINITY }
    : contendedBy(asked, rooms, judged.behind, askOf(admissionOf(standingOf(judged), command), context));
  invariant(fits || held.points.length > 0, `${head.id} waits for nothing`);
  // Where nothing is contended at all, there is no turn to wait for.
  if (fits && isAttached && held.points.length === 0) {
    return granted(state, command, context, judged.charge, outcome).entries;
  }
  const wakeMs = Math.min(held.wakeMs, nextRiseMs(head, nowMs, context.queue));
  queue.place(line, { points: held.points, rank, wakeMs, claims: fits && isAttached });
  return NONE;
}

// What is asked of the limits does not depend on what they admit.
function standingOf({ asked, charge, behind }: Judged) {
  return { ...asked, charge, behind, admittedMicros: undefined, counterRoom: 0n };
}

// The Reserve that one waits with; it does not wait once more.
function reserveOf(treeId: TreeId, waiting: Waiting): Reserve {
  const { id, budget, also, priority, holder, actingFor, labels, figures, queued } = waiting;
  const { key, actor, minMicros, ttlMs, tokens, toolCalls, alternatives, salt } = queued;
  return {
    kind: 'Reserve',
    treeId,
    actor,
    key,
    personal: salt === undefined ? undefined : { salt, actingFor, labels },
    id,
    budget,
    also,
    maxMicros: figures.requestedMicros,
    minMicros,
    call: undefined,
    price: waiting.price,
    ttlMs,
    tokens,
    toolCalls,
    priority,
    alternatives,
    waitMs: 0,
    holder,
    dryRun: false,
  };
}

// A refusal that waiting can't cure is what the key is remembered by; it has an entry of its own then.
function timedOut(state: TreeState, ended: readonly Waiting[], context: DecideContext): LeftQueue {
  const leaves = ended.map((waiting) => leaveOf(waiting, timeoutRefusal(state, waiting, context), context));
  const at = leaves.findIndex(({ refusal }) => isRemembered(refusal));
  if (at === -1) return leftQueue(state, leaves, context);
  if (at > 0) return leftQueue(state, leaves.slice(0, at), context);
  const [first] = ended;
  return { ...leftQueue(state, leaves.slice(0, 1), context), key: first?.queued.key, personal: personalOf(first) };
}

// A repeat is compared with it: what is personal of it stays beside the journal.
function personalOf(waiting: Waiting | undefined): LeftQueue['personal'] {
  if (waiting?.queued.commitment === undefined) return undefined;
  const { queued, actingFor, labels } = waiting;
  return { commitment: queued.commitment as string, salt: queued.salt, actingFor, labels };
}

function timeoutRefusal(state: TreeState, waiting: Waiting, context: DecideContext): Refusal {
  const standing = standingRefusal(state, waiting, context);
  if (!isWorthWaiting(standing)) return standing;
  const { message } = standing;
  const waitedMs = context.nowMs - waiting.createMs;
  return { ...standing, reason: 'QUEUE_TIMEOUT', message: `waited ${waitedMs} ms: ${message}` };
}

/** What one that waits would be refused for now. */
export function standingRefusal(state: TreeState, waiting: Waiting, context: DecideContext): Refusal {
  const judged = judgeReserve(state, reserveOf(state.treeId, waiting), context);
  const outcome = 'kind' in judged ? judged : judged.outcome;
  if (outcome.kind === 'refusal') return outcome;
  const { blockedBy, limit } = waiting.queued;
  return {
    kind: 'refusal',
    reason: 'CAPACITY_HELD',
    message: 'it would fit but for its turn, which has not come',
    budget: blockedBy,
    ...(limit !== '' && { limit }),
    retryAfterMs: HELD_RETRY_MS,
  };
}

/** How one leaves the queue ungranted. The refusal names it. */
export function leaveOf(waiting: Waiting, refusal: Refusal, { nowMs }: DecideContext): Leave {
  const treeId = waiting.budget.split('/')[0] as TreeId;
  const { reason } = refusal;
  const figures: ReservationFigures = { ...waiting.figures, state: 'RELEASED', endMs: nowMs, releaseReason: reason };
  const reservationId = publicReservationId(treeId, waiting.id);
  return { id: waiting.id, figures, refusal: { ...refusal, reservationId } };
}

/** The entry of those who leave; nobody's key is in it. */
export function leftQueue(state: TreeState, leaves: readonly Leave[], context: DecideContext): LeftQueue {
  const base = entryBase(state, { actor: 'budgetd', key: undefined, personal: undefined }, context);
  return { ...base, type: 'LeftQueue', leaves };
}
