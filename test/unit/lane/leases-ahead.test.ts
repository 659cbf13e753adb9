// Leases that will be due before long are read ahead, so that a tree with very many of them does not stand still when they
// are due.
import { expect, it } from 'vitest';
import type { TreeId } from '../../../src/kernel/names.ts';
import { TreeCache } from '../../../src/lane/tree-cache.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Loaded, LoadRequest, Store } from '../../../src/store/port.ts';
import { settle } from '../../support/manual-time.ts';

const T = 't' as TreeId;
const NOW_MS = 1_000_000;

/** A cache with one tree, whose store says of each load how far its leases reach. */
async function cacheWithLeasesThrough(...throughMs: readonly number[]) {
  const requests: LoadRequest[] = [];
  const store: Store = {
    ...createMemoryStore(),
    load(request): Promise<Loaded> {
      const leasesThroughMs = throughMs[requests.length];
      requests.push(request);
      return Promise.resolve({
        head: { seq: 1, hash: '11'.repeat(32), atMs: 1 },
        projectedSeq: 1,
        budgetCount: 0,
        budgets: [],
        reservations: [],
        leasesThroughMs,
        tail: [],
        quarantine: undefined,
      });
    },
  };
  const cache = new TreeCache({ store, onArrival: () => undefined });
  cache.park(T, [], { paths: [], reservationIds: [], leases: true });
  await settle();
  cache.takeArrivals();
  return { cache, requests };
}

it('begins where the last page ended, one page at a time, until they reach far enough', async () => {
  const { cache, requests } = await cacheWithLeasesThrough(NOW_MS + 10_000, NOW_MS + 20_000, NOW_MS + 31_000);
  cache.loadLeasesAhead(T, NOW_MS);
  cache.loadLeasesAhead(T, NOW_MS);
  expect(requests.slice(1).map(({ leases }) => leases?.afterReclaimMs)).toEqual([NOW_MS + 10_000]);
  await settle();
  cache.takeArrivals();
  cache.loadLeasesAhead(T, NOW_MS);
  await settle();
  cache.takeArrivals();
  cache.loadLeasesAhead(T, NOW_MS);
  expect(requests.slice(1).map(({ leases }) => leases?.afterReclaimMs)).toEqual([NOW_MS + 10_000, NOW_MS + 20_000]);
});

it('reads nothing where all leases are loaded, or for a tree that is not in memory', async () => {
  const { cache, requests } = await cacheWithLeasesThrough(Number.POSITIVE_INFINITY);
  cache.loadLeasesAhead(T, NOW_MS);
  cache.loadLeasesAhead('nobody' as TreeId, NOW_MS);
  expect(requests).toHaveLength(1);
});
