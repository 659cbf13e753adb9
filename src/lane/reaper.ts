// Makes quiet trees move: looks for live reservations whose lease and grace have run out and has the lane record the
// lapses, and for budgets that close by age and are idle, and has the lane close them. Writes nothing itself, and no answer
// about money depends on it: every decision records what is due in its own tree first.
import type { Answer } from '../kernel/answer.ts';
import type { CloseIdle, Command } from '../kernel/command.ts';
import type { BudgetPath, TreeId } from '../kernel/names.ts';
import type { Refusal } from '../kernel/refusal.ts';
import type { DueTree, IdleBudget, Store } from '../store/port.ts';
import type { Clock } from './clock.ts';
import { expireCommand } from './expire-command.ts';
import type { Log } from './log.ts';
import { Loop, type Sleep } from './loop.ts';

/** Between two rounds: how late a lapse in a quiet tree may be written down. */
const ROUND_MS = 1_000;

/** Trees in one page of the search, which are submitted at once and so share batches: a fifth of a batch, so that callers'
 * commands have the rest. */
const PAGE_COUNT_MAX = 200;

/** A tree that can't be reaped is left alone for this long, so that it does not cost every round. */
const POISONED_MS = 60_000;

/** Everything the reaper works with. */
export interface ReaperDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly submit: (command: Command) => Promise<Answer>;
  readonly isLeader: () => boolean;
  readonly sleep: Sleep;
}

/** What a round came to. */
export interface ReaperRound {
  /** Trees of which every lapse that was due is recorded. */
  readonly treeCount: number;
  /** Why lapses of some tree are not recorded, as the lane said first; trees out of service are no reason. */
  readonly refusal: Refusal | undefined;
  /** A fault because of which lapses of some tree are not recorded. */
  readonly fault: { readonly error: unknown } | undefined;
}

type Outcome =
  | { readonly kind: 'done' | 'open' | 'out_of_service' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'fault'; readonly error: unknown };

interface How {
  readonly signal: AbortSignal | undefined;
  readonly again: boolean;
}

interface Guarded {
  /** What is logged where it fails. */
  readonly what: string;
  readonly again: boolean;
  readonly work: () => Promise<Outcome>;
}

interface Poisoned {
  readonly untilMs: number;
  readonly outcome: Outcome;
}

/** See the head of this file. */
export class Reaper {
  readonly #deps: ReaperDeps;
  readonly #loop: Loop;
  readonly #poisoned = new Map<TreeId, Poisoned>();

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      round: async (signal) => {
        if (!deps.isLeader()) return;
        await this.round(signal);
        await this.closeIdle(signal);
      },
      pauseMs: () => ROUND_MS,
      failure: 'a round of the reaper failed',
      log: deps.log,
      sleep: deps.sleep,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Resolves when what the round under way has submitted is answered; the rest of it is left out. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /**
   * One round over all trees; over those it comes to before the signal is aborted. Leaves out trees that failed a short
   * while ago. Throws StoreUnavailableError.
   */
  round(signal?: AbortSignal): Promise<ReaperRound> {
    return this.#round({ signal, again: false });
  }

  /** A round for somebody who waits for it: also tries trees again that have failed. Throws StoreUnavailableError. */
  catchUp(): Promise<ReaperRound> {
    return this.#round({ signal: undefined, again: true });
  }

