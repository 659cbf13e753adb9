// The price book of the memory store.
import type { MemoryDatabase } from './memory-database.ts';
import type { PriceStore } from './price-port.ts';

/** The part of a memory store that keeps prices. `up` throws while the store is down. */
export function memoryPrices(database: MemoryDatabase, up: () => void): PriceStore {
  return {
    async loadPrices() {
      up();
      return [...database.prices.values()];
    },
    async addPrices(epoch, records) {
      up();
      if (database.lease.epoch !== epoch) return 'fenced';
      for (const record of records) {
        const key = `${record.kind} ${record.hash}`;
        if (!database.prices.has(key)) database.prices.set(key, record);
      }
      return 'added';
    },
  };
}
