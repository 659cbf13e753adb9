// The single writer. Takes commands in fair order, decides a batch on cached state, appends it as one transaction, and only
// then answers. While one append is in flight, arrivals gather into the next batch; a full one is decided ahead (pipeline.ts).
// How much may wait is bounded here, wherever it waits: in the queue, for records, or for a search. What the end of an append
// means is in outcomes.ts, what loads and searches bring in taker.ts.
import type { Answer } from '../kernel/answer.ts';
import type { Command } from '../kernel/command.ts';
import type { TreeId } from '../kernel/names.ts';
import type { Refusal } from '../kernel/refusal.ts';
import { Appender } from './appender.ts';
import { decideTree, type Submitted, type TreeBatch } from './batch.ts';
import { batchContext } from './batch-context.ts';
import { CorruptTreeError } from './batch-draft.ts';
import { FairQueue } from './fair-queue.ts';
import { groupByTree } from './group-by-tree.ts';
import { isSheddable } from './is-sheddable.ts';
import { KeySearch } from './key-search.ts';
import type { LaneDeps } from './lane-deps.ts';
import { type LaneObserver, NO_LANE_OBSERVER } from './lane-observer.ts';
import { splitLate } from './late-commands.ts';
import { mergeMissing, needsOf } from './missing.ts';
import { Outcomes } from './outcomes.ts';
import { Pipeline } from './pipeline.ts';
import { Quarantines } from './quarantines.ts';
import { QueueFaultError } from './queue-doubts.ts';
import * as refusals from './refusals.ts';
import { refuseAll } from './refuse-all.ts';
import { type Failure, rejectAll } from './reject-all.ts';
import { shedFor } from './shed-for.ts';
import { Taker } from './taker.ts';
import { tellQueueFaults, tellQueueUnapplied } from './tell-queue-faults.ts';
import { TreeCache } from './tree-cache.ts';
import { WaitingRoom } from './waiting-room.ts';

/**
 * Commands in one transaction. While one is committed the next one's commands come in and the answers of the last go out:
 * with 512 in flight, batches of 256 gave 25,500 reserves a second where batches of all 512 left one side waiting for the
 * other (23,300), and smaller ones paid more for each commit than they won.
 */
const BATCH_COUNT_MAX = 256;

/** Commands that one tree gives to a batch in its turn, while others wait: four trees can flood before a fifth has to wait. */
const TURN_COUNT_MAX = 64;

/**
 * How long after trees were seen to wait side by side each of them has one turn a batch: a tree that floods fills the rest of a batch
 * otherwise, and what others feel of a flood is the time of the batch that they find under way.
 */
const SHARED_MS = 1_000;

/**
 * Commands that may wait, in the queue and for the store. At 20,000 a second this is a bit over a second and a half of work;
 * more would only time out.
 */
const DEPTH_MAX = 32_768;

/** See the head of this file. */
export class Lane {
  readonly #deps: LaneDeps;
  readonly #queue = new FairQueue<Submitted>();
  /** Commands that are decided one by one, before all others. */
  readonly #alone: Submitted[] = [];
  readonly #quarantines: Quarantines;
  readonly cache: TreeCache;
  readonly #searches: KeySearch;
  readonly #appender: Appender;
  readonly #pipeline: Pipeline;
  readonly #room: WaitingRoom;
  readonly #taker: Taker;
  readonly #observer: LaneObserver;
  readonly #batchCountMax: number;
  #sharedUntilMs = Number.NEGATIVE_INFINITY;
  #state: 'idle' | 'running' = 'idle';
  /** The batch that was decided ahead, until it has ended. */
  #ahead: Promise<void> | undefined;
  #looksSoon = false;
  #stopping = false;
  readonly #idle: (() => void)[] = [];

