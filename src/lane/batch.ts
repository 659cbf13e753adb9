// Decides one tree's part of a batch: a fold over the commands, each seeing what the ones before it did. Nothing here is
// asynchronous; what the batch did to the state is made final or taken back by the lane when the append is known.

import { decideAlerts, defsBefore } from '../kernel/alert.ts';
import type { Answer, ReservationAnswer } from '../kernel/answer.ts';
import { apply } from '../kernel/apply.ts';
import type { Command } from '../kernel/command.ts';
import { decide } from '../kernel/decide.ts';
import { decideGrace, type LeaderGap } from '../kernel/decide-grace.ts';
import { decideQueue, type HeadsLeft, type QueueFault } from '../kernel/decide-queue.ts';
import type { DecideContext, Decision } from '../kernel/decision.ts';
import type { Entry } from '../kernel/entry.ts';
import { invariant } from '../kernel/invariant.ts';
import type { ReservationId } from '../kernel/names.ts';
import { isRepeatKnown } from '../kernel/replay.ts';
import type { CommandKey } from '../kernel/request.ts';
import type { Waiting } from '../kernel/wait-order.ts';
import { entryWeight } from '../kernel/weight.ts';
import { type CachedTree, DUE_COUNT_MAX } from './cached-tree.ts';
import { type Edit, isEdit, NO_PAST, type Past, type PastNeed, type PastRead, pastOf, withPast } from './edit-past.ts';
import { expireCommand } from './expire-command.ts';
import { leaveQueueCommand } from './leave-queue-command.ts';
import type { Missing } from './missing.ts';
import { callerGone, contention } from './refusals.ts';

/**
 * What a tree's entries of one batch may weigh before the rest of its commands wait for the next. As many usual ones as a batch
 * takes at the most, so that those never wait; of reservations that charge thousands of accounts, 10 ms each, it takes four: other
 * trees wait for as long as it lasts.
 */
const WEIGHT_MAX = 256;

/** How many of those who wait are judged for a tree in one batch: some 10 ms, where an edit of what thousands wait for takes seconds. */
const HEADS_MAX = 256;

/** How long nobody is offered anything in a tree after a fault in its queue. */
const QUEUE_AGAIN_MS = 10_000;

/** A command in the lane's hands. */
export interface Submitted {
  readonly treeId: Command['treeId'];
  readonly command: Command;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** Whether it may be sent away while there is other work to keep; see isSheddable. */
  readonly sheddable: boolean;
  /** It was in a batch that failed by a fault, and is decided alone from then on: also after it has waited for records. */
  alone: boolean;
  /** How often a lost race sent it back. */
  attempts: number;
  /**
   * The tree, as it was in memory, for which the journal was searched for the key in vain: as long as that is the tree, the key
   * is fresh unless it is remembered. Somebody else may have written before the tree was in memory once more.
   */
  searchedFor: CachedTree | undefined;
  /** What was read for an edit; see edit-past.ts. */
  past?: PastRead | undefined;
  /** When it came, by the monotonic clock. */
  readonly sinceMs: number;
  /** Aborts once nobody waits for the answer; of a Reserve that waits alone. */
  readonly signal?: AbortSignal | undefined;
}

/** An edit for which the past of its budget has to be read, and those that have to wait with it. */
export interface Pause extends PastNeed {
  readonly item: Submitted;
  /** The edit itself first. */
  readonly items: readonly Submitted[];
}

/** What came of one tree's part. */
export interface TreeBatch {
  readonly tree: CachedTree;
  readonly entries: readonly Entry[];
  readonly answered: readonly { readonly item: Submitted; readonly answer: Answer }[];
  /** Reserves that wait in the queue: they are answered once they leave it. */
  readonly waiting: readonly { readonly item: Submitted; readonly id: ReservationId }[];
  /** Commands that failed an invariant; the others are not touched by it. */
  readonly failed: readonly { readonly item: Submitted; readonly error: unknown }[];
  /** Faults in offering those who wait what came back: their commands are tried again later, and the others are not touched by it. */
  readonly queueFaults: readonly QueueFault[];
  /** Commands that have to wait for records. */
  readonly parked: readonly { readonly item: Submitted; readonly missing: Missing }[];
  /** Commands that have to wait until the journal was searched for their keys. */
  readonly unsearched: readonly Submitted[];
  /** Commands that have to wait for this batch: more lapses are due than it records, what it decided weighs much, or an edit has to come alone. */
  readonly deferred: readonly Submitted[];
  /** At most one; nothing more of the tree can be decided until its past is read. Nothing was written by this batch then. */
  readonly paused: readonly Pause[];
}

