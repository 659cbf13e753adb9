// What the end of an append means for the commands of its batch. Every way in which an append can end is handled here and
// nowhere else:
//   committed     the batch is final, everybody is answered
//   fenced        another process is the writer: nothing was written, everybody is told
//   conflict      a head had moved or the database asked for a retry: forget those trees, decide again, a bounded number of times
//   key_exists    a key is in the journal already: find out what it answers, decide again
//   unreachable   the outcome is unknown and stays so: say so to all, and let nobody wait for what can't be had
//   anything else the batch is taken apart and each command decided alone, so that only the one at fault fails
import type { TreeId } from '../kernel/names.ts';
import type { Refusal } from '../kernel/refusal.ts';
import { type AppendResult, StoreUnavailableError } from '../store/port.ts';
import type { Submitted, TreeBatch } from './batch.ts';
import type { KeySearch } from './key-search.ts';
import type { LaneDeps } from './lane-deps.ts';
import type { LaneObserver } from './lane-observer.ts';
import * as refusals from './refusals.ts';
import { refuseAll } from './refuse-all.ts';
import type { TreeCache } from './tree-cache.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** How often a lost race is run again. Each loss means that somebody else got something done; five in a row are no luck. */
const ATTEMPTS_MAX = 5;

/** The parts of the lane that an outcome touches. */
export interface OutcomeParts {
  readonly deps: LaneDeps;
  readonly observer: LaneObserver;
  /** Has commands decided again, before others of their tree, in this order. */
  readonly putBack: (treeId: TreeId, items: readonly Submitted[]) => void;
  readonly cache: TreeCache;
  readonly searches: KeySearch;
  readonly room: WaitingRoom;
  /** Forgets all cached state. */
  readonly reset: () => void;
  /** Takes out everything that waits. */
  readonly takeAll: () => Submitted[];
}

/** See the head of this file. */
export class Outcomes {
  readonly #parts: OutcomeParts;

  constructor(parts: OutcomeParts) {
    this.#parts = parts;
  }

  /** The append under `epoch` has an outcome. */
  known(live: readonly TreeBatch[], epoch: number, result: AppendResult): void {
    const { deps, putBack, cache, searches, reset } = this.#parts;
    switch (result.outcome) {
      case 'committed':
        this.#committed(live, result.heads);
        return;
      case 'fenced':
        this.#takeBack(live);
        reset();
        deps.onFenced(epoch);
        this.#refuse(live.flatMap(itemsOf), refusals.notLeader(deps.leaderAddress()));
        return;
      case 'conflict':
        this.#takeBack(live);
        for (const { tree, entries } of live) if (entries.length > 0) cache.drop(tree.treeId);
        this.#tryAgain(live);
        return;
      case 'key_exists':
        this.#takeBack(live);
        for (const { tree, answered, waiting, deferred } of live) {
          const unsearched = [...answered, ...waiting].map(({ item }) => item);
          if (unsearched.length > 0) searches.search(tree, unsearched);
          putBack(tree.treeId, deferred);
        }
    }
  }

  /** The append ended with an error. */
  failed(live: readonly TreeBatch[], error: unknown): void {
    this.#takeBack(live);
    for (const { tree } of live) this.#parts.cache.drop(tree.treeId);
    if (error instanceof StoreUnavailableError) this.#storeIsDown(live, error);
    else this.#takeApart(live, error);
  }

  /** It was found before the append that this process is not the leader any more. */
  notLeader(live: readonly TreeBatch[]): void {
    this.#takeBack(live);
    this.#refuse(live.flatMap(itemsOf), refusals.notLeader(this.#parts.deps.leaderAddress()));
  }

  #committed(live: readonly TreeBatch[], heads: readonly { seq: number; hash: string; atMs: number }[]): void {
    const { deps, putBack, cache, room } = this.#parts;
    let at = 0;
    for (const { tree, entries } of live) {
      if (entries.length === 0) continue;
      const head = heads[at++];
      if (head === undefined) throw new Error('a committed append names every head');
      tree.committed(head, entries);
      cache.committed(tree);
      deps.onCommitted(tree.treeId, entries.length);
    }
    for (const { tree, entries, answered, deferred } of live) {
      for (const { item, answer } of answered) {
        item.resolve(answer);
        room.answered(tree, item, answer);
      }
      room.committed(tree, entries);
      putBack(tree.treeId, deferred);
    }
  }

  #takeBack(live: readonly TreeBatch[]): void {
    takeBack(live, this.#parts.room);
  }

  #tryAgain(live: readonly TreeBatch[]): void {
    for (const batch of live) {
      const again: Submitted[] = [];
      const lost: Submitted[] = [];
      for (const item of itemsOf(batch)) {
        item.attempts += 1;
        (item.attempts < ATTEMPTS_MAX ? again : lost).push(item);
      }
      this.#refuse(lost, refusals.contention());
      this.#parts.putBack(batch.tree.treeId, again);
    }
  }

  #storeIsDown(live: readonly TreeBatch[], error: StoreUnavailableError): void {
    const { deps, takeAll, room, cache } = this.#parts;
    deps.log('error', 'the store does not answer', { error });
    this.#refuse([...live.flatMap(itemsOf), ...takeAll()], refusals.storeUnavailable());
    room.sendAway(refusals.storeUnavailable());
    for (const { tree, answered } of live) {
      for (const { item, answer } of answered) room.unanswered(tree, item, answer);
    }
    cache.detachAll();
  }

  // A fault that is neither a race nor an outage. One command alone is refused with it; several are decided one by one.
  #takeApart(live: readonly TreeBatch[], error: unknown): void {
    const items = live.flatMap(itemsOf);
    // It may be committed all the same, and those who have gone ask no more.
    for (const { tree, answered } of live) {
      const left = answered.filter(({ item }) => item.signal?.aborted === true);
      for (const { item, answer } of left) this.#parts.room.unanswered(tree, item, answer);
    }
    this.#parts.deps.log('error', 'a batch failed', { commands: items.length, error });
    if (items.length === 1) items[0]?.reject(error);
    else {
      for (const item of items) item.alone = true;
      for (const batch of live) this.#parts.putBack(batch.tree.treeId, itemsOf(batch));
    }
  }

  #refuse(items: readonly Submitted[], refusal: Refusal): void {
    this.#parts.room.refused(items, refusal);
    refuseAll(this.#parts.observer, items, refusal);
  }
}

/** Takes back what a batch did to its trees, and what any other did to them that is not final. */
export function takeBack(live: readonly TreeBatch[], room: WaitingRoom): void {
  for (const { tree, waiting } of live) {
    tree.takeBack();
    for (const { item, id } of waiting) room.takenBack(tree, item, id);
  }
}

/** Commands that wait for this batch: those decided in it, and those for which there were too many lapses to record first. */
export function itemsOf({ answered, waiting, deferred }: TreeBatch): Submitted[] {
  return [...answered.map(({ item }) => item), ...waiting.map(({ item }) => item), ...deferred];
}
