// Which trees are in memory, and the loads that bring what is not. Loads run off the lane: while one is under way its
// commands wait here and the lane goes on with others. What a load brought is taken in between two batches.
import type { TreeId } from '../kernel/names.ts';
import type { Loaded, LoadRequest, Store } from '../store/port.ts';
import type { Submitted } from './batch.ts';
import { CachedTree, type Missing } from './cached-tree.ts';

/** Live reservations that one load brings at the most: about 1 MB of rows, read in a few milliseconds. */
const LEASE_PAGE = 2_000;

/** Trees kept in memory; an idle one costs a few kilobytes. */
const TREE_COUNT_MAX = 20_000;

/** Answers remembered in memory over all trees, about 1 KB each; the store knows all of them. */
const REMEMBERED_COUNT_MAX = 50_000;

/** Number of a tree's first budget. */
const ROOT_NO = 1;

/** A load that is under way or has come back. */
interface TreeLoad {
  readonly asked: Missing;
  /** Whether it brings the entries that are not projected yet, and so can stand alone. */
  readonly withTail: boolean;
  readonly items: Submitted[];
  /** What the next load of this tree asks for. */
  readonly next: Submitted[];
  outcome: { readonly loaded: Loaded } | { readonly error: unknown } | undefined;
  /** What it brings was read before everything was forgotten. */
  stale: boolean;
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
  readonly #store: Store;
  readonly #onArrival: () => void;
  readonly #trees = new Map<TreeId, CachedTree>();
  readonly #loads = new Map<TreeId, TreeLoad>();
  readonly #arrived: TreeId[] = [];
  #parkedCount = 0;

  /** `onArrival` is called when a load has come back and the lane should look. */
  constructor(store: Store, onArrival: () => void) {
    this.#store = store;
    this.#onArrival = onArrival;
  }

  /** Commands that wait for records. */
  get parkedCount(): number {
    return this.#parkedCount;
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
    if (tree !== undefined) {
      this.#trees.delete(treeId);
      this.#trees.set(treeId, tree);
    }
    return tree;
  }

  /** The tree, if it is in memory; not marked as used. */
  peek(treeId: TreeId): CachedTree | undefined {
    return this.#trees.get(treeId);
  }

  /** Forgets a tree whose state is not known for certain any more. */
  drop(treeId: TreeId): void {
    this.#trees.delete(treeId);
  }

  /** Forgets all trees, and whatever loads under way bring. Commands go on waiting for them, and then ask again. */
  reset(): void {
    this.#trees.clear();
    for (const load of this.#loads.values()) load.stale = true;
  }

  /** Lets commands wait for what they miss; `missing` undefined asks for the tree itself. */
  park(treeId: TreeId, items: readonly Submitted[], missing: Missing | undefined): void {
    this.#parkedCount += items.length;
    const load = this.#loads.get(treeId);
    if (load !== undefined) load.next.push(...items);
    else this.#start(treeId, [...items], missing);
  }

  /** Everything that waits, taken out. */
  drain(): Submitted[] {
    const all = [...this.#loads.values()].flatMap((load) => [...load.items, ...load.next]);
    this.#loads.clear();
    this.#arrived.length = 0;
    this.#parkedCount = 0;
    return all;
  }

  /** Takes in what has come back. Only between batches. */
  takeArrivals(): Arrivals {
    const ready: { treeId: TreeId; items: Submitted[] }[] = [];
    const failed: { items: Submitted[]; treeId: TreeId; error: unknown }[] = [];
    const quarantined: { items: Submitted[]; treeId: TreeId; why: string }[] = [];
    for (const treeId of this.#arrived.splice(0)) {
      const load = this.#loads.get(treeId);
      if (load?.outcome === undefined) continue;
      this.#loads.delete(treeId);
      this.#parkedCount -= load.items.length + load.next.length;
      const items = [...load.items, ...load.next];
      if ('error' in load.outcome) failed.push({ items, treeId, error: load.outcome.error });
      else if (load.outcome.loaded.quarantine === undefined) {
        try {
          if (!load.stale) this.#takeIn(treeId, load.outcome.loaded, load.asked, load.withTail);
          ready.push({ treeId, items });
        } catch (error) {
          failed.push({ items, treeId, error });
        }
      } else quarantined.push({ items, treeId, why: load.outcome.loaded.quarantine });
    }
    return { ready, failed, quarantined };
  }

  /** Forgets what has not been used for longest, down to the bounds. Only between batches. */
  trim(): void {
    if (this.#trees.size > TREE_COUNT_MAX) {
      for (const [treeId, tree] of this.#trees) {
        if (this.#trees.size <= TREE_COUNT_MAX) break;
        if (tree.tail.length === 0 && !this.#loads.has(treeId)) this.#trees.delete(treeId);
      }
    }
  }

  /** Answers that one tree may keep in memory now. */
  get rememberedCountMax(): number {
    return Math.max(256, Math.floor(REMEMBERED_COUNT_MAX / Math.max(1, this.#trees.size)));
  }

  // A load that can't be joined is not taken in: the projection went back (an operator rebuilds it) or is ahead (somebody
  // else has written). Only a new load of the tree as a whole can tell; its commands miss their records and ask for it.
  #takeIn(treeId: TreeId, loaded: Loaded, asked: Missing, withTail: boolean): void {
    const known = this.#trees.get(treeId);
    if (known !== undefined) {
      if (!known.install(loaded, asked)) this.#trees.delete(treeId);
      return;
    }
    if (!withTail) return;
    const tree = new CachedTree(treeId, loaded);
    tree.noteAbsent(asked);
    this.#trees.set(treeId, tree);
  }

  #start(treeId: TreeId, items: Submitted[], missing: Missing | undefined): void {
    const cached = this.#trees.get(treeId);
    const asked = missing ?? { paths: [], reservationIds: [], leases: true };
    const withTail = cached === undefined;
    const load: TreeLoad = { asked, withTail, items, next: [], outcome: undefined, stale: false };
    this.#loads.set(treeId, load);
    const request: LoadRequest = {
      treeId,
      paths: asked.paths,
      reservationIds: asked.reservationIds,
      leases:
        cached !== undefined && !asked.leases
          ? undefined
          : { afterReclaimMs: cached?.leasesThroughMs ?? Number.NEGATIVE_INFINITY, countMax: LEASE_PAGE },
      withTail: load.withTail,
    };
    this.#store.load(request).then(
      (loaded) => this.#arrive(treeId, load, { loaded }),
      (error: unknown) => this.#arrive(treeId, load, { error }),
    );
  }

  #arrive(treeId: TreeId, load: TreeLoad, outcome: NonNullable<TreeLoad['outcome']>): void {
    if (this.#loads.get(treeId) !== load) return;
    load.outcome = outcome;
    this.#arrived.push(treeId);
    this.#onArrival();
  }
}
