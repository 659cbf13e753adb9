// Very many leases due within one second in a tree that is busy: how soon they are reclaimed, and what others feel of it.
import { setTimeout as sleep } from 'node:timers/promises';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { runLoad } from '../load/run-load.ts';
import { callOnce, startBenchService } from '../service.ts';
import { createTree, leafOf } from './hot-tree.ts';
import type { Figure, Part } from './part.ts';
import { SEEDED_ENV, seedTree } from './seed.ts';

const DUE_COUNT = 100_000;
/** Enough to start the service, warm the load up and measure it undisturbed first. */
const DUE_IN_MS = 22_000;
const LOOK_MS = 50;
const IN_FLIGHT = 64;

/** Resolves with how long after `dueMs` the tree's live reservations are only those of the load. */
async function reclaimedAfterMs(address: string, dueMs: number): Promise<number> {
  for (;;) {
    const { budget } = await callOnce(address, BudgetService.method.getBudget, { budget: 'due' });
    const active = Number(budget?.totals?.activeReservations ?? 0n);
    if (Date.now() >= dueMs && active < DUE_COUNT / 2) return Date.now() - dueMs;
    await sleep(LOOK_MS);
  }
}

/** The part. */
export const duePart: Part = {
  name: 'due',
  what: `${DUE_COUNT} leases due within one second in a busy tree`,
  async run({ databaseUrl }) {
    const first = await startBenchService(databaseUrl);
    await createTree(first.address, 'due');
    await first.stop();
    const dueMs = Date.now() + DUE_IN_MS;
    await seedTree({
      databaseUrl,
      tree: 'due',
      pastCount: 0,
      liveCount: DUE_COUNT,
      reclaimMs: dueMs,
      spreadMs: 1_000,
      budgetCount: 0,
    });
    const service = await startBenchService(databaseUrl, SEEDED_ENV);
    try {
      const plan = {
        address: service.address,
        budgets: [leafOf('due')],
        inFlight: IN_FLIGHT,
        streams: 1,
        mode: 'cycle' as const,
      };
      const usual = await runLoad('session', { ...plan, warmUpMs: 2_000, countMs: 3_000, keyPrefix: 'usual' });
      const untilDueMs = dueMs - Date.now();
      const [reclaimedMs, during] = await Promise.all([
        reclaimedAfterMs(service.address, dueMs),
        runLoad('session', { ...plan, warmUpMs: Math.max(0, untilDueMs - 500), countMs: 10_000, keyPrefix: 'during' }),
      ]);
      const figures: Figure[] = [
        {
          name: 'usual',
          perSecond: (usual.count / usual.countedMs) * 1_000,
          p50Ms: usual.p50Us / 1_000,
          p99Ms: usual.p99Us / 1_000,
        },
        {
          name: 'while 100,000 leases fall due',
          perSecond: (during.count / during.countedMs) * 1_000,
          ratio: during.p99Us / usual.p99Us,
          p50Ms: during.p50Us / 1_000,
          p99Ms: during.p99Us / 1_000,
          note: `the ratio is of the 99th percentiles; longest ${(during.maxUs / 1_000).toFixed(0)} ms; ${during.refused} refused`,
        },
        { name: 'all reclaimed after', p50Ms: reclaimedMs },
      ];
      return figures;
    } finally {
      await service.stop();
    }
  },
};
