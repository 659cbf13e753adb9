// Trees out of service: remembered here so that a caller in a loop does not read the store each time, but only for a while,
// since the store has the last word and an operator may have put a tree back.
import type { TreeId } from '../kernel/names.ts';
import type { Store } from '../store/port.ts';
import type { Log } from './log.ts';

/** How soon a tree that an operator has put back is served again. */
const LOOK_MS = 3_000;

interface Quarantine {
  readonly why: string;
  /** By the monotonic clock: when the store is asked again. */
  readonly untilMs: number;
}

/** Everything that it works with. */
export interface QuarantineDeps {
  readonly store: Store;
  readonly log: Log;
  readonly monotonicMs: () => number;
}

/** See the head of this file. */
export class Quarantines {
  readonly #deps: QuarantineDeps;
  readonly #trees = new Map<TreeId, Quarantine>();

  constructor(deps: QuarantineDeps) {
    this.#deps = deps;
  }

  treeIds(): readonly TreeId[] {
    return [...this.#trees.keys()];
  }

  /** Why a tree is out of service; undefined where it isn't, or where the store should be asked again. */
  why(treeId: TreeId): string | undefined {
    const quarantine = this.#trees.get(treeId);
    if (quarantine === undefined) return undefined;
    if (this.#deps.monotonicMs() < quarantine.untilMs) return quarantine.why;
    this.#trees.delete(treeId);
    return undefined;
  }

  /** Notes what the store said of a tree. */
  note(treeId: TreeId, why: string): void {
    this.#trees.set(treeId, { why, untilMs: this.#deps.monotonicMs() + LOOK_MS });
  }

  /** Puts a tree out of service and writes that down: its records do not agree. */
  add(treeId: TreeId, why: string, error: unknown): void {
    this.#deps.log('error', 'a tree is out of service', { treeId, why, error });
    this.note(treeId, why);
    this.#deps.store.quarantine(treeId, why).catch((failure: unknown) => {
      this.#deps.log('error', 'a quarantine could not be written down', { treeId, error: failure });
    });
  }

  clear(): void {
    this.#trees.clear();
  }
}
