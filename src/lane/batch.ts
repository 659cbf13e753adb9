// Decides one tree's part of a batch: a fold over the commands, each seeing what the ones before it did. Nothing here is
// asynchronous; what the batch did to the state is made final or taken back by the lane when the append is known.
import type { Answer } from '../kernel/answer.ts';
import { apply } from '../kernel/apply.ts';
import type { Command } from '../kernel/command.ts';
import { decide } from '../kernel/decide.ts';
import { decideGrace, type LeaderGap } from '../kernel/decide-grace.ts';
import type { DecideContext, Decision } from '../kernel/decision.ts';
import type { Entry } from '../kernel/entry.ts';
import { InvariantError, invariant } from '../kernel/invariant.ts';
import { CorruptJournalError } from '../store/port.ts';
import { type CachedTree, DUE_COUNT_MAX, type Missing } from './cached-tree.ts';
import { expireCommand } from './expire-command.ts';

/** A command in the lane's hands. */
export interface Submitted {
  readonly treeId: Command['treeId'];
  readonly command: Command;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** How often a lost race sent it back. */
  attempts: number;
  /** The journal was searched for its key: if it is not remembered now, it is fresh. */
  keyChecked: boolean;
  /** When it came, by the monotonic clock. */
  readonly sinceMs: number;
}

/** What came of one tree's part. */
export interface TreeBatch {
  readonly tree: CachedTree;
  readonly entries: readonly Entry[];
  readonly answered: readonly { readonly item: Submitted; readonly answer: Answer }[];
  /** Commands that failed an invariant; the others are not touched by it. */
  readonly failed: readonly { readonly item: Submitted; readonly error: unknown }[];
  /** Commands that have to wait for records. */
  readonly parked: readonly { readonly item: Submitted; readonly missing: Missing }[];
  /** Commands that have to wait until the journal was searched for their keys. */
  readonly unsearched: readonly Submitted[];
  /** Commands that have to wait since more lapses are due than one batch records. */
  readonly deferred: readonly Submitted[];
}

/** Thrown where a tree's own records make every decision impossible: it has to be quarantined. */
export class CorruptTreeError extends Error {
  override readonly name = 'CorruptTreeError';
}

/** Whether what came of a load says that the tree's records are at fault: they can't be read, or do not fit together. */
export function isCorrupt(error: unknown): error is Error {
  return error instanceof InvariantError || error instanceof CorruptJournalError;
}

/** What a batch is decided with. `gap`: the time without a leader before this process led, where it is known. */
export interface BatchContext extends DecideContext {
  readonly gap?: LeaderGap | undefined;
}

/** Decides `items` in order. Throws CorruptTreeError where the tree's records are at odds with what is decided on them. */
export function decideTree(tree: CachedTree, items: readonly Submitted[], context: BatchContext): TreeBatch {
  const entries: Entry[] = [];
  const answered: { item: Submitted; answer: Answer }[] = [];
  const failed: { item: Submitted; error: unknown }[] = [];
  const parked: { item: Submitted; missing: Missing }[] = [];
  const unsearched: Submitted[] = [];
  const missingDue = tree.missingForDue(dueThroughMs(tree, context));
  if (missingDue !== undefined) {
    const all = items.map((item) => ({ item, missing: missingDue }));
    return { tree, entries, answered, failed, parked: all, unsearched, deferred: [] };
  }
  if (graceDue(tree, context, entries) || expireDue(tree, context, entries)) {
    return { tree, entries, answered, failed, parked, unsearched, deferred: items };
  }
  for (const item of items) {
    const missing = tree.missingFor(item.command);
    if (missing !== undefined) {
      parked.push({ item, missing });
      continue;
    }
    const decision = attempt(() => decide(tree.state, item.command, context));
    if ('error' in decision) {
      failed.push({ item, error: decision.error });
      continue;
    }
    if (needsSearch(tree, item, decision.value)) {
      unsearched.push(item);
      continue;
    }
    // Decided on the tree's records and at odds with them: nothing that they say can be believed.
    const applied = attempt(() => applyAll(tree, decision.value.entries));
    if ('error' in applied) {
      throw new CorruptTreeError(`what tree ${tree.treeId} holds does not add up`, { cause: applied.error });
    }
    entries.push(...decision.value.entries);
    answered.push({ item, answer: decision.value.answer });
  }
  return { tree, entries, answered, failed, parked, unsearched, deferred: [] };
}

function attempt<T>(work: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}

function applyAll(tree: CachedTree, entries: readonly Entry[]): void {
  for (const entry of entries) apply(tree.state, entry);
}

function dueThroughMs(tree: CachedTree, { gap, nowMs, graceMs }: BatchContext): number {
  return gap === undefined || tree.graced ? nowMs : Math.max(nowMs, gap.toMs + graceMs);
}

// Before anything is taken for lapsed: leases that ran out while there was no leader get one grace. Returns whether there
// are more of them than one batch moves.
function graceDue(tree: CachedTree, context: BatchContext, entries: Entry[]): boolean {
  if (context.gap === undefined || tree.graced) return false;
  const { entries: graced, more } = decideGrace(tree.state, context.gap, context, DUE_COUNT_MAX);
  // Looked for again until an append has made it final.
  if (graced.length === 0) tree.graced = true;
  for (const entry of graced) apply(tree.state, entry);
  entries.push(...graced);
  return more;
}

// Every decision treats a lapsed hold as lapsed: what is due is recorded first, in the same commit. Returns whether more is
// due than one batch takes.
function expireDue(tree: CachedTree, context: DecideContext, entries: Entry[]): boolean {
  try {
    const command = expireCommand(tree.treeId);
    const { answer, entries: lapses } = decide(tree.state, command, context);
    for (const entry of lapses) apply(tree.state, entry);
    entries.push(...lapses);
    invariant(answer.kind === 'expired', 'an Expire is answered as one');
    return answer.more;
  } catch (error) {
    throw new CorruptTreeError(`lapses of tree ${tree.treeId} can't be recorded`, { cause: error });
  }
}

// An append with the key finds out by itself whether the key is new. An answer that appends no key has to ask first, or a
// repeat of a remembered request could be judged afresh. Where the resource does not exist no key can be remembered for it.
function needsSearch(tree: CachedTree, item: Submitted, decision: Decision): boolean {
  const { key } = item.command;
  if (key === undefined || item.keyChecked) return false;
  if (tree.state.remembered(key.digest) !== undefined) return false;
  if (decision.entries.some((entry) => entry.key !== undefined)) return false;
  const { answer } = decision;
  const absent =
    answer.kind === 'refusal' && (answer.reason === 'BUDGET_NOT_FOUND' || answer.reason === 'RESERVATION_NOT_FOUND');
  return !absent;
}
