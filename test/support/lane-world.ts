// A lane over the store in memory, with time that passes on command and appends and loads that go as a test says: the
// places where a database shows its faults, one by one.
import type { Entry } from '../../src/kernel/entry.ts';
import type { Pricing } from '../../src/kernel/price.ts';
import { commitTo } from '../../src/lane/commitment.ts';
import { Lane } from '../../src/lane/lane.ts';
import { NO_LANE_OBSERVER } from '../../src/lane/lane-observer.ts';
import type { WaitEnd } from '../../src/lane/wait-end.ts';
import { createMemoryStore, type MemoryStore } from '../../src/store/memory-store.ts';
import type { AppendResult, Loaded, LoadRequest, Store, TreeAppend } from '../../src/store/port.ts';
import { Commands } from './commands.ts';
import { START_MS } from './kernel-driver.ts';
import { ManualTime } from './manual-time.ts';
import { testPricing } from './test-prices.ts';
import { UTC_CALENDAR } from './utc-calendar.ts';

/** What one append or load does; `real` is what it would have done. */
export type Fate<T> = (real: () => Promise<T>) => Promise<T>;

/** See the head of this file. */
export class LaneWorld {
  readonly time = new ManualTime();
  readonly memory: MemoryStore = createMemoryStore({ nowMs: () => START_MS });
  readonly make = new Commands();
  readonly store: Store;
  readonly lane: Lane;
  /** Fates of the coming appends and loads, first one first; those that have none go as they should. */
  readonly appendFates: Fate<AppendResult>[] = [];
  readonly loadFates: Fate<Loaded>[] = [];
  /** Every append as it was asked for. */
  readonly appends: { readonly epoch: number; readonly batch: readonly TreeAppend[] }[] = [];
  readonly loads: LoadRequest[] = [];
  /** What happens to the coming searches for keys. */
  readonly searchFates: Fate<readonly Entry[]>[] = [];
  /** Digests of every search. */
  readonly searches: (readonly string[])[] = [];
  /** Trees that the lane has had caught up. */
  readonly caughtUp: string[] = [];
  readonly logged: string[] = [];
  /** What the lines of the log say beside their message. */
  readonly logFields: (Readonly<Record<string, unknown>> | undefined)[] = [];
  readonly committed: (readonly [treeId: string, entryCount: number])[] = [];
  /** How callers' waits for room ended, and after how long. */
  readonly waitEnds: (readonly [end: WaitEnd, waitedMs: number])[] = [];
  nowMs = START_MS;
  epoch: number | undefined;
  leaderAddress = '';
  overload: string | undefined;
  fencedCount = 0;

  /** `batchCountMax`: see LaneDeps. */
  constructor(options: { readonly batchCountMax?: number; readonly pricing?: Pricing } = {}) {
    const { memory } = this;
    this.store = {
      ...memory,
      append: (epoch, batch) => {
        this.appends.push({ epoch, batch });
        const real = () => memory.append(epoch, batch);
        return this.appendFates.shift()?.(real) ?? real();
      },
      load: (request) => {
        this.loads.push(request);
        const real = () => memory.load(request);
        return this.loadFates.shift()?.(real) ?? real();
      },
      findKeys: (treeId, digests) => {
        this.searches.push(digests);
        const real = () => memory.findKeys(treeId, digests);
        return this.searchFates.shift()?.(real) ?? real();
      },
    };
    this.lane = new Lane({
      store: this.store,
      clock: { nowMs: () => this.nowMs },
      graceMs: 0,
      calendar: UTC_CALENDAR,
      implausibleFactor: 1_000,
      queue: { ageMs: 60_000, countMax: 10_000 },
      pricing: options.pricing ?? testPricing(),
      commit: commitTo,
      log: (_, message, fields) => {
        this.logged.push(message);
        this.logFields.push(fields);
      },
      epoch: () => this.epoch,
      leaderAddress: () => this.leaderAddress,
      onFenced: () => {
        this.fencedCount += 1;
        this.epoch = undefined;
      },
      onCommitted: (treeId, entryCount) => this.committed.push([treeId, entryCount]),
      catchUp: async (treeId) => {
        this.caughtUp.push(treeId);
        await this.project(treeId);
      },
      overload: () => this.overload,
      batchCountMax: options.batchCountMax,
      observer: { ...NO_LANE_OBSERVER, waitEnded: (end, waitedMs) => this.waitEnds.push([end, waitedMs]) },
      monotonicMs: this.time.nowMs,
      sleep: this.time.sleep,
    });
  }

  /** Takes the writer's lease and makes a tree for each id, with a limit. */
  async open(treeIds: readonly string[] = ['t'], limit = 100): Promise<this> {
    this.epoch = (await this.memory.holdWriterLease('world', 'here:1', undefined, 60_000)).epoch;
    for (const treeId of treeIds) await this.lane.submit(new Commands(treeId).create(treeId, { limits: limit }));
    this.appends.length = 0;
    this.loads.length = 0;
    this.committed.length = 0;
    return this;
  }

  /** Brings the projection of a tree up to its journal, and tells the cache. */
  async project(treeId = 't'): Promise<void> {
    const entries = this.memory.database.tree(treeId as never).entriesAfter(0, Number.MAX_SAFE_INTEGER);
    const projected = await this.memory.project([{ treeId: treeId as never, entries }]);
    this.lane.cache.peek(treeId as never)?.projected(projected.get(treeId as never) ?? 0);
  }
}

/** A fate that waits until it is let go. */
export function held<T>(): { readonly fate: Fate<T>; readonly letGo: () => void } {
  let letGo = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return {
    letGo: () => letGo(),
    fate: async (real) => {
      await gate;
      return real();
    },
  };
}
