// Makes quiet trees move: looks for live reservations whose lease and grace have run out and has the lane record the
// lapses. Writes nothing itself, and nothing depends on it: every decision records what is due in its own tree first.
import type { Answer } from '../kernel/answer.ts';
import type { Command } from '../kernel/command.ts';
import type { TreeId } from '../kernel/names.ts';
import { type DueTree, type Store, StoreUnavailableError } from '../store/port.ts';
import type { Clock } from './clock.ts';
import { expireCommand } from './expire-command.ts';
import type { Log } from './log.ts';

/** Between two rounds: how late a lapse in a quiet tree may be written down. */
const ROUND_MS = 1_000;

/** Trees in one page of the search. */
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
  readonly sleep: (ms: number) => Promise<void>;
}

/** See the head of this file. */
export class Reaper {
  readonly #deps: ReaperDeps;
  readonly #poisoned = new Map<TreeId, number>();
  #running = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#loop = this.#run();
  }

  /** Resolves when the round under way has ended. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
  }

  /** One round over all trees. Returns how many trees had lapses that were due. */
  async round(): Promise<number> {
    const nowMs = this.#deps.clock.nowMs();
    let treeCount = 0;
    let after: DueTree | undefined;
    for (;;) {
      const page = await this.#deps.store.dueTrees(nowMs, after, PAGE_COUNT_MAX);
      for (const { treeId } of page) if (await this.#reap(treeId, nowMs)) treeCount += 1;
      after = page.at(-1);
      if (page.length < PAGE_COUNT_MAX) break;
    }
    if (treeCount > 0) this.#deps.log('info', 'lapsed holds were reclaimed', { treeCount });
    return treeCount;
  }

  async #run(): Promise<void> {
    while (this.#running) {
      await this.#deps.sleep(ROUND_MS);
      if (!this.#running || !this.#deps.isLeader()) continue;
      try {
        await this.round();
      } catch (error) {
        const level = error instanceof StoreUnavailableError ? 'warn' : 'error';
        this.#deps.log(level, 'a round of the reaper failed', { error });
      }
    }
  }

  // A tree that fails must not hide the others: it is noted and passed over for a while.
  async #reap(treeId: TreeId, nowMs: number): Promise<boolean> {
    if ((this.#poisoned.get(treeId) ?? 0) > nowMs) return false;
    this.#poisoned.delete(treeId);
    try {
      for (;;) {
        const answer = await this.#deps.submit(expireCommand(treeId));
        if (answer.kind === 'refusal') {
          if (answer.reason === 'TREE_QUARANTINED') this.#poisoned.set(treeId, nowMs + POISONED_MS);
          return false;
        }
        if (answer.kind !== 'expired') throw new Error('an Expire is answered as one');
        if (!answer.more) return true;
      }
    } catch (error) {
      this.#poisoned.set(treeId, nowMs + POISONED_MS);
      this.#deps.log('error', 'the lapses of a tree could not be recorded', { treeId, error });
      return false;
    }
  }
}
