// Which trees are in memory, and the loads that bring what is not. Loads run off the lane: while one is under way its
// commands wait here and the lane goes on with others. What a load brought is taken in between two batches.

import type { TreeId } from '../kernel/names.ts';
import type { BudgetPast } from '../kernel/window-history.ts';
import { type Loaded, type LoadRequest, type Store, StoreTimeoutError, StoreUnavailableError } from '../store/port.ts';
import type { Pause, Submitted } from './batch.ts';
import { CacheBounds } from './cache-bounds.ts';
import { CachedTree } from './cached-tree.ts';
import type { PastNeed } from './edit-past.ts';
import { Line, longestOf } from './line.ts';
import { type Missing, needsOf } from './missing.ts';
import { QueueDoubts } from './queue-doubts.ts';

/** Live reservations that the first load of a tree brings at the most, those that lapse next: enough for one that is looked at
 * once, at a tenth of what a full page costs. */
const LEASE_PAGE_FIRST = 200;

/** Live reservations that a further load brings at the most: about 1 MB of rows, read in a few milliseconds. */
const LEASE_PAGE = 2_000;

/** Half the default lease: a million leases are read within it. */
const LEASES_AHEAD_MS = 30_000;

/** Trees kept in memory; an idle one of two budgets takes 4.7 KB (measured), all of them about 100 MB. */
const TREE_COUNT_MAX = 20_000;

/** Trees that don't exist, kept apart so that a caller who makes up names drives no real tree out. One takes 3.4 KB (measured)
 * and saves a read of the store for who asks again at once. */
const ABSENT_TREE_COUNT_MAX = 1_000;

/** How often a tree whose tail is too long is caught up and loaded again. Once is enough unless somebody else writes to it. */
const CATCH_UP_ATTEMPTS_MAX = 3;

/** Number of a tree's first budget. */
const ROOT_NO = 1;

/** A load that is under way or has come back. */
interface TreeLoad {
  readonly asked: Missing;
  /** Whether it brings the entries that are not projected yet, and so can stand alone. */
  readonly withTail: boolean;
  /** How far the tree was projected when it began. */
  readonly fromSeq: number;
  /** Those it was made for, then those that came meanwhile; what these miss is asked for next. */
  readonly waiting: Line<Submitted>;
  outcome: { readonly loaded: Loaded } | { readonly error: unknown } | undefined;
  /** The edit whose past it reads. */
  readonly edit: Edit | undefined;
  /** The edit for which the tree is to be loaded again once this one has come back. */
  next: Edit | undefined;
  /** What it brings was read before everything was forgotten. */
  stale: boolean;
}

/** An edit that waits until the past of its budgets is read. */
interface Edit extends PastNeed {
  readonly item: Submitted;
  /** Why its past can't be read. */
  fault: { readonly error: unknown } | undefined;
}

/** What the cache works with. */
export interface TreeCacheDeps {
  readonly store: Store;
  /** Called when a load has come back and the lane should look. */
  readonly onArrival: () => void;
  /** Called when a tree was forgotten whose state was not known for certain any more. */
  readonly onDrop?: ((treeId: TreeId) => void) | undefined;
  /** Brings the projection of a tree up to its journal. Default: nothing does, and a tree too far behind is not loaded. */
  readonly catchUp?: ((treeId: TreeId) => Promise<void>) | undefined;
  /** Default: see CacheBounds. */
  readonly bounds?: CacheBounds;
}

/** What became of commands that waited. */
export interface Arrivals {
  /** Can be tried again; in the order in which they waited. */
  readonly ready: readonly { readonly treeId: TreeId; readonly items: readonly Submitted[] }[];
  /** Their load failed, or what it brought does not fit together. */
  readonly failed: readonly {
    readonly items: readonly Submitted[];
    readonly treeId: TreeId;
    readonly error: unknown;
  }[];
  /** Their tree is out of service. */
  readonly quarantined: readonly {
    readonly items: readonly Submitted[];
    readonly treeId: TreeId;
    readonly why: string;
  }[];
}