/** Thrown where a tree's own records make every decision impossible: it has to be quarantined. */
export class CorruptTreeError extends Error {
  override readonly name = 'CorruptTreeError';
}

/** What a batch is decided with. `gap`: the time without a leader before this process led, where it is known. */
export interface BatchContext extends DecideContext {
  readonly gap?: LeaderGap | undefined;
  /** Since when whoever waits could come back; undefined: since now. */
  readonly openSinceMs?: number | undefined;
  /** Commands of the tree that were let in and are in no batch. Default: none. */
  readonly pending?: (() => Iterable<Submitted>) | undefined;
  /** Whether the place of one for whom nobody waits is kept nonetheless. Default: nobody's. */
  readonly isKept?: ((id: ReservationId) => boolean) | undefined;
  /** Told of grants whose callers may go before they have them. Default: nobody. */
  readonly untaken?: NotesUntaken | undefined;
}

/** As UntakenGrants has it, of one tree. */
export interface NotesUntaken {
  add(id: ReservationId, signal?: AbortSignal): void;
  addRepeat(id: ReservationId, signal: AbortSignal | undefined): void;
}

/** Decides `items` in order. Throws CorruptTreeError where the tree's records are at odds with what is decided on them. */
export function decideTree(tree: CachedTree, items: readonly Submitted[], context: BatchContext): TreeBatch {
  const batch = newDraft(tree);
  const missing = tree.missingForDue(dueThroughMs(tree, context));
  if (missing !== undefined) return { ...batch, parked: items.map((item) => ({ item, missing })) };
  if (graceDue(tree, context, batch.entries) || expireDue(tree, context, batch.entries)) {
    return { ...batch, deferred: items };
  }
  let own = context;
  if (tree.state.queue !== undefined) {
    letGo(batch, items, context);
    offer(batch, context);
  }
  for (let at = 0; at < items.length; at += 1) {
    if (isFull(batch)) {
      batch.deferred.push(...items.slice(at));
      break;
    }
    const item = items[at] as Submitted;
    const past = isEdit(item.command) ? pastFor(batch, item, item.command, context) : NO_PAST;
    if (past === 'contended') batch.answered.push({ item, answer: contention() });
    else if ('needs' in past) {
      waitForPast(batch, items.slice(at), item, past);
      break;
    } else decideOne(batch, item, past, own);
    if (tree.state.queue !== undefined) {
      // Whoever came to wait in this batch is known to it alone.
      if (own === context && batch.waiting.length > 0) own = withEntered(context, batch);
      offer(batch, own);
    }
  }
  return batch;
}

// What is left to do goes before whatever comes next: nothing slips in between.
function isFull(batch: Draft): boolean {
  return weighs(batch) > WEIGHT_MAX || batch.heads.left <= 0;
}

function weighs(batch: Draft): number {
  for (; batch.weighedCount < batch.entries.length; batch.weighedCount += 1)
    batch.weight += entryWeight(batch.entries[batch.weighedCount] as Entry);
  return batch.weight;
}

function withEntered(context: BatchContext, { waiting }: Draft): BatchContext {
  const { isAttached } = context.queue;
  const isEntered = (id: ReservationId): boolean => isAttached(id) || waiting.some((each) => each.id === id);
  return { ...context, queue: { ...context.queue, isAttached: isEntered } };
}

// Those who wait come next where anything of what they wait for may have come back. What is left of it when the batch is full is done
// in the next one.
function offer(batch: Draft, context: BatchContext): void {
  const { tree } = batch;
  while (!isFull(batch)) {
    const entries = nextOffer(batch, context);
    if (entries.length === 0) return;
    applyAll(tree, entries, batch.entries);
    for (const entry of entries) if (entry.type === 'Granted') context.untaken?.add(entry.reservation.id);
  }
}

