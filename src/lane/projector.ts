// Brings the tables that readers query up to the journal, behind the answers: in bulk, so that a hold which opens and
// closes within a moment becomes one row. Takes entries from the cache where it has them, else from the journal, so that
// it can also catch up what another process left behind. Its lag is bounded: past the bound new work is refused.
import type { TreeId } from '../kernel/names.ts';
import { type Store, StoreUnavailableError, type TreeEntries } from '../store/port.ts';
import type { Log } from './log.ts';
import type { TreeCache } from './tree-cache.ts';

/** Between two rounds. Long enough that most short holds are settled before they are written, short beside what a reader
 * of a list would call stale (lists catch up first anyway). */
const ROUND_MS = 300;

/** Entries in one transaction: about 20 ms of the database's time, so that the lane's appends are not held up. */
const PAGE_COUNT_MAX = 4_096;

/** Past this lag, in time or in entries, Reserve is refused until it has caught up. */
const LAG_MAX_MS = 30_000;
const BACKLOG_COUNT_MAX = 200_000;

/** Trees that one look for left-over work brings. */
const LEFT_OVER_COUNT_MAX = 1_000;

/** Everything the projector works with. */
export interface ProjectorDeps {
  readonly store: Store;
  readonly cache: TreeCache;
  readonly log: Log;
  /** Called with a tree whose entries can't be projected. */
  readonly onCorrupt: (treeId: TreeId, error: unknown) => void;
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** See the head of this file. */
export class Projector {
  readonly #deps: ProjectorDeps;
  /** Trees with entries that are not projected, and since when. */
  readonly #behind = new Map<TreeId, number>();
  /** Entries noted and not yet projected, as far as they are in the cache. */
  #backlogCount = 0;
  #turn: Promise<void> = Promise.resolve();
  #running = false;
  #lookForLeftOver = true;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: ProjectorDeps) {
    this.#deps = deps;
  }

  /** Age of the oldest entry that is not projected, in milliseconds. */
  get lagMs(): number {
    const [oldestMs] = this.#behind.values();
    return oldestMs === undefined ? 0 : this.#deps.monotonicMs() - oldestMs;
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
    if (this.#running) return;
    this.#running = true;
    this.#loop = this.#run();
  }

  /** Ends the rounds after the one under way, then catches up what it can. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
    try {
      await this.catchUp(undefined);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.#deps.log('warn', 'the projection is left behind; the next start catches it up', { error });
    }
  }

  /**
   * Resolves when the entries that a tree (all trees, if undefined) has now are projected. Throws StoreUnavailableError.
   */
  async catchUp(treeId: TreeId | undefined): Promise<void> {
    const turn = this.#turn.then(() => (treeId === undefined ? this.#catchUpAll() : this.#project([treeId])));
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  // Page after page of what is left over, until one brings no tree that was not seen: a busy tree is behind again at once.
  async #catchUpAll(): Promise<void> {
    const seen = new Set<TreeId>();
    for (;;) {
      const leftOver = await this.#deps.store.unprojectedTrees(LEFT_OVER_COUNT_MAX);
      for (const { treeId } of leftOver) this.note(treeId, 0);
      const hasFresh = leftOver.some(({ treeId }) => !seen.has(treeId));
      const trees = [...this.#behind.keys()];
      for (const treeId of trees) seen.add(treeId);
      for (let at = 0; at < trees.length; at += LEFT_OVER_COUNT_MAX) {
        await this.#project(trees.slice(at, at + LEFT_OVER_COUNT_MAX));
      }
      if (!hasFresh || leftOver.length < LEFT_OVER_COUNT_MAX) return;
    }
  }

  async #run(): Promise<void> {
    while (this.#running) {
      await this.#deps.sleep(ROUND_MS);
      try {
        if (this.#lookForLeftOver) {
          this.#lookForLeftOver = false;
          await this.catchUp(undefined);
        } else if (this.#behind.size > 0) await this.#round();
      } catch (error) {
        this.#lookForLeftOver = true;
        const level = error instanceof StoreUnavailableError ? 'warn' : 'error';
        this.#deps.log(level, 'the projection could not be brought forward', { error });
      }
    }
  }

  async #round(): Promise<void> {
    const turn = this.#turn.then(() => this.#project([...this.#behind.keys()]));
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  // Pages of entries over many trees, each page one transaction.
  async #project(trees: readonly TreeId[]): Promise<void> {
    let page: TreeEntries[] = [];
    let count = 0;
    for (const treeId of trees) {
      const tail = this.#deps.cache.peek(treeId)?.tail;
      if (tail === undefined) {
        await this.#fromJournal(treeId);
        continue;
      }
      if (tail.length === 0) this.#behind.delete(treeId);
      for (let at = 0; at < tail.length; at += PAGE_COUNT_MAX) {
        const entries = tail.slice(at, at + PAGE_COUNT_MAX);
        if (count + entries.length > PAGE_COUNT_MAX && count > 0) {
          await this.#write(page);
          page = [];
          count = 0;
        }
        page.push({ treeId, entries });
        count += entries.length;
      }
    }
    if (page.length > 0) await this.#write(page);
    this.#recount();
  }

  async #write(page: readonly TreeEntries[]): Promise<void> {
    let projected: ReadonlyMap<TreeId, number>;
    try {
      projected = await this.#deps.store.project(page);
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error;
      await this.#takeApart(page, error);
      return;
    }
    for (const { treeId, entries } of page) {
      const seq = projected.get(treeId);
      if (seq === undefined) throw new Error(`the store did not say how far ${treeId} is projected`);
      const last = entries.at(-1)?.seq ?? seq;
      // Somebody else may have projected further, or a gap may be left from before: then the journal has what is missing.
      if (seq < last) await this.#fromJournal(treeId);
      else this.#reached(treeId, seq);
    }
  }

  // One tree whose entries don't fit its projection must not hold back the others.
  async #takeApart(page: readonly TreeEntries[], error: unknown): Promise<void> {
    const [first] = page;
    if (first !== undefined && page.length === 1) {
      this.#corrupt(first.treeId, error);
      return;
    }
    for (const part of page) await this.#write([part]);
  }

  #corrupt(treeId: TreeId, error: unknown): void {
    this.#behind.delete(treeId);
    this.#deps.onCorrupt(treeId, error);
  }

  async #fromJournal(treeId: TreeId): Promise<void> {
    const { store } = this.#deps;
    try {
      let seq = (await store.project([{ treeId, entries: [] }])).get(treeId) ?? 0;
      for (;;) {
        const entries = await store.readEntries(treeId, seq, PAGE_COUNT_MAX);
        if (entries.length === 0) break;
        const next = (await store.project([{ treeId, entries }])).get(treeId) ?? 0;
        if (next <= seq) throw new Error(`the projection of ${treeId} does not move past ${seq}`);
        seq = next;
      }
      this.#reached(treeId, seq);
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error;
      this.#corrupt(treeId, error);
    }
  }

  #reached(treeId: TreeId, seq: number): void {
    const tree = this.#deps.cache.peek(treeId);
    tree?.projected(seq);
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
