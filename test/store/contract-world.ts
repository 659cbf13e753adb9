// What the parts of the store's contract work on: one store, the epoch it writes under, and a fresh tree for each test.
import type { Entry } from '../../src/kernel/entry.ts';
import type { TreeId } from '../../src/kernel/names.ts';
import type { Audit } from '../../src/store/audit.ts';
import type { Head, Loaded, LoadRequest, Store } from '../../src/store/port.ts';
import type { ReadModels } from '../../src/store/reads.ts';
import { appendTo, NO_HEAD, threeLevels, tree } from './sample-entries.ts';

/** A store with everything that the contract covers. */
export type FullStore = Store & ReadModels & Audit;

/** Filled before the tests run; `treeId` changes with each. */
export class ContractWorld {
  epoch = 0;
  treeId: TreeId = tree('tree-0');
  #treeCount = 0;
  #store: FullStore | undefined;

  get store(): FullStore {
    if (this.#store === undefined) throw new Error('the store is not open yet');
    return this.#store;
  }

  /** Takes a store and its writer's lease. */
  async enter(store: FullStore): Promise<void> {
    this.#store = store;
    this.epoch = (await store.holdWriterLease('contract', 'here:1', undefined, 3_600_000)).epoch;
  }

  /** Goes on to a tree that nobody has used. */
  nextTree(): void {
    this.#treeCount += 1;
    this.treeId = tree(`tree-${this.#treeCount}`);
  }

  /** Loads from the current tree; nothing but what is asked. */
  load(over: Partial<LoadRequest> = {}): Promise<Loaded> {
    const { treeId } = this;
    return this.store.load({ treeId, paths: [], reservationIds: [], leases: undefined, withTail: false, ...over });
  }

  /** Appends the first entries of the current tree. */
  start(entries: readonly Entry[] = threeLevels(this.treeId)): Promise<Head> {
    return appendTo(this.store, this.epoch, { treeId: this.treeId, expected: NO_HEAD, entries });
  }

  /** The lowest budget of the current tree. */
  onRun() {
    return { path: `${this.treeId}/team/run`, nos: [1, 2, 3] };
  }

  /** Projects entries of the current tree and gives its projected sequence. */
  async project(entries: readonly Entry[]): Promise<number | undefined> {
    const { treeId } = this;
    return (await this.store.project([{ treeId, entries }])).get(treeId);
  }
}
