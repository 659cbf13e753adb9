// Brings the tables that readers query up to the journal, behind the answers: in bulk, so that a hold which opens and
// closes within a moment becomes one row. Takes entries from the cache where it has them, else from the journal, so that
// it can also catch up what another process left behind. Its lag is bounded: past the bound new work is refused.
//
// A tree goes out of service only where an error says that its records are at fault. Every other fault is told and tried
// again: one that all trees meet (a schema that is being upgraded) holds the projection up until it is over, one that a
// single tree meets holds up that tree alone.
import type { TreeId } from '../kernel/names.ts';
import { type Store, StoreTimeoutError, StoreUnavailableError, type TreeEntries } from '../store/port.ts';
import { isCorrupt } from './is-corrupt.ts';
import type { Log } from './log.ts';
import { Loop, type Sleep } from './loop.ts';
import { projectionPages } from './projection-pages.ts';
import type { TreeCache } from './tree-cache.ts';

/** Between two rounds. Long enough that most short holds are settled before they are written, short beside what a reader
 * of a list would call stale (lists catch up first anyway). */
const ROUND_MS = 300;

/** After a round that failed: often enough to go on soon after an outage, seldom enough to leave the store room. */
const RETRY_MS = 1_000;

/** Rows that entries change in one transaction: about 20 ms of the database's time, so that the lane's appends are not held up. */
const PAGE_COUNT_MAX = 4_096;

/** Past this lag, in time or in entries, Reserve is refused until it has caught up. */
const LAG_MAX_MS = 30_000;
const BACKLOG_COUNT_MAX = 200_000;

/** Trees that one look for left-over work brings. */
const LEFT_OVER_COUNT_MAX = 1_000;

/** Between two looks that nothing calls for: they find a tree that an operator has put back into service. */
const LEFT_OVER_ROUND_MS = 60_000;

/** Trees that may fail in one go while none comes forward, until the fault is taken for everybody's. */
const FAULT_COUNT_MAX = 3;

/** Everything the projector works with. */
export interface ProjectorDeps {
  readonly store: Store;
  readonly cache: TreeCache;
  readonly log: Log;
  /** Called with a tree whose entries can't be projected since its records are at fault. */
  readonly onCorrupt: (treeId: TreeId, error: unknown) => void;
  readonly monotonicMs: () => number;
  readonly sleep: Sleep;
}

/** One go over some trees: what has failed in it, and how many trees had come forward before it. */
interface Pass {
  readonly faults: unknown[];
  readonly forwardCountBefore: number;
}

/** See the head of this file. */
export class Projector {
  readonly #deps: ProjectorDeps;
  readonly #loop: Loop;
  /** Trees with entries that are not projected, and since when. */
  readonly #behind = new Map<TreeId, number>();
  /** Trees that failed by a fault that is not theirs by name, and how many had come forward by then; tried longest ago first. */
  readonly #faulty = new Map<TreeId, number>();
  /** How often a tree came forward. */
  #forwardCount = 0;
  /** Entries noted and not yet projected, as far as they are in the cache. */
  #backlogCount = 0;
  #turn: Promise<void> = Promise.resolve();
  #lookForLeftOver = true;
  #lookedMs: number;

