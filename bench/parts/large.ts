// A tree with a past: many ended reservations, budgets and open holds must not slow a Reserve, fill the memory or delay a
// start.

import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { callOnce, startBenchService } from '../service.ts';
import { createTree, leafOf, loadFigure, measure } from './hot-tree.ts';
import type { BenchContext, Figure, Part } from './part.ts';
import { SEEDED_ENV, seedTree } from './seed.ts';

const BUDGET_COUNT = 100_000;
const LIVE_COUNT = 100_000;
/** Far beyond the run: nothing lapses while it is measured. */
const RECLAIM_IN_MS = 6 * 3_600_000;
const IN_FLIGHT = 512;

const EMPTY = 'Reserve, Session, 512 in flight, empty tree';

async function throughput(context: BenchContext, tree: string, name: string): Promise<readonly Figure[]> {
  const startMs = performance.now();
  const service = await startBenchService(context.databaseUrl, SEEDED_ENV);
  try {
    await callOnce(service.address, BudgetService.method.getBudget, { budget: leafOf(tree) });
    const firstAnswerMs = performance.now() - startMs;
    const load = { address: service.address, budgets: [leafOf(tree)], countMs: context.countMs, streams: 1 };
    const report = await measure(context.databaseUrl, 'session', { ...load, inFlight: IN_FLIGHT, mode: 'cycle' });
    return [
      { ...loadFigure(context, name, report, EMPTY), name },
      { name: `${name}: start to first answer`, p50Ms: firstAnswerMs },
      { name: `${name}: resident memory`, note: `${await service.residentMb()} MB` },
    ];
  } finally {
    await service.stop();
  }
}

/** The part. */
export const largePart: Part = {
  name: 'large',
  what: `a tree with a past, ${BUDGET_COUNT} budgets and ${LIVE_COUNT} open holds, against an empty one (Reserve+Settle)`,
  async run(context) {
    const { databaseUrl, pastCount } = context;
    const service = await startBenchService(databaseUrl);
    await createTree(service.address, 'small');
    await createTree(service.address, 'large');
    await service.stop();
    const empty = await throughput(context, 'small', EMPTY);
    await seedTree({
      databaseUrl,
      tree: 'large',
      pastCount,
      liveCount: LIVE_COUNT,
      reclaimMs: Date.now() + RECLAIM_IN_MS,
      spreadMs: 3_600_000,
      budgetCount: BUDGET_COUNT,
    });
    const name = `Reserve, Session, 512 in flight, ${pastCount.toLocaleString('en')} past reservations`;
    const large = await throughput({ ...context, figures: [...context.figures, ...empty] }, 'large', name);
    return [...empty, ...large];
  },
};