// Settle and Release are no part of it, and go on whatever is wrong with it. Whoever comes meanwhile is behind nobody.
function nextOffer({ tree, heads, queueFaults }: Draft, context: BatchContext): readonly Entry[] {
  try {
    return decideQueue(tree.state, context, heads);
  } catch (error) {
    queueFaults.push({ id: undefined, error });
    tree.state.renewQueue(context.nowMs + QUEUE_AGAIN_MS);
    return [];
  }
}

/** For how long those who waited before this process led, or before the store was gone, may come back to their places. */
const ATTACH_MS = 10_000;

/** When those are looked for again who had come back and were not decided yet: they may be sent away before they are. */
const SWEEP_AGAIN_MS = 1_000;

// Nobody has come back for them.
function letGo(batch: Draft, items: readonly Submitted[], context: BatchContext): void {
  const { tree } = batch;
  const { nowMs, queue, openSinceMs = nowMs, isKept } = context;
  tree.attachByMs ??= openSinceMs + ATTACH_MS;
  if (tree.isSwept || nowMs < tree.attachByMs) return;
  const isAwaited = ({ id }: Waiting): boolean => queue.isAttached(id) || isKept?.(id) === true;
  const late = [...(tree.state.queue?.waiting() ?? [])].filter((waiting) => !isAwaited(waiting));
  const back = new Set(late.length === 0 ? [] : [...items, ...(context.pending?.() ?? [])].flatMap(requestOf));
  let backCount = 0;
  for (const { id, queued } of late) {
    if (back.has(requestName(queued.key))) {
      backCount += 1;
      continue;
    }
    if (weighs(batch) > WEIGHT_MAX) return;
    const { entries } = decide(tree.state, leaveQueueCommand(tree.treeId, id), context);
    applyAll(tree, entries, batch.entries);
  }
  if (backCount === 0) tree.isSwept = true;
  else tree.attachByMs = nowMs + SWEEP_AGAIN_MS;
}

// What somebody asks for who is there.
function requestOf({ command: { key }, signal }: Submitted): string[] {
  return key === undefined || signal?.aborted === true ? [] : [requestName(key)];
}

function requestName({ digest, fingerprint }: CommandKey): string {
  return `${digest} ${fingerprint}`;
}

function newDraft(tree: CachedTree): Draft {
  const queueFaults: QueueFault[] = [];
  return {
    tree,
    entries: [],
    answered: [],
    waiting: [],
    failed: [],
    queueFaults,
    parked: [],
    unsearched: [],
    deferred: [],
    paused: [],
    weight: 0,
    weighedCount: 0,
    heads: { left: HEADS_MAX, failed: (fault) => queueFaults.push(fault) },
  };
}

function pastFor({ tree, entries }: Draft, { past }: Submitted, command: Edit, context: BatchContext) {
  return tree.missingFor(command) === undefined ? pastOf(tree.state, command, past, entries, context) : NO_PAST;
}

// The past is read when nothing of the tree is under way any more.
function waitForPast(batch: Draft, items: readonly Submitted[], item: Submitted, past: PastNeed): void {
  if (batch.entries.length > 0 || batch.tree.state.isTentative) batch.deferred.push(...items);
  else batch.paused.push({ ...past, item, items });
}

type Draft = {
  readonly [Key in keyof TreeBatch]: TreeBatch[Key] extends readonly (infer T)[] ? T[] : TreeBatch[Key];
} & {
  /** What the entries weigh that were weighed. */
  weight: number;
  weighedCount: number;
  readonly heads: HeadsLeft;
};