/** The cache of trees. */
export class TreeCache {
  readonly #deps: TreeCacheDeps;
  readonly #bounds: CacheBounds;
  /** Those not used for longest first. */
  readonly #trees = new Map<TreeId, CachedTree>();
  /** Trees without an entry, oldest first. */
  readonly #absent = new Map<TreeId, CachedTree>();
  readonly #loads = new Map<TreeId, TreeLoad>();
  readonly #arrived: TreeId[] = [];
  /** Trees that have more in memory than they should keep. */
  readonly #overfull = new Set<CachedTree>();
  readonly doubts = new QueueDoubts();
  #parkedCount = 0;

  constructor(deps: TreeCacheDeps) {
    this.#deps = deps;
    this.#bounds = deps.bounds ?? new CacheBounds();
  }

  /** Commands that wait for records. */
  get parkedCount(): number {
    return this.#parkedCount;
  }

  /** Whether something can only be done between batches: records have come to be taken in, or there are too many. */
  get wantsPause(): boolean {
    if (this.#arrived.length > 0 || this.#overfull.size > 0 || this.#bounds.isPassed || this.doubts.hasDoubted)
      return true;
    return this.#trees.size > TREE_COUNT_MAX || this.#absent.size > ABSENT_TREE_COUNT_MAX;
  }

  /** Trees in memory, and the holds that are open in them, as the counters of their roots have it. */
  measure(): { readonly cachedTrees: number; readonly openHolds: number } {
    let openHolds = 0;
    for (const { state } of this.#trees.values()) openHolds += state.budget(ROOT_NO)?.activeCount ?? 0;
    return { cachedTrees: this.#trees.size, openHolds };
  }

  /** The tree, if it is in memory; marks it as the one used last. */
  get(treeId: TreeId): CachedTree | undefined {
    const tree = this.#trees.get(treeId);
    if (tree === undefined) return this.#absent.get(treeId);
    this.#trees.delete(treeId);
    this.#trees.set(treeId, tree);
    return tree;
  }

  /** The tree, if it is in memory; not marked as used. */
  peek(treeId: TreeId): CachedTree | undefined {
    return this.#trees.get(treeId) ?? this.#absent.get(treeId);
  }

  /** Takes note that nobody is there any more who waits: everybody has to come back for their places. */
  detachAll(): void {
    for (const tree of this.#trees.values()) {
      tree.attachByMs = undefined;
      tree.isSwept = false;
    }
  }

  /** Forgets a tree whose state is not known for certain any more. */
  drop(treeId: TreeId): void {
    const tree = this.#trees.get(treeId);
    if (tree !== undefined) this.doubts.dropped(tree);
    this.#forget(treeId);
  }

  #forget(treeId: TreeId): void {
    const tree = this.#trees.get(treeId);
    if (tree !== undefined) this.#bounds.drop(tree);
    this.#trees.delete(treeId);
    this.#absent.delete(treeId);
    this.#deps.onDrop?.(treeId);
  }

  /** Forgets all trees, and whatever loads under way bring. Commands go on waiting for them, and then ask again. */
  reset(): void {
    this.#trees.clear();
    this.#absent.clear();
    this.#bounds.clear();
    this.doubts.clear();
    for (const load of this.#loads.values()) load.stale = true;
  }

  /** Notes that a batch of a tree was made final. */
  committed(tree: CachedTree): void {
    const { treeId } = tree;
    if (this.#absent.get(treeId) === tree) {
      this.#absent.delete(treeId);
      this.#trees.set(treeId, tree);
    }
    if (this.#trees.get(treeId) !== tree) return;
    this.#bounds.note(tree);
    if (tree.isOverfull) this.#overfull.add(tree);
  }

  /**
   * Begins to load leases that will be due before long, if the cache does not have them: a tree with very many of them
   * would else stand still while page after page is read at the instant at which they are due.
   */
  loadLeasesAhead(treeId: TreeId, nowMs: number): void {
    const tree = this.#trees.get(treeId);
    if (tree === undefined || tree.leasesThroughMs >= nowMs + LEASES_AHEAD_MS || this.#loads.has(treeId)) return;
    this.#start(treeId, { paths: [], reservationIds: [], leases: true });
  }

  /** Lets commands wait for what they miss. */
  park(treeId: TreeId, items: readonly Submitted[], missing: Missing): void {
    this.#parkedCount += items.length;
    const load = this.#loads.get(treeId) ?? this.#start(treeId, missing);
    for (const item of items) load.waiting.push(item);
  }

  /**
   * Lets the commands of a tree wait, those that are still to come as well, until the past that an edit needs is read at the end
   * of the tree's journal. The edit comes back first. Only while nothing of the tree is under way.
   */
  pause(treeId: TreeId, { item, items, needs }: Pause): void {
    this.drop(treeId);
    this.#parkedCount += items.length;
    const edit: Edit = { item, needs, fault: undefined };
    const underWay = this.#loads.get(treeId);
    if (underWay !== undefined) underWay.next = edit;
    const load = underWay ?? this.#start(treeId, needsOf(item.command), edit);
    load.waiting.putFirst(items);
  }

  /** The commands that wait for records of a tree; undefined where there are none. */
  lineOf(treeId: TreeId): Line<Submitted> | undefined {
    return this.#loads.get(treeId)?.waiting;
  }

  /** The line with most commands that may be sent away. */
  longest(): Line<Submitted> | undefined {
    return longestOf([...this.#loads.values()].map(({ waiting }) => waiting));
  }

  /** Takes the newest command that may be sent away out of that line; undefined where none may. */
  shedLongest(): Submitted | undefined {
    const item = this.longest()?.shed();
    if (item !== undefined) this.#parkedCount -= 1;
    return item;
  }

  /** Everything that waits, taken out. */
  drain(): Submitted[] {
    const all = [...this.#loads.values()].flatMap(({ waiting }) => [...waiting.items]);
    this.#loads.clear();
    this.#arrived.length = 0;
    this.#parkedCount = 0;
    return all;
  }

  /** Takes in what has come back. Only between batches. */
  takeArrivals(): Arrivals {
    const ready: { treeId: TreeId; items: readonly Submitted[] }[] = [];
    const failed: { items: readonly Submitted[]; treeId: TreeId; error: unknown }[] = [];
    const quarantined: { items: readonly Submitted[]; treeId: TreeId; why: string }[] = [];
    for (const treeId of this.#arrived.splice(0)) {
      const load = this.#loads.get(treeId);
      if (load?.outcome === undefined) continue;
      this.#loads.delete(treeId);
      const { items } = load.waiting;
      if (load.next !== undefined && items.includes(load.next.item)) {
        this.#start(treeId, needsOf(load.next.item.command), load.next).waiting.putFirst(items);
        continue;
      }
      this.#parkedCount -= items.length;
      if ('error' in load.outcome) failed.push({ items, treeId, error: load.outcome.error });
      else if (load.outcome.loaded.quarantine === undefined) {
        try {
          if (!load.stale) this.#takeIn(treeId, load.outcome.loaded, load);
          const { edit } = load;
          const isFaulty = (item: Submitted): boolean => edit?.fault !== undefined && item === edit.item;
          ready.push({ treeId, items: items.filter((item) => !isFaulty(item)) });
          if (edit?.fault !== undefined)
            failed.push({ items: items.filter(isFaulty), treeId, error: edit.fault.error });
        } catch (error) {
          failed.push({ items, treeId, error });
        }
      } else quarantined.push({ items, treeId, why: load.outcome.loaded.quarantine });
    }
    return { ready, failed, quarantined };
  }

  /** Forgets what is to be read anew, and what has not been used for longest, down to the bounds. Only between batches. */
  trim(): void {
    // What rests in them is tried at once when they have been read.
    for (const tree of this.doubts.takeDoubted()) if (this.peek(tree.treeId) === tree) this.#forget(tree.treeId);
    for (const tree of this.#overfull) this.#letGo(tree);
    this.#overfull.clear();
    this.#bounds.trim(this.#trees.values());
    for (const treeId of this.#absent.keys()) {
      if (this.#absent.size <= ABSENT_TREE_COUNT_MAX) break;
      this.#absent.delete(treeId);
    }
    if (this.#trees.size <= TREE_COUNT_MAX) return;
    for (const [treeId, tree] of this.#trees) {
      if (this.#trees.size <= TREE_COUNT_MAX) break;
      const isQuiet = tree.tail.length === 0 && tree.state.queue === undefined;
      if (isQuiet && !this.#loads.has(treeId)) this.drop(treeId);
    }
  }

  // It may have been dropped since.
  #letGo(tree: CachedTree): void {
    if (this.#trees.get(tree.treeId) !== tree) return;
    tree.letGo();
    this.#bounds.note(tree);
  }

  // A load that can't be joined is not taken in. Mostly the projection has just moved on past what it saw, and its commands
  // miss their records and ask once more. But a projection that went back since it began (an operator rebuilds it), or that
  // is ahead of the tree here (somebody else has written), only a new load of the whole tree can tell.
  #takeIn(treeId: TreeId, loaded: Loaded, { asked, withTail, fromSeq }: TreeLoad): void {
    const known = this.peek(treeId);
    if (known !== undefined) {
      if (known.install(loaded, asked)) this.committed(known);
      else if (loaded.projectedSeq < fromSeq || loaded.projectedSeq > known.state.position.seq) this.drop(treeId);
      return;
    }
    if (!withTail) return;
    const tree = new CachedTree(treeId, loaded, asked);
    this.doubts.loaded(tree);
    this.#absent.set(treeId, tree);
    if (tree.head.seq > 0) this.committed(tree);
  }

  #start(treeId: TreeId, asked: Missing, edit?: Edit): TreeLoad {
    const known = this.peek(treeId);
    const withTail = known === undefined;
    const fromSeq = known?.projectedSeq ?? 0;
    const load: TreeLoad = {
      asked,
      withTail,
      fromSeq,
      waiting: new Line(),
      outcome: undefined,
      edit,
      next: undefined,
      stale: false,
    };
    this.#loads.set(treeId, load);
    const leases = withTail
      ? { afterReclaimMs: Number.NEGATIVE_INFINITY, countMax: LEASE_PAGE_FIRST }
      : { afterReclaimMs: known.leasesThroughMs, countMax: LEASE_PAGE };
    const request: LoadRequest = {
      treeId,
      paths: asked.paths,
      reservationIds: asked.reservationIds,
      ...(asked.periods !== undefined && { periods: asked.periods }),
      leases: withTail || asked.leases ? leases : undefined,
      withTail,
    };
    const reading = edit === undefined ? this.#read(request) : this.#readWithPast(request, edit);
    reading.then(
      (loaded) => this.#arrive(treeId, load, { loaded }),
      (error: unknown) => this.#arrive(treeId, load, { error }),
    );
    return load;
  }

  async #read(request: LoadRequest): Promise<Loaded> {
    for (let attempt = 1; attempt <= CATCH_UP_ATTEMPTS_MAX; attempt += 1) {
      const loaded = await this.#deps.store.load(request);
      if (loaded.tailTooLong === undefined || loaded.quarantine !== undefined) return loaded;
      await this.#deps.catchUp?.(request.treeId);
    }
    throw new StoreTimeoutError(`the projection of tree ${request.treeId} is too far behind to load it`);
  }

  // The tree as it is at the end of its journal, with the sums up to there. Nobody here appends to it meanwhile: once its
  // projection is there, it stays. Where the past can't be read the tree is loaded all the same: the others go on.
  async #readWithPast(request: LoadRequest, edit: Edit): Promise<Loaded> {
    const readCount = (edit.item.past?.readCount ?? 0) + 1;
    try {
      await this.#deps.catchUp?.(request.treeId);
      const loaded = await this.#read(request);
      const budgets: BudgetPast[] = [];
      let fits = true;
      for (const { budgetNo, needs } of edit.needs) {
        const { seq, sums } = await this.#deps.store.readHistory(request.treeId, budgetNo, needs);
        budgets.push({ budgetNo, sums });
        if (seq !== loaded.head.seq) fits = false;
      }
      edit.item.past = { history: fits ? { seq: loaded.head.seq, budgets } : undefined, readCount };
      return loaded;
    } catch (error) {
      if (error instanceof StoreUnavailableError && !(error instanceof StoreTimeoutError)) throw error;
      edit.fault = { error };
      return this.#read(request);
    }
  }

  #arrive(treeId: TreeId, load: TreeLoad, outcome: NonNullable<TreeLoad['outcome']>): void {
    if (this.#loads.get(treeId) !== load) return;
    load.outcome = outcome;
    this.#arrived.push(treeId);
    this.#deps.onArrival();
  }
}
