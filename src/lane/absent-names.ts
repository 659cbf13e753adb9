// Names that a load asked for and that do not exist, so that a caller in a loop does not read the store each time. Bounded by
// forgetting all of them: whoever asks again reads once more.
import { type BudgetPath, chainOf, type ReservationId } from '../kernel/names.ts';
import type { TreeState } from '../kernel/tree-state.ts';
import type { Missing } from './missing.ts';

/** Names known not to exist, kept a tree. */
const COUNT_MAX = 1_000;

/** See the head of this file. */
export class AbsentNames {
  readonly #paths = new Set<BudgetPath>();
  readonly #ids = new Set<ReservationId>();

  get count(): number {
    return this.#paths.size + this.#ids.size;
  }

  hasPath(path: BudgetPath): boolean {
    return this.#paths.has(path);
  }

  hasId(id: ReservationId): boolean {
    return this.#ids.has(id);
  }

  /** Notes what was asked for, budgets above those named among it, and is not there. */
  note(asked: Missing, state: TreeState): void {
    if (this.count > COUNT_MAX) this.clear();
    for (const path of asked.paths.flatMap(chainOf)) if (state.budgetAt(path) === undefined) this.#paths.add(path);
    for (const id of asked.reservationIds) if (state.reservation(id) === undefined) this.#ids.add(id);
  }

  /** What has begun is not absent any more. */
  deletePath(path: BudgetPath): void {
    if (this.#paths.size > 0) this.#paths.delete(path);
  }

  deleteId(id: ReservationId): void {
    if (this.#ids.size > 0) this.#ids.delete(id);
  }

  clear(): void {
    this.#paths.clear();
    this.#ids.clear();
  }
}
