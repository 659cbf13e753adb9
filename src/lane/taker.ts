// Takes in what loads and searches have brought, between two batches: commands that waited for it go back into the queue, or are told
// why they can't. Trees whose records do not agree go out of service here.
import type { Entry } from '../kernel/entry.ts';
import type { TreeId } from '../kernel/names.ts';
import { StoreTimeoutError, StoreUnavailableError } from '../store/port.ts';
import type { Appender } from './appender.ts';
import type { Submitted } from './batch.ts';
import { isCorrupt } from './is-corrupt.ts';
import type { KeySearch, SearchArrival } from './key-search.ts';
import type { LaneObserver } from './lane-observer.ts';
import type { Log } from './log.ts';
import type { Quarantines } from './quarantines.ts';
import * as refusals from './refusals.ts';
import { refuseAll } from './refuse-all.ts';
import { type Failure, rejectAll } from './reject-all.ts';
import type { TreeCache } from './tree-cache.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** The parts of the lane that it works with. */
export interface TakerParts {
  readonly log: Log;
  readonly observer: LaneObserver;
  readonly cache: TreeCache;
  readonly searches: KeySearch;
  readonly quarantines: Quarantines;
  readonly appender: Appender;
  readonly room: WaitingRoom;
  /** Has commands decided, before others of their tree, in this order. */
  readonly putBack: (treeId: TreeId, items: readonly Submitted[]) => void;
}

/** See the head of this file. */
export class Taker {
  readonly #parts: TakerParts;

  constructor(parts: TakerParts) {
    this.#parts = parts;
  }

  /** Takes in everything that has come. Only between batches. */
  take(): void {
    const { log, observer, cache, searches, quarantines, room, putBack } = this.#parts;
    const failures: Failure[] = [];
    const { ready, failed, quarantined } = cache.takeArrivals();
    for (const { treeId, items } of ready) putBack(treeId, items);
    for (const failure of failed) this.#readFailed(failure, failures);
    for (const { treeId, items, why } of quarantined) {
      quarantines.note(treeId, why);
      room.refuseTree(treeId, refusals.treeQuarantined(treeId, why));
      refuseAll(observer, items, refusals.treeQuarantined(treeId, why));
    }
    for (const arrival of searches.takeArrivals()) {
      const { tree, items, outcome } = arrival;
      if ('error' in outcome) this.#readFailed({ treeId: tree.treeId, items, error: outcome.error }, failures);
      else this.#searched(arrival, outcome.found);
    }
    rejectAll(log, failures);
  }

  /** Puts a tree out of service, and writes that down: its records do not agree. */
  quarantine(treeId: TreeId, why: string, error: unknown): void {
    const { cache, quarantines, room } = this.#parts;
    cache.drop(treeId);
    room.refuseTree(treeId, refusals.treeQuarantined(treeId, why));
    quarantines.add(treeId, why, error);
  }

  /** As quarantine, and tells these commands so. */
  refuseCorrupt(treeId: TreeId, items: readonly Submitted[], error: Error): void {
    this.quarantine(treeId, error.message, error);
    refuseAll(this.#parts.observer, items, refusals.treeQuarantined(treeId, error.message));
  }

  #searched({ tree, items }: SearchArrival, entries: readonly Entry[]): void {
    const { cache, putBack } = this.#parts;
    // Otherwise the tree was forgotten meanwhile, and others may have written to it since: the commands are judged afresh.
    if (cache.get(tree.treeId) === tree) {
      const found = new Set<string>();
      for (const entry of entries) {
        if (entry.key === undefined) continue;
        tree.state.remember(entry.key.digest, entry);
        found.add(entry.key.digest);
      }
      tree.state.commit();
      for (const item of items) if (!found.has(item.command.key?.digest ?? '')) item.searchedFor = tree;
    }
    putBack(tree.treeId, items);
  }

  // Only where the store itself is gone is it everybody's: a read that took too long is felt by those who waited for it.
  #readFailed(failure: Failure, failures: Failure[]): void {
    const { treeId, items, error } = failure;
    const { log, observer, cache, appender } = this.#parts;
    if (error instanceof StoreUnavailableError) {
      if (error instanceof StoreTimeoutError)
        log('warn', 'a tree could not be read in time', { treeId, commands: items.length, error });
      else appender.readFailed();
      refuseAll(observer, items, refusals.storeUnavailable());
      return;
    }
    if (isCorrupt(error)) this.refuseCorrupt(treeId, items, error);
    else {
      cache.drop(treeId);
      failures.push(failure);
    }
  }
}
