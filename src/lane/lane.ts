// The single writer. Takes commands in fair order, decides a batch on cached state, appends it as one transaction, and only
// then answers. While one append is in flight, arrivals gather into the next batch. Every way in which an append can end is
// handled here and nowhere else:
//   committed     the batch is final, everybody is answered
//   fenced        another process is the writer: nothing was written, everybody is told
//   conflict      a head had moved or the database asked for a retry: forget those trees, decide again, a bounded number of times
//   key_exists    a key is in the journal already: find out what it answers, decide again
//   unreachable   the outcome is unknown: append the same at the same heads until it is known, or give up and say so
//   anything else the batch is taken apart and each command decided alone, so that only the one at fault fails
import type { Answer } from '../kernel/answer.ts';
import type { Command } from '../kernel/command.ts';
import type { TreeId } from '../kernel/names.ts';
import type { Refusal } from '../kernel/refusal.ts';
import { type AppendResult, StoreUnavailableError, type TreeAppend } from '../store/port.ts';
import { Appender } from './appender.ts';
import { CorruptTreeError, decideTree, isCorrupt, type Submitted, type TreeBatch } from './batch.ts';
import { mergeMissing, needsOf } from './cached-tree.ts';
import { FairQueue } from './fair-queue.ts';
import { KeySearch } from './key-search.ts';
import type { LaneDeps } from './lane-deps.ts';
import { type BatchOutcome, type LaneObserver, NO_LANE_OBSERVER } from './lane-observer.ts';
import { Quarantines } from './quarantines.ts';
import * as refusals from './refusals.ts';
import { TreeCache } from './tree-cache.ts';

/** Commands in one transaction. Past this a larger batch saves nothing more and only makes its first command wait. */
const BATCH_COUNT_MAX = 1_024;

/** Commands that one tree gives to a batch while others wait: four trees can flood before a fifth has to wait a batch. */
const TURN_COUNT_MAX = 256;

/** Commands that may wait. At 20,000 a second this is a bit over a second and a half of work; more would only time out. */
const QUEUE_COUNT_MAX = 32_768;

/** How often a lost race is run again. Each loss means that somebody else got something done; five in a row are no luck. */
const ATTEMPTS_MAX = 5;

/** See the head of this file. */
export class Lane {
  readonly #deps: LaneDeps;
  readonly #queue = new FairQueue<Submitted>(QUEUE_COUNT_MAX);
  readonly #alone: Submitted[] = [];
  readonly #quarantines: Quarantines;
  readonly cache: TreeCache;
  readonly #searches: KeySearch;
  readonly #appender: Appender;
  readonly #observer: LaneObserver;
  #state: 'idle' | 'running' = 'idle';
  #stopping = false;
  readonly #idle: (() => void)[] = [];

  constructor(deps: LaneDeps) {
    this.#deps = deps;
    this.#observer = deps.observer ?? NO_LANE_OBSERVER;
    const wake = () => this.#wake();
    this.cache = new TreeCache(deps.store, wake);
    this.#searches = new KeySearch(deps.store, wake);
    this.#quarantines = new Quarantines(deps);
    this.#appender = new Appender(deps);
  }

  /** Commands that were let in and are not answered yet, those of the batch in flight left out. */
  get depth(): number {
    return this.#queue.count + this.#alone.length + this.cache.parkedCount + this.#searches.parkedCount;
  }

  /** Whether the last try to reach the store failed. */
  get storeDown(): boolean {
    return this.#appender.storeDown;
  }

  /** Trees out of service. */
  get quarantinedTrees(): readonly TreeId[] {
    return this.#quarantines.treeIds();
  }

  /** See Coordinator.submit. */
  submit(command: Command): Promise<Answer> {
    const refusal = this.#refusalAtTheDoor(command);
    if (refusal !== undefined) {
      this.#observer.refused(command.kind, refusal.reason);
      return Promise.resolve(refusal);
    }
    this.#observer.submitted?.(command);
    return new Promise((resolve, reject) => {
      const item: Submitted = {
        treeId: command.treeId,
        command,
        resolve,
        reject,
        attempts: 0,
        keyChecked: false,
        sinceMs: this.#deps.monotonicMs(),
      };
      const shed = this.#queue.push(item);
      if (shed !== undefined) this.#refuse([shed], refusals.overloaded('too many commands wait'));
      this.#wake();
    });
  }

  /** Refuses everything new and resolves when what was let in is answered. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const running = this.#state === 'running' || this.depth > 0;
    if (running) await new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#appender.stop();
  }

  /** Forgets all cached state: this process has just stopped or started to be the writer. What waits is judged afresh. */
  reset(): void {
    this.cache.reset();
    this.#quarantines.clear();
  }

