// What is done in a batch for those who wait in its tree: they are offered what may have come back, after every decision, and those for
// whom nobody has come back are let go. A fault in it is nobody's command: Settle, Release and all else of the tree go on.
import { decide } from '../kernel/decide.ts';
import { decideQueue, workOf } from '../kernel/decide-queue.ts';
import type { DecideContext } from '../kernel/decision.ts';
import type { Entry } from '../kernel/entry.ts';
import type { ReservationId } from '../kernel/names.ts';
import type { CommandKey } from '../kernel/request.ts';
import type { Waiting } from '../kernel/wait-order.ts';
import { applyAll, CorruptTreeError, type DraftEntries, isFull } from './batch-draft.ts';
import type { CachedTree } from './cached-tree.ts';
import { leaveQueueCommand } from './leave-queue-command.ts';
import { QUEUE_AGAIN_MS, QueueFaultError } from './queue-doubts.ts';

/** A command that may be asking for its place. */
interface Asking {
  readonly command: { readonly key: CommandKey | undefined };
  /** Aborts once nobody waits for the answer. */
  readonly signal?: AbortSignal | undefined;
}

/** What those who wait are served with. */
export interface ServeContext extends DecideContext {
  /** Since when whoever waits could come back; undefined: since now. */
  readonly openSinceMs?: number | undefined;
  /** Commands of the tree that were let in and are in no batch. Default: none. */
  readonly pending?: (() => Iterable<Asking>) | undefined;
  /** Whether the place of one for whom nobody waits is kept nonetheless. Default: nobody's. */
  readonly isKept?: ((id: ReservationId) => boolean) | undefined;
  /** Told of grants whose callers may go before they have them. Default: nobody. */
  readonly untaken?: NotesUntaken | undefined;
}

/** As UntakenGrants has it, of one tree. */
interface NotesUntaken {
  add(id: ReservationId, signal?: AbortSignal): void;
  addRepeat(id: ReservationId, signal: AbortSignal | undefined): void;
}

/** Whether anybody waits, and may be served. */
export function mayServe(batch: DraftEntries, { nowMs }: ServeContext): boolean {
  noteUpkeep(batch, nowMs);
  const { state, queueRestUntilMs } = batch.tree;
  return state.queue !== undefined && nowMs >= queueRestUntilMs;
}

// The records are right, and whatever was decided stands. The queue rests as after any other fault in it.
function noteUpkeep({ tree, queueFaults }: DraftEntries, nowMs: number): void {
  const fault = tree.takeQueueFault();
  if (fault === undefined) return;
  queueFaults.push(fault);
  renew(tree, nowMs + QUEUE_AGAIN_MS);
}

/**
 * Those who wait come next where anything of what they wait for may have come back. What is left of it when the batch is full is done
 * in the next one.
 */
export function offer(batch: DraftEntries, context: ServeContext): void {
  while (!isFull(batch)) {
    noteUpkeep(batch, context.nowMs);
    const entries = nextOffer(batch, context);
    if (entries.length === 0) return;
    applyOffer(batch, entries);
    for (const entry of entries) if (entry.type === 'Granted') context.untaken?.add(entry.reservation.id);
  }
}

// It is nobody's command that fails then.
function applyOffer(batch: DraftEntries, decided: readonly Entry[]): void {
  try {
    applyAll(batch, decided);
  } catch (error) {
    if (error instanceof CorruptTreeError) throw error;
    throw new QueueFaultError(`what was decided of those who wait in ${batch.tree.treeId} can't be applied`, {
      cause: error,
    });
  }
}

// Settle and Release are no part of it, and go on whatever is wrong with it. Whoever comes meanwhile is behind nobody.
function nextOffer({ tree, heads, queueFaults }: DraftEntries, context: ServeContext): readonly Entry[] {
  try {
    return decideQueue(tree.state, context, heads);
  } catch (error) {
    queueFaults.push({ id: undefined, error });
    renew(tree, context.nowMs + QUEUE_AGAIN_MS);
    return [];
  }
}

function renew({ treeId, state }: CachedTree, restUntilMs: number): void {
  try {
    state.renewQueue(restUntilMs);
  } catch (error) {
    throw new QueueFaultError(`the queue of ${treeId} can't be made anew`, { cause: error });
  }
}

/** For how long those who waited before this process led, or before the store was gone, may come back to their places. */
const ATTACH_MS = 10_000;

/** When those are looked for again who had come back and were not decided yet: they may be sent away before they are. */
const SWEEP_AGAIN_MS = 1_000;

/**
 * Lets those go for whom nobody has come back in time, as many as one batch may and the others in the next ones. `items`: what the batch
 * is to decide.
 */
export function letGo(batch: DraftEntries, items: readonly Asking[], context: ServeContext): void {
  const { tree, heads } = batch;
  const { nowMs, queue, openSinceMs = nowMs, isKept } = context;
  tree.attachByMs ??= openSinceMs + ATTACH_MS;
  if (tree.isSwept || nowMs < tree.attachByMs) return;
  const isAwaited = ({ id }: Waiting): boolean => queue.isAttached(id) || isKept?.(id) === true;
  const late = [...(tree.state.queue?.waiting() ?? [])].filter((waiting) => !isAwaited(waiting));
  const back = new Set(late.length === 0 ? [] : [...items, ...(context.pending?.() ?? [])].flatMap(requestOf));
  let backCount = 0;
  for (const waiting of late) {
    const { id, queued } = waiting;
    if (back.has(requestName(queued.key))) {
      backCount += 1;
      continue;
    }
    if (tree.failedToLeave.has(id)) continue;
    if (isFull(batch)) return;
    heads.left -= workOf(waiting);
    const entries = leaving(batch, id, context);
    if (entries === undefined) tree.failedToLeave.add(id);
    else applyOffer(batch, entries);
  }
  const hasFailed = tree.failedToLeave.size > 0;
  tree.failedToLeave.clear();
  if (hasFailed) tree.attachByMs = nowMs + QUEUE_AGAIN_MS;
  else if (backCount === 0) tree.isSwept = true;
  else tree.attachByMs = nowMs + SWEEP_AGAIN_MS;
}

// Undefined for a fault: one that fails fails alone, and is let go later.
function leaving(
  { tree, queueFaults }: DraftEntries,
  id: ReservationId,
  context: ServeContext,
): readonly Entry[] | undefined {
  try {
    return decide(tree.state, leaveQueueCommand(tree.treeId, id), context).entries;
  } catch (error) {
    queueFaults.push({ id, error });
    return undefined;
  }
}

// What somebody asks for who is there.
function requestOf({ command: { key }, signal }: Asking): string[] {
  return key === undefined || signal?.aborted === true ? [] : [requestName(key)];
}

function requestName({ digest, fingerprint }: CommandKey): string {
  return `${digest} ${fingerprint}`;
}