  /** Closes budgets that have been idle for as long as they say. Leaves out trees as `round` does. Throws StoreUnavailableError. */
  async closeIdle(signal?: AbortSignal): Promise<number> {
    const nowMs = this.#deps.clock.nowMs();
    let closedCount = 0;
    let after: IdleBudget | undefined;
    for (;;) {
      const page = await this.#deps.store.idleBudgets(nowMs, after, PAGE_COUNT_MAX);
      for (const outcome of await Promise.all(page.map((idle) => this.#close(idle, nowMs)))) {
        if (outcome.kind === 'done') closedCount += 1;
      }
      after = page.at(-1);
      if (page.length < PAGE_COUNT_MAX || signal?.aborted === true) break;
    }
    if (closedCount > 0) this.#deps.log('info', 'idle budgets were closed', { closedCount });
    return closedCount;
  }

  async #round(how: How): Promise<ReaperRound> {
    const nowMs = this.#deps.clock.nowMs();
    let treeCount = 0;
    let refusal: Refusal | undefined;
    let fault: ReaperRound['fault'];
    let after: DueTree | undefined;
    for (;;) {
      const page = await this.#deps.store.dueTrees(nowMs, after, PAGE_COUNT_MAX);
      for (const outcome of await Promise.all(page.map(({ treeId }) => this.#reap(treeId, nowMs, how)))) {
        if (outcome.kind === 'done') treeCount += 1;
        else if (outcome.kind === 'refused') refusal ??= outcome.refusal;
        else if (outcome.kind === 'fault') fault ??= { error: outcome.error };
      }
      after = page.at(-1);
      if (page.length < PAGE_COUNT_MAX || how.signal?.aborted === true) break;
    }
    if (treeCount > 0) this.#deps.log('info', 'lapsed holds were reclaimed', { treeCount });
    return { treeCount, refusal, fault };
  }

  #reap(treeId: TreeId, nowMs: number, { signal, again }: How): Promise<Outcome> {
    const what = 'the lapses of a tree could not be recorded';
    return this.#guarded(treeId, nowMs, { what, again, work: () => this.#expire(treeId, signal) });
  }

  #close({ treeId, path }: IdleBudget, nowMs: number): Promise<Outcome> {
    const what = 'an idle budget could not be closed';
    return this.#guarded(treeId, nowMs, { what, again: false, work: () => this.#submitClose(treeId, path) });
  }

  // A tree that fails must not hide the others: it is noted and passed over for a while.
  async #guarded(treeId: TreeId, nowMs: number, { what, again, work }: Guarded): Promise<Outcome> {
    const poisoned = this.#poisoned.get(treeId);
    const passOver = poisoned !== undefined && poisoned.untilMs > nowMs;
    if (passOver && !(again && poisoned.outcome.kind === 'fault')) return poisoned.outcome;
    this.#poisoned.delete(treeId);
    const outcome = await work();
    if (outcome.kind === 'fault' || outcome.kind === 'out_of_service') {
      this.#poisoned.set(treeId, { untilMs: nowMs + POISONED_MS, outcome });
    }
    if (outcome.kind === 'fault') this.#deps.log('error', what, { treeId, error: outcome.error });
    return outcome;
  }

  // What is not idle any more when it is decided stays open: that is no fault.
  async #submitClose(treeId: TreeId, path: BudgetPath): Promise<Outcome> {
    try {
      const answer = await this.#deps.submit(closeIdleCommand(treeId, path));
      if (answer.kind === 'refusal') return refusedOutcome(answer);
      return { kind: answer.kind === 'budget' && answer.def.closed ? 'done' : 'open' };
    } catch (error) {
      return { kind: 'fault', error };
    }
  }

  async #expire(treeId: TreeId, signal: AbortSignal | undefined): Promise<Outcome> {
    try {
      for (;;) {
        const answer = await this.#deps.submit(expireCommand(treeId));
        if (answer.kind === 'refusal') return refusedOutcome(answer);
        if (answer.kind !== 'expired') throw new Error('an Expire is answered as one');
        if (!answer.more || signal?.aborted === true) return { kind: 'done' };
      }
    } catch (error) {
      return { kind: 'fault', error };
    }
  }
}

function refusedOutcome(refusal: Refusal): Outcome {
  return refusal.reason === 'TREE_QUARANTINED' ? { kind: 'out_of_service' } : { kind: 'refused', refusal };
}

function closeIdleCommand(treeId: TreeId, budget: BudgetPath): CloseIdle {
  return { kind: 'CloseIdle', treeId, budget, actor: 'budgetd', key: undefined, personal: undefined };
}
