// A store whose every call waits for its turn from fast-check's scheduler, before and after it does its work, so that
// loads, appends and projections meet in every order. The order is part of a failing case and shrinks with it.
import type { Scheduler } from 'fast-check';
import type { Store } from '../../src/store/port.ts';

/** See the head of this file. Calls pass at once until `arm` is called, and again after `disarm`; so do the lease's. */
export interface ScheduledStore extends Store {
  arm(): void;
  disarm(): void;
}

/** Wraps a store. */
export function scheduleStore(scheduler: Scheduler, store: Store): ScheduledStore {
  let armed = false;
  const turn = async (label: string): Promise<void> => {
    if (armed) await scheduler.schedule(Promise.resolve(), label);
  };
  const take = async <T>(label: string, work: () => Promise<T>): Promise<T> => {
    await turn(`${label} begins`);
    const result = await work();
    await turn(`${label} answers`);
    return result;
  };
  return {
    ...store,
    arm: () => {
      armed = true;
    },
    disarm: () => {
      armed = false;
    },
    load: (request) => take(`load ${request.treeId}`, () => store.load(request)),
    append: (epoch, batch) => take('append', () => store.append(epoch, batch)),
    findKeys: (treeId, digests) => take('find keys', () => store.findKeys(treeId, digests)),
    readEntries: (treeId, afterSeq, countMax) => take('read', () => store.readEntries(treeId, afterSeq, countMax)),
    readHistory: (treeId, budgetNo, needs) => take('read history', () => store.readHistory(treeId, budgetNo, needs)),
    project: (batch) => take('project', () => store.project(batch)),
  };
}