  constructor(deps: ProjectorDeps) {
    this.#deps = deps;
    this.#lookedMs = deps.monotonicMs();
    this.#loop = new Loop({
      round: () => this.#round(),
      pauseMs: () => (this.#loop.failureCount === 0 ? ROUND_MS : RETRY_MS),
      failure: 'the projection could not be brought forward',
      log: deps.log,
      sleep: deps.sleep,
    });
  }

  /**
   * Age of the oldest entry that is not projected, in milliseconds. A tree that fails while others come forward is left out:
   * its readers are told so, and refusing everybody would not help it.
   */
  get lagMs(): number {
    for (const [treeId, sinceMs] of this.#behind) {
      const forwardCount = this.#faulty.get(treeId);
      const failsAlone = forwardCount !== undefined && forwardCount < this.#forwardCount;
      if (!failsAlone) return this.#deps.monotonicMs() - sinceMs;
    }
    return 0;
  }

  /** Why new work should wait for the projection; undefined where it needn't. */
  overload(): string | undefined {
    const behind = this.lagMs > LAG_MAX_MS || this.#backlogCount > BACKLOG_COUNT_MAX;
    return behind ? 'the projection is behind the journal' : undefined;
  }

  /** Notes that a tree has `count` new entries. */
  note(treeId: TreeId, count: number): void {
    this.#backlogCount += count;
    if (!this.#behind.has(treeId)) this.#behind.set(treeId, this.#deps.monotonicMs());
  }

  /** Has the next round take up what another process left when it stopped to be the writer. */
  takeUpLeftOver(): void {
    this.#lookForLeftOver = true;
  }

  /** Starts the rounds; also takes up what an earlier process left. */
  start(): void {
    this.#loop.start();
  }

  /** Ends the rounds after the one under way, then catches up what it can. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    try {
      await this.catchUp(undefined);
    } catch (error) {
      this.#deps.log('warn', 'the projection is left behind; the next start catches it up', { error });
    }
  }

  /**
   * Resolves when the entries that a tree (all trees in service, if undefined) has now are projected. Throws
   * StoreUnavailableError, and the fault by which a tree can't be brought forward now.
   */
  async catchUp(treeId: TreeId | undefined): Promise<void> {
    await this.#inTurn(() => (treeId === undefined ? this.#projectAll() : this.#project([treeId])));
  }

  // One after the other: two of them would write the same entries.
  async #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  async #round(): Promise<void> {
    if (this.#deps.monotonicMs() - this.#lookedMs >= LEFT_OVER_ROUND_MS) this.#lookForLeftOver = true;
    if (this.#lookForLeftOver || this.#behind.size > 0) await this.#inTurn(() => this.#projectAll());
  }

  async #projectAll(): Promise<void> {
    if (this.#lookForLeftOver) await this.#noteLeftOver();
    await this.#project([...this.#behind.keys()]);
  }

  // Whatever this process appends is noted as it goes; what others have left needs one look at every head.
  async #noteLeftOver(): Promise<void> {
    this.#lookForLeftOver = false;
    this.#lookedMs = this.#deps.monotonicMs();
    try {
      let after: TreeId | undefined;
      for (;;) {
        const leftOver = await this.#deps.store.unprojectedTrees(LEFT_OVER_COUNT_MAX, after);
        for (const { treeId } of leftOver) this.note(treeId, 0);
        after = leftOver.at(-1)?.treeId;
        if (leftOver.length < LEFT_OVER_COUNT_MAX) return;
      }
    } catch (error) {
      this.#lookForLeftOver = true;
      throw error;
    }
  }

  // Trees that have failed come last and each alone, so that they hold back no other.
  async #project(trees: readonly TreeId[]): Promise<void> {
    const pass: Pass = { faults: [], forwardCountBefore: this.#forwardCount };
    const asked = new Set(trees);
    const faulty = [...this.#faulty.keys()].filter((treeId) => asked.has(treeId));
    await this.#projectTogether(
      trees.filter((treeId) => !this.#faulty.has(treeId)),
      pass,
    );
    for (const treeId of faulty) await this.#projectTogether([treeId], pass);
    this.#recount();
    if (pass.faults.length > 0) throw pass.faults[0];
  }

  // Pages of entries over many trees, each page one transaction.
  async #projectTogether(trees: readonly TreeId[], pass: Pass): Promise<void> {
    let page: TreeEntries[] = [];
    let count = 0;
    for (const treeId of trees) {
      const tail = this.#deps.cache.peek(treeId)?.tail;
      if (tail === undefined) {
        await this.#fromJournal(treeId, pass);
        continue;
      }
      if (tail.length === 0) this.#behind.delete(treeId);
      for (const { entries, rowCount } of projectionPages(tail, PAGE_COUNT_MAX)) {
        if (count + rowCount > PAGE_COUNT_MAX && count > 0) {
          await this.#write(page, pass);
          page = [];
          count = 0;
        }
        page.push({ treeId, entries });
        count += rowCount;
      }
    }
    if (page.length > 0) await this.#write(page, pass);
  }

  async #write(page: readonly TreeEntries[], pass: Pass): Promise<void> {
    let projected: ReadonlyMap<TreeId, number>;
    try {
      projected = await this.#deps.store.project(page);
    } catch (error) {
      const [first] = page;
      if (error instanceof StoreUnavailableError) throw error;
      // One tree whose entries don't fit its projection must not hold back the others.
      if (page.length > 1) for (const part of page) await this.#write([part], pass);
      else if (first !== undefined) this.#failed(first.treeId, error, pass);
      return;
    }
    for (const { treeId, entries } of page) {
      const seq = projected.get(treeId);
      if (seq === undefined) throw new Error(`the store did not say how far ${treeId} is projected`);
      const last = entries.at(-1)?.seq ?? seq;
      // Somebody else may have projected further, or a gap may be left from before: then the journal has what is missing.
      if (seq < last) await this.#fromJournal(treeId, pass);
      else this.#reached(treeId, seq);
    }
  }

  async #fromJournal(treeId: TreeId, pass: Pass): Promise<void> {
    const { store } = this.#deps;
    try {
      let seq = (await store.project([{ treeId, entries: [] }])).get(treeId) ?? 0;
      for (;;) {
        const entries = await store.readEntries(treeId, seq, PAGE_COUNT_MAX);
        if (entries.length === 0) break;
        for (const page of projectionPages(entries, PAGE_COUNT_MAX)) {
          const next = (await store.project([{ treeId, entries: page.entries }])).get(treeId) ?? 0;
          if (next <= seq) throw new Error(`the projection of ${treeId} does not move past ${seq}`);
          seq = next;
        }
      }
      this.#reached(treeId, seq);
    } catch (error) {
      if (error instanceof StoreUnavailableError && !(error instanceof StoreTimeoutError)) throw error;
      this.#failed(treeId, error, pass);
    }
  }

  // Throws where the fault is taken for everybody's: the other trees are spared the try.
  #failed(treeId: TreeId, error: unknown, pass: Pass): void {
    if (isCorrupt(error)) {
      this.#behind.delete(treeId);
      this.#faulty.delete(treeId);
      this.#deps.onCorrupt(treeId, error);
      return;
    }
    const forwardCount = this.#faulty.get(treeId) ?? this.#forwardCount;
    this.#faulty.delete(treeId);
    this.#faulty.set(treeId, forwardCount);
    pass.faults.push(error);
    const isEverybodys = pass.faults.length >= FAULT_COUNT_MAX && this.#forwardCount === pass.forwardCountBefore;
    if (isEverybodys) throw error;
  }

  #reached(treeId: TreeId, seq: number): void {
    const tree = this.#deps.cache.peek(treeId);
    tree?.projected(seq);
    this.#forwardCount += 1;
    this.#faulty.delete(treeId);
    // Entries that came meanwhile are younger than this round.
    this.#behind.delete(treeId);
    if (tree !== undefined && tree.tail.length > 0) this.note(treeId, 0);
  }

  #recount(): void {
    let count = 0;
    for (const treeId of this.#behind.keys()) count += this.#deps.cache.peek(treeId)?.tail.length ?? 0;
    this.#backlogCount = count;
  }
}
