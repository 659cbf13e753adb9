// Decides one tree's part of a batch: a fold over the commands, each seeing what the ones before it did. Nothing here is
// asynchronous; what the batch did to the state is made final or taken back by the lane when the append is known.

import { decideAlerts, defsBefore } from '../kernel/alert.ts';
import type { Answer, ReservationAnswer } from '../kernel/answer.ts';
import { apply } from '../kernel/apply.ts';
import type { Command } from '../kernel/command.ts';
import { decide } from '../kernel/decide.ts';
import { decideGrace, type LeaderGap } from '../kernel/decide-grace.ts';
import type { QueueFault } from '../kernel/decide-queue.ts';
import type { DecideContext, Decision } from '../kernel/decision.ts';
import type { Entry } from '../kernel/entry.ts';
import { invariant } from '../kernel/invariant.ts';
import type { ReservationId } from '../kernel/names.ts';
import { isRepeatKnown } from '../kernel/replay.ts';
import { applyAll, CorruptTreeError, type DraftEntries, draftEntries, isFull } from './batch-draft.ts';
import { type CachedTree, DUE_COUNT_MAX } from './cached-tree.ts';
import { type Edit, isEdit, NO_PAST, type Past, type PastNeed, type PastRead, pastOf, withPast } from './edit-past.ts';
import { expireCommand } from './expire-command.ts';
import { isCorrupt } from './is-corrupt.ts';
import type { Missing } from './missing.ts';
import { callerGone, contention } from './refusals.ts';
import { letGo, mayServe, offer, type ServeContext } from './serve-waiting.ts';

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

/** What a batch is decided with. `gap`: the time without a leader before this process led, where it is known. */
export interface BatchContext extends ServeContext {
  readonly gap?: LeaderGap | undefined;
}

/**
 * Decides `items` in order. Throws CorruptTreeError where the tree's records are at odds with what is decided on them, and
 * QueueFaultError where what was decided of those who wait could not be applied; whatever it throws, the tree may have stopped halfway.
 */
export function decideTree(tree: CachedTree, items: readonly Submitted[], context: BatchContext): TreeBatch {
  const batch = newDraft(tree);
  const missing = tree.missingForDue(dueThroughMs(tree, context));
  if (missing !== undefined) return { ...batch, parked: items.map((item) => ({ item, missing })) };
  if (graceDue(batch, context) || expireDue(batch, context)) {
    return { ...batch, deferred: items };
  }
  let own = context;
  if (mayServe(batch, context)) {
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
    if (mayServe(batch, context)) {
      // Whoever came to wait in this batch is known to it alone.
      if (own === context && batch.waiting.length > 0) own = withEntered(context, batch);
      offer(batch, own);
    }
  }
  return batch;
}

function withEntered(context: BatchContext, { waiting }: Draft): BatchContext {
  const { isAttached } = context.queue;
  const isEntered = (id: ReservationId): boolean => isAttached(id) || waiting.some((each) => each.id === id);
  return { ...context, queue: { ...context.queue, isAttached: isEntered } };
}

function newDraft(tree: CachedTree): Draft {
  const lists = { answered: [], waiting: [], failed: [], parked: [], unsearched: [], deferred: [], paused: [] };
  return { ...draftEntries(tree), ...lists };
}

function pastFor({ tree, entries }: Draft, { past }: Submitted, command: Edit, context: BatchContext) {
  return tree.missingFor(command) === undefined ? pastOf(tree.state, command, past, entries, context) : NO_PAST;
}

// The past is read when nothing of the tree is under way any more.
function waitForPast(batch: Draft, items: readonly Submitted[], item: Submitted, past: PastNeed): void {
  if (batch.entries.length > 0 || batch.tree.state.isTentative) batch.deferred.push(...items);
  else batch.paused.push({ ...past, item, items });
}

type Draft = DraftEntries & {
  readonly [Key in keyof TreeBatch]: TreeBatch[Key] extends readonly (infer T)[] ? T[] : TreeBatch[Key];
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
  applyAll(batch, decision.entries);
  applyAll(batch, decideAlerts(tree.state, decision.entries, before, context));
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

function dueThroughMs(tree: CachedTree, { gap, nowMs, graceMs }: BatchContext): number {
  return gap === undefined || tree.graced ? nowMs : Math.max(nowMs, gap.toMs + graceMs);
}

// Before anything is taken for lapsed: leases that ran out while there was no leader get one grace. Returns whether any were
// moved: what is due after that is another set than the one whose records were looked for, and there may be more to move.
function graceDue(batch: Draft, context: BatchContext): boolean {
  const { tree } = batch;
  if (context.gap === undefined || tree.graced) return false;
  const { entries: graced } = decideGrace(tree.state, context.gap, context, DUE_COUNT_MAX);
  // Looked for again until an append has made it final.
  if (graced.length === 0 && !tree.state.isTentative) tree.graced = true;
  applyAll(batch, graced);
  return graced.length > 0;
}

// Every decision treats a lapsed hold as lapsed: what is due is recorded first, in the same commit. Returns whether more is
// due than one batch takes.
function expireDue({ tree, entries }: Draft, context: DecideContext): boolean {
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
    if (!isCorrupt(error)) throw error;
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