  #refusalAtTheDoor(command: Command): Refusal | undefined {
    if (this.#stopping) return refusals.stopping();
    if (this.#deps.epoch() === undefined) return refusals.notLeader(this.#deps.leaderAddress());
    if (this.#appender.storeDown) return refusals.storeUnavailable();
    const why = this.#quarantines.why(command.treeId);
    if (why !== undefined) return refusals.treeQuarantined(command.treeId, why);
    const overload = this.#deps.overload();
    // Ending work is never refused for load: it is what makes room.
    if (overload !== undefined && command.kind === 'Reserve') return refusals.overloaded(overload);
    return undefined;
  }

  #wake(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'running';
    queueMicrotask(() => {
      this.#run().catch((error: unknown) => {
        this.#deps.log('error', 'the lane failed', { error });
        for (const item of this.#takeAll()) item.reject(error);
        this.#rest();
      });
    });
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#takeArrivals();
      const items = this.#nextBatch();
      if (items.length === 0) break;
      try {
        const work = (): Promise<void> => this.#decideAndAppend(items);
        await (this.#observer.runBatch?.(items, work) ?? work());
      } catch (error) {
        for (const item of items) item.reject(error);
        throw error;
      }
    }
    this.#rest();
  }

  #rest(): void {
    this.#state = 'idle';
    if (this.depth === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #nextBatch(): Submitted[] {
    const single = this.#alone.shift();
    return single === undefined ? this.#queue.take(BATCH_COUNT_MAX, TURN_COUNT_MAX) : [single];
  }

