// Verifies in the background of a running service, a little at a time, and raises the alarm at the first entry or sum that
// does not agree: the tree is put out of service, the others go on.
import { setTimeout as sleepMs } from 'node:timers/promises';
import { InvariantError } from '../kernel/invariant.ts';
import type { TreeId } from '../kernel/names.ts';
import type { Log } from '../lane/log.ts';
import type { Audit } from '../store/audit.ts';
import { CorruptJournalError, StoreUnavailableError } from '../store/port.ts';
import { JournalWatch, type WatchStep } from './journal-watch.ts';

/** What the entries of one step weigh: about a millisecond of this process's time, so that no caller notices. */
const STEP_WEIGHT = 250;

/** Trees that are followed from where they were left; others are begun anew. Each keeps its budgets' sums in memory. */
const WATCH_COUNT_MAX = 1_000;

/** Pause after a round over all trees that found nothing left to do. */
const IDLE_MS = 1_000;

/** Everything the verifier works with. */
export interface BackgroundVerifyDeps {
  /** Runs its work on one snapshot. */
  readonly withSnapshot: <T>(work: (audit: Audit) => Promise<T>) => Promise<T>;
  /** Whether to go on now; a round that may not is passed over. */
  readonly mayVerify: () => boolean;
  /** Entries a second at the most, so that a busy service keeps its speed. */
  readonly entriesPerSecond: number;
  /** Called with a tree that does not agree. */
  readonly onCorrupt: (treeId: TreeId, why: string, error: unknown) => void;
  readonly log: Log;
}

/** How far it is, for metrics. */
export interface VerifyStatus {
  /** Entries checked since the start. */
  readonly entries: number;
  /** Entries of the journal that were not checked when it last looked. */
  readonly behind: number;
  /** Trees found not to agree since the start. */
  readonly corruptTrees: number;
}

/** See the head of this file. */
export class BackgroundVerify {
  readonly #deps: BackgroundVerifyDeps;
  readonly #watches = new Map<TreeId, JournalWatch>();
  readonly #corrupt = new Set<TreeId>();
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #entries = 0;
  #behind = 0;

  constructor(deps: BackgroundVerifyDeps) {
    this.#deps = deps;
  }

  get status(): VerifyStatus {
    return { entries: this.#entries, behind: this.#behind, corruptTrees: this.#corrupt.size };
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Resolves when the step under way has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  /** One round: a step of each tree. Returns how many entries were checked. */
  async round(): Promise<number> {
    let entries = 0;
    let behind = 0;
    for (const treeId of await this.#deps.withSnapshot(treeIdsOf)) {
      if (this.#stopping.signal.aborted) break;
      if (this.#corrupt.has(treeId)) continue;
      const step = await this.#step(treeId);
      entries += step.entries;
      behind += step.behind;
      await this.#pause((step.weight / this.#deps.entriesPerSecond) * 1_000);
    }
    this.#behind = behind;
    return entries;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      let entries = 0;
      try {
        if (this.#deps.mayVerify()) entries = await this.round();
      } catch (error) {
        const level = error instanceof StoreUnavailableError ? 'warn' : 'error';
        this.#deps.log(level, 'verifying in the background failed', { error });
      }
      if (entries === 0) await this.#pause(IDLE_MS);
    }
  }

  async #step(treeId: TreeId): Promise<Omit<WatchStep, 'differences'>> {
    const watch = this.#watches.get(treeId) ?? new JournalWatch(treeId, () => performance.now());
    this.#keep(treeId, watch);
    try {
      const step = await this.#deps.withSnapshot((audit) => watch.step(audit, STEP_WEIGHT));
      this.#entries += step.entries;
      if (step.differences.length > 0) this.#alarm(treeId, step.differences.join('; '), undefined);
      return step;
    } catch (error) {
      if (!(error instanceof CorruptJournalError) && !(error instanceof InvariantError)) throw error;
      this.#alarm(treeId, error.message, error);
      return { entries: 0, weight: 0, behind: 0 };
    }
  }

  // The tree looked at last goes to the back; the one that waited longest makes room.
  #keep(treeId: TreeId, watch: JournalWatch): void {
    this.#watches.delete(treeId);
    this.#watches.set(treeId, watch);
    if (this.#watches.size <= WATCH_COUNT_MAX) return;
    const [oldest] = this.#watches.keys();
    if (oldest !== undefined) this.#watches.delete(oldest);
  }

  #alarm(treeId: TreeId, why: string, error: unknown): void {
    this.#corrupt.add(treeId);
    this.#watches.delete(treeId);
    this.#deps.onCorrupt(treeId, why, error);
  }

  async #pause(ms: number): Promise<void> {
    try {
      await sleepMs(ms, undefined, { ref: false, signal: this.#stopping.signal });
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error;
    }
  }
}

async function treeIdsOf(audit: Audit): Promise<readonly TreeId[]> {
  const treeIds: TreeId[] = [];
  for await (const treeId of audit.treeIds()) treeIds.push(treeId);
  return treeIds;
}
