// Putting a Reserve into the queue: which refusals are worth waiting for, how many may wait, and what is written down of one that
// does.
import { accountsAt } from './charge.ts';
import type { Reserve } from './command.ts';
import { type DecideContext, type Decision, entryBase, revisionsOf } from './decision.ts';
import type { Enqueued } from './entry.ts';
import { invariant } from './invariant.ts';
import type { BudgetPath } from './names.ts';
import type { Reason, Refusal } from './refusal.ts';
import { HELD_RETRY_MS } from './refuse-money.ts';
import type { RequestedCharge } from './requested-charge.ts';
import type { Reservation } from './reservation.ts';
import type { TreeState } from './tree-state.ts';
import { pathsOf } from './wait-line.ts';
import { waitingWeight } from './weight.ts';

// Room may come back: with holds, with time, or with a top-up.
const WORTH_WAITING: ReadonlySet<Reason> = new Set<Reason>([
  'BUDGET_EXHAUSTED',
  'CAPACITY_HELD',
  'RATE_LIMITED',
  'CONCURRENCY_LIMIT',
]);

/** Whether a refusal is one that a request can wait out. */
export function isWorthWaiting({ reason }: Refusal): boolean {
  return WORTH_WAITING.has(reason);
}

/** Whether a Reserve that would be refused waits instead. A dry run never does. */
export function waits(command: Reserve, refusal: Refusal): boolean {
  return command.waitMs > 0 && !command.dryRun && isWorthWaiting(refusal);
}

/**
 * QUEUE_FULL by the budget nearest the root where as many wait, on it and below it, as may, large ones counted as several; undefined
 * where there is room. `command`: with its price, as it would be kept.
 */
export function queueFullRefusal(
  state: TreeState,
  { budgets }: RequestedCharge,
  command: Reserve,
  { queue: { countMax } }: DecideContext,
): Refusal | undefined {
  const paths = pathsOf(command);
  const { actingFor = '', labels = [] } = command.personal ?? {};
  const weight = waitingWeight({ ...command, actingFor, labels, levelCount: paths.length });
  const isFull = (path: BudgetPath): boolean => {
    const there = state.queue?.weightAt(path) ?? 0;
    // Whatever it weighs, one alone may wait.
    return there + weight > countMax && (there > 0 || countMax === 0);
  };
  const full = paths.filter(isFull).sort((a, b) => a.length - b.length)[0];
  if (full === undefined) return undefined;
  const { path } = budgets.find(({ def }) => def.path === full)?.def ?? { path: full };
  return {
    kind: 'refusal',
    reason: 'QUEUE_FULL',
    message: `as many requests wait on ${path} as may, large ones counted as several`,
    budget: path,
    bound: { name: 'queue_length', max: countMax, observed: state.queue?.weightAt(full) ?? 0 },
    retryAfterMs: HELD_RETRY_MS,
  };
}

/** Puts it into the queue. `refusal`: why it is not granted now. */
export function enqueued(
  state: TreeState,
  command: Reserve,
  context: DecideContext,
  charge: RequestedCharge,
  refusal: Refusal,
): Decision {
  const { key, personal } = command;
  invariant(key !== undefined, 'a Reserve that waits has a key');
  const { nowMs } = context;
  const base = entryBase(state, command, context);
  const budgets = charge.budgets.filter(({ def }) => state.budget(def.no) !== undefined);
  const last = budgets.at(-1);
  invariant(last !== undefined, 'the root of a tree exists');
  const existing = state.budgetAt(command.budget) ?? last;
  const untilMs = nowMs + command.waitMs;
  const reservation: Reservation = {
    id: command.id,
    budgetNo: existing.def.no,
    budget: command.budget,
    also: command.also,
    unit: existing.def.unit,
    // Every budget that there is: it is loaded with them.
    accounts: accountsAt(budgets, nowMs, context.calendar).accounts.filter(({ windowNo }) => windowNo === 0),
    createMs: nowMs,
    priority: command.priority,
    alternative: '',
    shadow: undefined,
    price: command.price,
    priced: undefined,
    queued: {
      seq: base.seq,
      untilMs,
      minMicros: command.minMicros,
      ttlMs: command.ttlMs,
      tokens: command.tokens,
      toolCalls: command.toolCalls,
      alternatives: command.alternatives,
      call: command.call,
      key,
      actor: command.actor,
      salt: personal?.salt,
      commitment: base.personal?.commitment,
      reason: refusal.reason,
      blockedBy: refusal.budget ?? '',
      limit: refusal.limit ?? '',
    },
    holder: command.holder,
    actingFor: personal?.actingFor ?? '',
    labels: personal?.labels ?? [],
    figures: {
      state: 'QUEUED',
      requestedMicros: command.maxMicros,
      grantedMicros: 0n,
      heldMicros: 0n,
      settledMicros: 0n,
      releasedMicros: 0n,
      overrunMicros: 0n,
      estimatedMicros: 0n,
      lapsedHeldMicros: 0n,
      expireMs: untilMs,
      reclaimMs: untilMs,
      ttlMs: command.ttlMs ?? 0,
      renewalCount: 0,
      endMs: undefined,
      late: false,
      estimated: false,
      started: false,
      outcome: undefined,
      releaseReason: '',
    },
  };
  // Its key is not the entry's: a repeat asks how this one stands, and what becomes of it is what the key is remembered by.
  const entry: Enqueued = {
    ...base,
    key: undefined,
    type: 'Enqueued',
    reservation,
    revisions: revisionsOf(budgets),
  };
  return { answer: { kind: 'queued', treeId: state.treeId, id: command.id }, entries: [entry] };
}