  constructor(deps: LaneDeps) {
    this.#deps = deps;
    this.#observer = deps.observer ?? NO_LANE_OBSERVER;
    const wake = () => this.#wake();
    const onDrop = (treeId: TreeId): void => this.#room.dropped(treeId);
    this.cache = new TreeCache({ store: deps.store, onArrival: wake, onDrop, catchUp: deps.catchUp });
    this.#searches = new KeySearch(deps.store, wake);
    this.#quarantines = new Quarantines(deps);
    this.#appender = new Appender(deps);
    this.#batchCountMax = deps.batchCountMax ?? BATCH_COUNT_MAX;
    this.#room = new WaitingRoom(deps, (command) => this.submit(command));
    const putBack = (treeId: TreeId, items: readonly Submitted[]): void => this.#putBack(treeId, items);
    this.#taker = new Taker({
      log: deps.log,
      observer: this.#observer,
      cache: this.cache,
      searches: this.#searches,
      quarantines: this.#quarantines,
      appender: this.#appender,
      room: this.#room,
      putBack,
    });
    const outcomes = new Outcomes({
      deps,
      observer: this.#observer,
      putBack,
      cache: this.cache,
      searches: this.#searches,
      room: this.#room,
      reset: () => this.reset(),
      takeAll: () => this.#takeAll(),
    });
    this.#pipeline = new Pipeline({
      deps,
      observer: this.#observer,
      appender: this.#appender,
      outcomes,
      room: this.#room,
      decide: (items) => this.#decide(this.#withoutLate(items, deps.monotonicMs())),
      putBack,
      // Twice: the answers of the batch before go out first, and what their callers send next is read.
      onSent: () => setImmediate(() => this.#lookSoon()),
    });
  }

  /** Commands that were let in and are not answered yet, those of the one or two batches in flight left out. */
  get depth(): number {
    return this.#queue.count + this.#alone.length + this.cache.parkedCount + this.#searches.parkedCount;
  }

  /** Callers whose Reserves wait in the queues of their trees. */
  get waitingCount(): number {
    return this.#room.count;
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
  submit(command: Command, signal?: AbortSignal): Promise<Answer> {
    const sheddable = isSheddable(command);
    const refusal = this.#refusalAtTheDoor(command) ?? this.#makeRoomFor(command, sheddable);
    if (refusal !== undefined) {
      this.#observer.refused(command.kind, refusal.reason);
      return Promise.resolve(refusal);
    }
    this.#observer.submitted?.(command);
    return new Promise((resolve, reject) => {
      this.#queue.push({
        treeId: command.treeId,
        command,
        resolve,
        reject,
        sheddable,
        alone: false,
        attempts: 0,
        searchedFor: undefined,
        sinceMs: this.#deps.monotonicMs(),
        signal: command.kind === 'Reserve' && command.waitMs > 0 ? signal : undefined,
      });
      this.#wake();
    });
  }

  /** Refuses everything new and resolves when what was let in is answered. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#room.sendAway(refusals.stopping());
    if (this.#state === 'running' || this.depth > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#room.sendAway(refusals.stopping());
    this.#appender.stop();
  }

  /** Takes note that commands may be decided from now on, where that is so. */
  noteServing(): void {
    if (this.#deps.epoch() !== undefined && !this.#appender.storeDown) this.#room.open();
  }

  /** Forgets all cached state: this process has just stopped or started to be the writer. What waits is judged afresh. */
  reset(): void {
    this.cache.reset();
    this.#quarantines.clear();
    this.#room.reset(refusals.notLeader(this.#deps.leaderAddress()));
  }

  /** Puts a tree out of service, and writes that down: its records do not agree. */
  quarantine(treeId: TreeId, why: string, error: unknown): void {
    this.#taker.quarantine(treeId, why, error);
  }

  #refusalAtTheDoor(command: Command): Refusal | undefined {
    if (this.#stopping) return refusals.stopping();
    if (this.#deps.epoch() === undefined) return refusals.notLeader(this.#deps.leaderAddress());
    if (this.#appender.storeDown) return refusals.storeUnavailable();
    const why = this.#quarantines.why(command.treeId);
    if (why !== undefined) return refusals.treeQuarantined(command.treeId, why);
    const overload = this.#deps.overload();
    // Work that ends is not refused for this: it is what makes room.
    if (overload !== undefined && command.kind === 'Reserve') return refusals.overloaded(overload);
    return undefined;
  }

  #makeRoomFor(command: Command, sheddable: boolean): Refusal | undefined {
    if (this.depth < DEPTH_MAX) return undefined;
    const { cache } = this;
    const shed = shedFor(
      { queue: this.#queue, cache, searches: this.#searches },
      { treeId: command.treeId, sheddable },
    );
    const refusal = refusals.overloaded('too many commands wait');
    if (shed === undefined) return refusal;
    refuseAll(this.#observer, [shed], refusal);
    return undefined;
  }

  #wake(): void {
    if (this.#state !== 'idle') {
      this.#lookSoon();
      return;
    }
    this.#state = 'running';
    queueMicrotask(() => {
      this.#run().catch((error: unknown) => this.#failed(error));
    });
  }

  // What is in memory may have stopped halfway through a batch, and another batch may be under way on top of it: everything is
  // loaded anew.
  async #failed(error: unknown): Promise<void> {
    this.#deps.log('error', 'the lane failed', { error });
    for (const item of this.#takeAll()) item.reject(error);
    await this.#ahead?.catch((cause: unknown) => this.#deps.log('error', 'the lane failed', { error: cause }));
    this.#ahead = undefined;
    this.cache.reset();
    this.#room.allDropped();
    this.#rest();
    // What came meanwhile.
    if (this.depth > 0) this.#wake();
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#taker.take();
      this.cache.trim();
      const items = this.#nextBatch();
      if (items.length === 0) break;
      let carried: Promise<void> | undefined = this.#carry(items);
      while (carried !== undefined) {
        await carried;
        carried = this.#ahead;
        this.#ahead = undefined;
      }
    }
    this.#rest();
  }

  async #carry(items: readonly Submitted[]): Promise<void> {
    try {
      const work = (): Promise<void> => this.#pipeline.carry(items);
      await (this.#observer.runBatch?.(items, work) ?? work());
    } catch (error) {
      for (const item of items) item.reject(error);
      throw error;
    }
  }

  // Only a full batch is decided ahead: a smaller one would do better to go on gathering until the store is free.
  #mayLookAhead(): boolean {
    if (this.#queue.count < this.#batchCountMax || this.#alone.length > 0 || this.#ahead !== undefined) return false;
    return this.#pipeline.takesAnother && !this.cache.wantsPause && !this.#searches.hasArrivals;
  }

  #lookSoon(): void {
    if (this.#looksSoon || !this.#mayLookAhead()) return;
    this.#looksSoon = true;
    setImmediate(() => {
      this.#looksSoon = false;
      if (!this.#mayLookAhead()) return;
      const ahead = this.#carry(this.#nextBatch());
      // It may fail while the run still waits for the one before it, and is heard after that.
      ahead.catch(() => undefined);
      this.#ahead = ahead;
    });
  }

  #rest(): void {
    this.#state = 'idle';
    if (this.depth === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #nextBatch(): Submitted[] {
    const single = this.#alone.shift();
    if (single !== undefined) return [single];
    const nowMs = this.#deps.monotonicMs();
    if (this.#queue.treeCount > 1) this.#sharedUntilMs = nowMs + SHARED_MS;
    const turnsMax = nowMs < this.#sharedUntilMs ? 1 : Number.POSITIVE_INFINITY;
    return this.#queue.take(this.#batchCountMax, TURN_COUNT_MAX, turnsMax);
  }

  #withoutLate(items: readonly Submitted[], nowMs: number): readonly Submitted[] {
    const { late, inTime } = splitLate(items, nowMs);
    if (late.length > 0) refuseAll(this.#observer, late, refusals.overloaded('the command waited too long'));
    return inTime;
  }

  #decide(items: readonly Submitted[]): TreeBatch[] {
    const batches: TreeBatch[] = [];
    const failures: Failure[] = [];
    const nowMs = this.#deps.clock.nowMs();
    this.#room.open();
    const pending = (treeId: TreeId): readonly Submitted[] => this.#pendingOf(treeId);
    for (const [treeId, own] of groupByTree(items)) {
      const tree = this.cache.get(treeId);
      if (tree === undefined) {
        this.cache.park(treeId, own, mergeMissing(own.map(({ command }) => needsOf(command))));
        continue;
      }
      const context = batchContext(this.#deps, this.#room, tree, nowMs, pending);
      try {
        if (!tree.isReviewed) this.#room.review(tree);
        const batch = decideTree(tree, own, context);
        tellQueueFaults(this.#deps.log, this.#observer, this.cache.doubts, batch, context.nowMs);
        this.#setAside(batch);
        for (const { item, id } of batch.waiting) this.#room.enter(item, id);
        for (const { item, error } of batch.failed) failures.push({ treeId, items: [item], error });
        batches.push(batch);
        this.cache.loadLeasesAhead(treeId, context.nowMs);
      } catch (error) {
        if (error instanceof CorruptTreeError) this.#taker.refuseCorrupt(treeId, own, error);
        else failures.push(...this.#undecided(treeId, own, error, context.nowMs));
      }
    }
    rejectAll(this.#deps.log, failures);
    return batches;
  }

  // What is in memory of the tree may have stopped halfway. What is nobody's command fails none, and one command alone fails with its
  // fault; several are decided one by one.
  #undecided(treeId: TreeId, items: readonly Submitted[], error: unknown, nowMs: number): Failure[] {
    const { log } = this.#deps;
    this.cache.drop(treeId);
    if (error instanceof QueueFaultError) {
      this.cache.doubts.rest(treeId, nowMs);
      tellQueueUnapplied(log, this.#observer, treeId, error);
    } else if (items.length === 1) return [{ treeId, items, error }];
    else {
      log('error', 'a batch failed', { treeId, commands: items.length, error });
      for (const item of items) item.alone = true;
    }
    this.#putBack(treeId, items);
    return [];
  }

  #pendingOf(treeId: TreeId): readonly Submitted[] {
    return [
      ...(this.#queue.lineOf(treeId)?.items ?? []),
      ...this.#alone.filter((item) => item.treeId === treeId),
      ...(this.cache.lineOf(treeId)?.items ?? []),
      ...this.#searches.itemsOf(treeId),
    ];
  }

  // Commands of a batch that have to wait for something.
  #setAside({ tree, parked, unsearched, paused }: TreeBatch): void {
    // First: what else waits for records of this tree waits with it.
    for (const pause of paused) this.cache.pause(tree.treeId, pause);
    if (parked.length > 0) {
      const missing = mergeMissing(parked.map((each) => each.missing));
      this.cache.park(
        tree.treeId,
        parked.map(({ item }) => item),
        missing,
      );
    }
    if (unsearched.length > 0) this.#searches.search(tree, unsearched);
  }

  #putBack(treeId: TreeId, items: readonly Submitted[]): void {
    const company = items.some(({ alone }) => alone) ? items.filter(({ alone }) => !alone) : items;
    if (company !== items) this.#alone.push(...items.filter(({ alone }) => alone));
    this.#queue.putBack(treeId, company);
  }

  #takeAll(): Submitted[] {
    return [...this.#queue.drain(), ...this.#alone.splice(0), ...this.cache.drain(), ...this.#searches.drain()];
  }
}
