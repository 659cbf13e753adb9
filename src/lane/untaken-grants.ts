// Grants that nobody has taken yet, of Reserves that may wait: once all who are to be handed one have gone, it is given back. Outlives
// the trees in memory, since a tree is forgotten for a fault or a lost race; ends with the lead, since another leader may hand them out.
import type { ReservationId, TreeId } from '../kernel/names.ts';
import type { CachedTree } from './cached-tree.ts';

/** See the head of this file. */
export class UntakenGrants {
  /** By tree and grant: what aborts when one of those goes whose answer it is to be. */
  readonly #trees = new Map<TreeId, Map<ReservationId, AbortSignal[]>>();

  /** Whether nobody has it, and nobody will who is still there. */
  has(treeId: TreeId, id: ReservationId): boolean {
    return (
      this.#trees
        .get(treeId)
        ?.get(id)
        ?.every(({ aborted }) => aborted) === true
    );
  }

  /** A grant was decided; it need not be final. `signal`: of the caller whose answer it is to be; undefined for one out of the queue. */
  add(treeId: TreeId, id: ReservationId, signal?: AbortSignal): void {
    const tree = this.#trees.get(treeId) ?? new Map<ReservationId, AbortSignal[]>();
    this.#trees.set(treeId, tree.set(id, signal === undefined ? [] : [signal]));
  }

  /** A repeat is to be answered with it. One without a signal waits for its answer whatever happens. */
  addRepeat(treeId: TreeId, id: ReservationId, signal: AbortSignal | undefined): void {
    if (signal === undefined) this.delete(treeId, id);
    else this.#trees.get(treeId)?.get(id)?.push(signal);
  }

  /** Somebody has it, or is told that it may be there. */
  delete(treeId: TreeId, id: ReservationId): void {
    const tree = this.#trees.get(treeId);
    if (tree?.delete(id) === true && tree.size === 0) this.#trees.delete(treeId);
  }

  /**
   * Forgets those of a tree that are none, by what is final: they have ended, or what granted them was taken back. `isSought`: somebody
   * will ask for it, though it may not be in memory.
   */
  sift({ treeId, state }: CachedTree, isSought: (id: ReservationId) => boolean): void {
    for (const id of this.#trees.get(treeId)?.keys() ?? []) {
      const reservation = state.reservation(id);
      const isOpen = reservation === undefined ? isSought(id) : reservation.figures.state === 'ACTIVE';
      if (!isOpen) this.delete(treeId, id);
    }
  }

  deleteTree(treeId: TreeId): void {
    this.#trees.delete(treeId);
  }

  clear(): void {
    this.#trees.clear();
  }
}
