// A price book as a leader keeps it, over the store in memory.
import type { Log } from '../../src/lane/log.ts';
import type { Sleep } from '../../src/lane/loop.ts';
import { PriceKeeper, type PriceOptions } from '../../src/lane/price-keeper.ts';
import { createMemoryStore, type MemoryStore } from '../../src/store/memory-store.ts';

/** What a test may replace. */
export interface MemoryPricesOptions extends PriceOptions {
  readonly store?: MemoryStore;
  readonly nowMs?: () => number;
  readonly onFenced?: (epoch: number) => void;
  readonly log?: Log;
  /** Default: it sleeps until it is stopped. */
  readonly sleep?: Sleep;
}

/** A keeper that leads under the store's epoch from the next turn on. */
export function memoryPrices({ store = createMemoryStore(), ...options }: MemoryPricesOptions = {}): PriceKeeper {
  const keeper = new PriceKeeper({
    store,
    log: () => undefined,
    nowMs: () => 1_796_083_200_000,
    leaderAddress: () => 'there:1',
    onFenced: () => undefined,
    sleep: (_, signal) => new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
    ...options,
  });
  keeper.lead(store.database.lease.epoch);
  return keeper;
}