  async #decideAndAppend(items: readonly Submitted[]): Promise<void> {
    const takenMs = this.#deps.monotonicMs();
    const batches = this.#decide(items);
    const live = batches.filter((batch) => batch.answered.length > 0 || batch.entries.length > 0);
    if (live.length === 0) return;
    const appends = live
      .filter((batch) => batch.entries.length > 0)
      .map((batch): TreeAppend => ({ treeId: batch.tree.treeId, expected: batch.tree.head, entries: batch.entries }));
    const epoch = this.#deps.epoch();
    if (epoch === undefined) {
      this.#takeBack(live);
      this.#answerAll(live, refusals.notLeader(this.#deps.leaderAddress()));
      return;
    }
    const appendMs = this.#deps.monotonicMs();
    const ended = (outcome: BatchOutcome): void =>
      this.#observer.batchEnded({ outcome, trees: live, takenMs, appendMs, endedMs: this.#deps.monotonicMs() });
    try {
      const result = await this.#appender.append(epoch, appends);
      ended(result.outcome);
      this.#conclude(live, result);
    } catch (error) {
      ended(error instanceof StoreUnavailableError ? 'unavailable' : 'failed');
      this.#takeBack(live);
      for (const { tree } of live) this.cache.drop(tree.treeId);
      if (error instanceof StoreUnavailableError) this.#storeIsDown(live, error);
      else this.#takeApart(live, error);
    }
  }

  #decide(items: readonly Submitted[]): TreeBatch[] {
    const batches: TreeBatch[] = [];
    const nowMs = this.#deps.clock.nowMs();
    for (const [treeId, own] of groupByTree(items)) {
      const tree = this.cache.get(treeId);
      if (tree === undefined) {
        this.cache.park(treeId, own, mergeMissing(own.map(({ command }) => needsOf(command))));
        continue;
      }
      const context = {
        nowMs: Math.max(nowMs, tree.state.position.atMs),
        graceMs: this.#deps.graceMs,
        commit: this.#deps.commit,
        gap: this.#deps.gap?.(),
      };
      try {
        const batch = decideTree(tree, own, context);
        this.#setAside(batch);
        batches.push(batch);
      } catch (error) {
        if (error instanceof CorruptTreeError) this.#refuseCorrupt(treeId, own, error);
        else this.#failTree(treeId, own, error);
      }
    }
    return batches;
  }

  // Commands of a batch that can't be answered with it.
  #setAside(batch: TreeBatch): void {
    const { treeId } = batch.tree;
    for (const { item, error } of batch.failed) {
      this.#deps.log('error', 'a command failed', { treeId, command: item.command.kind, error });
      item.reject(error);
    }
    if (batch.parked.length > 0) {
      const missing = mergeMissing(batch.parked.map((parked) => parked.missing));
      this.cache.park(
        treeId,
        batch.parked.map(({ item }) => item),
        missing,
      );
    }
    if (batch.unsearched.length > 0) this.#searches.search(treeId, batch.unsearched);
  }

  #conclude(live: readonly TreeBatch[], result: AppendResult): void {
    switch (result.outcome) {
      case 'committed':
        this.#committed(live, result.heads);
        return;
      case 'fenced':
        this.#takeBack(live);
        this.reset();
        this.#deps.onFenced();
        this.#answerAll(live, refusals.notLeader(this.#deps.leaderAddress()));
        return;
      case 'conflict':
        this.#takeBack(live);
        for (const { tree, entries } of live) if (entries.length > 0) this.cache.drop(tree.treeId);
        this.#tryAgain(live);
        return;
      case 'key_exists':
        this.#takeBack(live);
        for (const { tree, answered, deferred } of live) {
          const unchecked = answered.map(({ item }) => item);
          if (unchecked.length > 0) this.#searches.search(tree.treeId, unchecked);
          this.#queue.putBack(tree.treeId, deferred);
        }
    }
  }

  #committed(live: readonly TreeBatch[], heads: readonly { seq: number; hash: string; atMs: number }[]): void {
    let at = 0;
    for (const { tree, entries } of live) {
      if (entries.length === 0) continue;
      const head = heads[at++];
      if (head === undefined) throw new Error('a committed append names every head');
      tree.committed(head, entries);
      tree.state.evictRemembered(this.cache.rememberedCountMax);
      this.#deps.onCommitted(tree.treeId, entries.length);
    }
    for (const { tree, answered, deferred } of live) {
      for (const { item, answer } of answered) item.resolve(answer);
      this.#queue.putBack(tree.treeId, deferred);
    }
    this.cache.trim();
  }

  // Refuses without a decision.
  #refuse(items: readonly Submitted[], refusal: Refusal): void {
    for (const { command, resolve } of items) {
      this.#observer.refused(command.kind, refusal.reason);
      resolve(refusal);
    }
  }

  #takeBack(live: readonly TreeBatch[]): void {
    for (const { tree } of live) tree.state.rollback();
  }

  #answerAll(live: readonly TreeBatch[], refusal: Refusal): void {
    for (const batch of live) this.#refuse(itemsOf(batch), refusal);
  }

  #tryAgain(live: readonly TreeBatch[]): void {
    for (const batch of live) {
      const again: Submitted[] = [];
      for (const item of itemsOf(batch)) {
        item.attempts += 1;
        if (item.attempts < ATTEMPTS_MAX) again.push(item);
        else this.#refuse([item], refusals.contention());
      }
      this.#queue.putBack(batch.tree.treeId, again);
    }
  }

  #storeIsDown(live: readonly TreeBatch[], error: StoreUnavailableError): void {
    this.#deps.log('error', 'the store does not answer', { error });
    this.#answerAll(live, refusals.storeUnavailable());
    this.#refuse(this.#takeAll(), refusals.storeUnavailable());
  }

  // A fault that is neither a race nor an outage. One command alone is refused with it; several are decided one by one.
  #takeApart(live: readonly TreeBatch[], error: unknown): void {
    const items = live.flatMap(itemsOf);
    this.#deps.log('error', 'a batch failed', { commands: items.length, error });
    if (live.length === 1 && items.length === 1) items[0]?.reject(error);
    else this.#alone.push(...items);
  }

  // A fault that is not in the tree's records: its commands fail with it, and the next ones start from the store.
  #failTree(treeId: TreeId, items: readonly Submitted[], error: unknown): void {
    this.#deps.log('error', 'commands on a tree failed', { treeId, error });
    this.cache.drop(treeId);
    for (const item of items) item.reject(error);
  }

  #refuseCorrupt(treeId: TreeId, items: readonly Submitted[], error: Error): void {
    this.quarantine(treeId, error.message, error);
    this.#refuse(items, refusals.treeQuarantined(treeId, error.message));
  }

  /** Puts a tree out of service, and writes that down: its records do not agree. */
  quarantine(treeId: TreeId, why: string, error: unknown): void {
    this.cache.drop(treeId);
    this.#quarantines.add(treeId, why, error);
  }

  #takeArrivals(): void {
    const { ready, failed, quarantined } = this.cache.takeArrivals();
    for (const { treeId, items } of ready) this.#queue.putBack(treeId, items);
    for (const { treeId, items, error } of failed) this.#loadFailed(treeId, items, error);
    for (const { treeId, items, why } of quarantined) {
      this.#quarantines.note(treeId, why);
      this.#refuse(items, refusals.treeQuarantined(treeId, why));
    }
    for (const { treeId, items, outcome } of this.#searches.takeArrivals()) {
      if ('error' in outcome) {
        this.#loadFailed(treeId, items, outcome.error);
        continue;
      }
      const tree = this.cache.get(treeId);
      if (tree !== undefined) {
        for (const entry of outcome.found) if (entry.key !== undefined) tree.state.remember(entry.key.digest, entry);
        tree.state.commit();
        for (const item of items) item.keyChecked = true;
      }
      this.#queue.putBack(treeId, items);
    }
  }

  #loadFailed(treeId: TreeId, items: readonly Submitted[], error: unknown): void {
    if (error instanceof StoreUnavailableError) {
      this.#appender.readFailed();
      this.#refuse(items, refusals.storeUnavailable());
    } else if (isCorrupt(error)) this.#refuseCorrupt(treeId, items, error);
    else this.#failTree(treeId, items, error);
  }

  #takeAll(): Submitted[] {
    return [...this.#queue.drain(), ...this.#alone.splice(0), ...this.cache.drain(), ...this.#searches.drain()];
  }
}

// Commands that wait for this batch: those decided in it, and those for which there were too many lapses to record first.
function itemsOf({ answered, deferred }: TreeBatch): Submitted[] {
  return [...answered.map(({ item }) => item), ...deferred];
}

function groupByTree(items: readonly Submitted[]): Map<TreeId, Submitted[]> {
  const groups = new Map<TreeId, Submitted[]>();
  for (const item of items) {
    const group = groups.get(item.treeId);
    if (group === undefined) groups.set(item.treeId, [item]);
    else group.push(item);
  }
  return groups;
}