// The hot path: a closure or an array for each command is felt here.
function decideOne(batch: Draft, item: Submitted, past: Past, context: BatchContext): void {
  const { tree } = batch;
  if (item.signal?.aborted === true) {
    batch.answered.push({ item, answer: callerGone() });
    return;
  }
  const missing = tree.missingFor(item.command);
  if (missing !== undefined) {
    batch.parked.push({ item, missing });
    return;
  }
  let decision: Decision;
  try {
    decision = decide(tree.state, withPast(item.command, past), context);
  } catch (error) {
    batch.failed.push({ item, error });
    return;
  }
  if (needsSearch(tree, item, decision)) {
    batch.unsearched.push(item);
    return;
  }
  const before = defsBefore(tree.state, decision.entries);
  applyAll(tree, decision.entries, batch.entries);
  applyAll(tree, decideAlerts(tree.state, decision.entries, before, context), batch.entries);
  const { answer } = decision;
  if (answer.kind !== 'queued') {
    if (answer.kind === 'reservation' && item.command.kind === 'Reserve') noteUntaken(item, answer, context);
    batch.answered.push({ item, answer });
    return;
  }
  batch.waiting.push({ item, id: answer.id });
  // Where it has its place already, its caller may have come back to it.
  if (decision.entries.length === 0) tree.state.queue?.stir(answer.id);
}

// A repeat is handed what it repeats; a first caller may have gone by the time it is answered.
function noteUntaken(
  { signal }: Submitted,
  { reservation, replayed, dryRun }: ReservationAnswer,
  { untaken }: BatchContext,
): void {
  if (replayed) untaken?.addRepeat(reservation.id, signal);
  else if (signal !== undefined && !dryRun) untaken?.add(reservation.id, signal);
}

// Decided on the tree's records: where they are at odds with it, nothing that they say can be believed.
function applyAll(tree: CachedTree, decided: readonly Entry[], entries: Entry[]): void {
  try {
    for (const entry of decided) {
      apply(tree.state, entry);
      entries.push(entry);
    }
  } catch (error) {
    throw new CorruptTreeError(`what tree ${tree.treeId} holds does not add up`, { cause: error });
  }
}

function dueThroughMs(tree: CachedTree, { gap, nowMs, graceMs }: BatchContext): number {
  return gap === undefined || tree.graced ? nowMs : Math.max(nowMs, gap.toMs + graceMs);
}

// Before anything is taken for lapsed: leases that ran out while there was no leader get one grace. Returns whether any were
// moved: what is due after that is another set than the one whose records were looked for, and there may be more to move.
function graceDue(tree: CachedTree, context: BatchContext, entries: Entry[]): boolean {
  if (context.gap === undefined || tree.graced) return false;
  const { entries: graced } = decideGrace(tree.state, context.gap, context, DUE_COUNT_MAX);
  // Looked for again until an append has made it final.
  if (graced.length === 0 && !tree.state.isTentative) tree.graced = true;
  applyAll(tree, graced, entries);
  return graced.length > 0;
}

// Every decision treats a lapsed hold as lapsed: what is due is recorded first, in the same commit. Returns whether more is
// due than one batch takes.
function expireDue(tree: CachedTree, context: DecideContext, entries: Entry[]): boolean {
  try {
    const command = expireCommand(tree.treeId);
    const { answer, entries: lapses } = decide(tree.state, command, context);
    const before = defsBefore(tree.state, lapses);
    for (const entry of lapses) apply(tree.state, entry);
    entries.push(...lapses);
    for (const entry of decideAlerts(tree.state, lapses, before, context)) {
      apply(tree.state, entry);
      entries.push(entry);
    }
    invariant(answer.kind === 'expired', 'an Expire is answered as one');
    return answer.more;
  } catch (error) {
    throw new CorruptTreeError(`lapses of tree ${tree.treeId} can't be recorded`, { cause: error });
  }
}

// An append with the key finds out by itself whether the key is new. An answer that appends no key has to ask first, or a
// repeat of a remembered request could be judged afresh. Where the resource does not exist no key can be remembered for it.
function needsSearch(tree: CachedTree, item: Submitted, { answer, entries }: Decision): boolean {
  const { key } = item.command;
  if (key === undefined || item.searchedFor === tree) return false;
  for (const entry of entries) if (entry.key !== undefined) return false;
  if (isRepeatKnown(tree.state, item.command)) return false;
  // It asks for its place: what is in the queue is in no journal's keys.
  if (answer.kind === 'queued' && entries.length === 0) return false;
  const absent =
    answer.kind === 'refusal' && (answer.reason === 'BUDGET_NOT_FOUND' || answer.reason === 'RESERVATION_NOT_FOUND');
  return !absent;
}
