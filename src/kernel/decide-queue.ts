// What becomes of those who wait: granted in their turn, or out of the queue because their time is over, their budget takes nothing
// any more, or nobody waits for the answer. Looked at after every decision, whatever it was, so that what comes back is offered in the
// same batch and nothing that comes later slips in between.
import type { Reserve } from './command.ts';
import { allPoints, type Contended, contendedBy, goneMs, nextRiseMs } from './contention.ts';
import { admissionOf, granted, type Judged, judgeReserve } from './decide-reserve.ts';
import { type DecideContext, entryBase } from './decision.ts';
import { isWorthWaiting } from './enqueue.ts';
import type { Entry, EntryBase, Leave, LeftQueue } from './entry.ts';
import { type LimitRoom, limitRooms } from './headroom.ts';
import { invariant } from './invariant.ts';
import { depthOf, publicReservationId, type ReservationId, type TreeId } from './names.ts';
import { isRemembered, type Refusal } from './refusal.ts';
import { HELD_RETRY_MS } from './refuse-money.ts';
import { alternativeOf } from './refuse-price.ts';
import { askOf } from './refuse-reserve.ts';
import type { ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';
import { rankOf, type Waiting } from './wait-order.ts';
import type { PlacedLine } from './wait-point.ts';
import type { WaitQueue } from './wait-queue.ts';

/** Whose time is over at once, in one entry. */
const ENDED_PAGE = 100;

/** How long one that could not be judged for a fault is left alone: often enough for a fault that passes, and nobody's time where it stays. */
const FAULT_AGAIN_MS = 10_000;

/** Until one is looked at again whose refusal is for the moment and does not say until when. */
const UNREAD_LOOK_MS = 1_000;

/** A fault of the program in judging one that waits; without an id: in the queue itself. */
export interface QueueFault {
  readonly id: ReservationId | undefined;
  readonly error: unknown;
}

/**
 * How many of those who wait may still be judged before others have their turn, or be let go because their time is over: thousands may
 * have to be. One on many levels counts as several.
 */
export interface HeadsLeft {
  left: number;
  /**
   * Told of a fault in judging one: it is judged again after a while, waits for nothing until then and holds nobody back. Default: the
   * fault is thrown.
   */
  readonly failed?: (fault: QueueFault) => void;
}

/**
 * The entries of what has to happen next to those who wait, to be applied before it is asked again; none: everybody waits rightly, or
 * nothing is left of `heads`, and there is more to do. Who is granted is told from its `Granted`, who leaves from its `LeftQueue`.
 */
export function decideQueue(
  state: TreeState,
  context: DecideContext,
  heads: HeadsLeft = { left: Number.POSITIVE_INFINITY },
): readonly Entry[] {
  const { queue } = state;
  if (queue === undefined || heads.left <= 0 || !queue.isDue(context.nowMs)) return NONE;
  const left = tryEnds(state, queue, context, heads);
  if (left.length > 0 || !queue.mayLook(context.nowMs)) return left;
  while (heads.left > 0) {
    const open = queue.nextUnjudged(context.nowMs) ?? queue.nextStirred(context.nowMs);
    const line = open ?? queue.nextClaim;
    if (line === undefined) return NONE;
    const work = workOf(line.head);
    const entries = tryAt(state, queue, line, context, open === undefined, heads);
    // A grant counts by what its entry weighs.
    if (entries.at(-1)?.type !== 'Granted') heads.left -= work;
    if (entries.length > 0) return entries;
  }
  return NONE;
}

const NONE: readonly never[] = [];

// A fault in ending waits keeps nobody from being granted, as no fault in looking at who waits keeps waits from ending (WaitQueue.rest).
function tryEnds(state: TreeState, queue: WaitQueue, context: DecideContext, heads: HeadsLeft): readonly Entry[] {
  if (!queue.mayEnd(context.nowMs)) return NONE;
  try {
    return queue.hasEnded(context.nowMs) ? timedOut(state, queue, context, heads) : NONE;
  } catch (error) {
    if (heads.failed === undefined) throw error;
    heads.failed({ id: undefined, error });
    queue.restEnds(context.nowMs + FAULT_AGAIN_MS);
    // Whoever is over by now has to be found among those who keep others waiting.
    queue.stirAll();
    return NONE;
  }
}

/** Levels of one that counts as one where it is judged: nine paths of sixteen levels take eighteen times as long as one of three. */
const LEVELS_A_HEAD = 8;

/** What looking at one counts of HeadsLeft, or letting it go. */
export function workOf({ budget, also }: Waiting): number {
  let levels = depthOf(budget);
  for (const path of also) levels += depthOf(path);
  return Math.ceil(levels / LEVELS_A_HEAD);
}

// One that fails fails alone.
function tryAt(
  state: TreeState,
  queue: WaitQueue,
  line: PlacedLine,
  context: DecideContext,
  isTurn: boolean,
  { failed }: HeadsLeft,
): readonly Entry[] {
  const { id } = line.head;
  try {
    return lookAt(state, queue, line, context, isTurn);
  } catch (error) {
    if (failed === undefined) throw error;
    failed({ id, error });
    queue.setAside(line.head, context.nowMs + FAULT_AGAIN_MS);
    return NONE;
  }
}

// One that fits claims what it asks for, and is granted it when it is its turn: when all others have been looked at.
function lookAt(
  state: TreeState,
  queue: WaitQueue,
  line: PlacedLine,
  context: DecideContext,
  isTurn: boolean,
): readonly Entry[] {
  const { head } = line;
  // Its wait could not be ended for a fault: it holds nobody back until it can be.
  if (head.queued.untilMs <= context.nowMs) {
    queue.setAside(head, context.nowMs + FAULT_AGAIN_MS);
    return NONE;
  }
  const command = reserveOf(state.treeId, head);
  const judged = judgeReserve(state, command, context);
  if ('kind' in judged) return [refusedOut(state, head, judged, context)];
  const { outcome, asked, unread } = judged;
  if (outcome.kind === 'refusal' && unread === undefined && !isWorthWaiting(outcome)) {
    return [refusedOut(state, head, outcome, context)];
  }
  const fits = outcome.kind === 'grant';
  const isAttached = context.queue.isAttached(head.id);
  if (fits && isAttached && (isTurn || queue.isLeft(line, context.nowMs)))
    return granted(state, command, context, judged.charge, outcome).entries;
  const { nowMs } = context;
  const rank = rankOf(head.priority, head.createMs, nowMs, context.queue.ageMs);
  const rooms = limitRooms(judged.charge, nowMs);
  const short = fits ? NOTHING_SHORT : heldBackBy(judged, rooms, context);
  // Nobody loses the place for a price book that is about to be read.
  const mayFit = fits || (unread !== undefined && short.points.length === 0);
  const held = mayFit ? { ...short, points: allPoints(asked, rooms) } : short;
  invariant(mayFit || held.points.length > 0, `${head.id} waits for nothing`);
  const lookMs = unread === undefined ? Number.POSITIVE_INFINITY : nowMs + (unread.retryAfterMs ?? UNREAD_LOOK_MS);
  const wakeMs = Math.min(held.wakeMs, lookMs, goneMs(rooms, command, context), nextRiseMs(head, nowMs, context.queue));
  queue.place(line, { points: held.points, rank, wakeMs, claims: fits && isAttached });
  return NONE;
}

const NOTHING_SHORT: Contended = { points: [], wakeMs: Number.POSITIVE_INFINITY };

// An alternative may fit before what was asked for first does.
function heldBackBy(judged: Judged, rooms: readonly LimitRoom[], context: DecideContext): Contended {
  const { asked, behind, charge, priced } = judged;
  const ask = askOf(admissionOf(askedStanding(judged), priced), context);
  const { points, ...first } = contendedBy(asked, rooms, behind, ask);
  let { wakeMs } = first;
  for (const alternative of priced.alternatives) {
    const cheaper = alternativeOf(priced, alternative, charge.named, context);
    if (cheaper === undefined || cheaper.kind === 'refusal') continue;
    const { minMicros } = cheaper;
    wakeMs = Math.min(wakeMs, contendedBy(asked, rooms, behind, { ...ask, minMicros }).wakeMs);
  }
  return { points, wakeMs };
}

// What is asked of the limits does not depend on what they admit.
function askedStanding({ asked, charge, behind }: Judged) {
  return { ...asked, charge, behind, admittedMicros: undefined, counterRoom: 0n };
}

/** The Reserve that one waits with; it does not wait once more. */
export function reserveOf(treeId: TreeId, waiting: Waiting): Reserve {
  const { id, budget, also, priority, holder, actingFor, labels, figures, queued } = waiting;
  const { key, actor, minMicros, ttlMs, tokens, toolCalls, alternatives, call, salt } = queued;
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
    call,
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

// A refusal that waiting can't cure is what the key is remembered by; it has an entry of its own then. Judged one by one, and no further
// than the first of those: thousands may be over at once.
function timedOut(state: TreeState, queue: WaitQueue, context: DecideContext, heads: HeadsLeft): readonly LeftQueue[] {
  const leaves: Leave[] = [];
  const failed: Waiting[] = [];
  let last: LeftQueue | undefined;
  for (const waiting of queue.ended(context.nowMs)) {
    const leave = tryLeave(state, waiting, context, heads);
    if (leave === undefined) failed.push(waiting);
    else if (!isRemembered(leave.refusal)) leaves.push(leave);
    else {
      if (leaves.length === 0) last = { ...leftQueue(state, [leave], context), ...requestOf(waiting) };
      break;
    }
    if (heads.left <= 0 || leaves.length === ENDED_PAGE) break;
  }
  const againMs = context.nowMs + FAULT_AGAIN_MS;
  for (const waiting of failed) {
    queue.setAside(waiting, againMs);
    queue.putOffEnd(waiting, againMs);
  }
  if (last !== undefined) return [last];
  return leaves.length === 0 ? NONE : [leftQueue(state, leaves, context)];
}

// Undefined for a fault: one that fails fails alone, and is let go later.
function tryLeave(state: TreeState, waiting: Waiting, context: DecideContext, heads: HeadsLeft): Leave | undefined {
  heads.left -= workOf(waiting);
  const { failed } = heads;
  try {
    return leaveOf(waiting, timeoutRefusal(state, waiting, context, failed), context);
  } catch (error) {
    if (failed === undefined) throw error;
    failed({ id: waiting.id, error });
    return undefined;
  }
}

// A repeat is compared with it: what is personal of it stays beside the journal.
function personalOf({ queued, actingFor, labels }: Waiting): LeftQueue['personal'] {
  const { commitment, salt } = queued;
  return commitment === undefined ? undefined : { commitment, salt, actingFor, labels };
}

function timeoutRefusal(
  state: TreeState,
  waiting: Waiting,
  context: DecideContext,
  failed: HeadsLeft['failed'],
): Refusal {
  let standing = unjudgedRefusal(waiting, 'it could not be judged');
  try {
    const { refusal, unread } = standingOf(state, waiting, context);
    standing = unread === undefined ? refusal : unjudgedRefusal(waiting, unread.message);
  } catch (error) {
    if (failed === undefined) throw error;
    failed({ id: waiting.id, error });
  }
  if (!isWorthWaiting(standing)) return standing;
  const { message } = standing;
  const waitedMs = context.nowMs - waiting.createMs;
  return { ...standing, reason: 'QUEUE_TIMEOUT', message: `waited ${waitedMs} ms: ${message}` };
}

/** What one that waits would be refused for now, if it did not wait: the price book goes before room, as in decideReserve. */
export function standingRefusal(state: TreeState, waiting: Waiting, context: DecideContext): Refusal {
  const { refusal, unread } = standingOf(state, waiting, context);
  return unread ?? refusal;
}

function standingOf(
  state: TreeState,
  waiting: Waiting,
  context: DecideContext,
): { readonly refusal: Refusal; readonly unread: Refusal | undefined } {
  const judged = judgeReserve(state, reserveOf(state.treeId, waiting), context);
  if ('kind' in judged) return { refusal: judged, unread: undefined };
  const { outcome, unread } = judged;
  if (outcome.kind === 'refusal') return { refusal: outcome, unread };
  return { refusal: unjudgedRefusal(waiting, 'it would fit but for its turn, which has not come'), unread };
}

// By what it was short of when it came.
function unjudgedRefusal({ queued: { blockedBy, limit } }: Waiting, message: string): Refusal {
  return {
    kind: 'refusal',
    reason: 'CAPACITY_HELD',
    message,
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

// What ends a wait is what its key is remembered by, as if it had been said at once.
function refusedOut(state: TreeState, waiting: Waiting, refusal: Refusal, context: DecideContext): LeftQueue {
  const entry = leftQueue(state, [leaveOf(waiting, refusal, context)], context);
  return isRemembered(refusal) ? { ...entry, ...requestOf(waiting) } : entry;
}

/** The key that the end of a wait is remembered by, and what of its request is personal. */
export function requestOf(waiting: Waiting): Pick<EntryBase, 'key' | 'personal'> {
  return { key: waiting.queued.key, personal: personalOf(waiting) };
}
