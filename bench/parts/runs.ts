// Run budgets: a tenant with a million closed and a hundred thousand open runs against one with ten, and how fast runs make
// themselves.
import postgres from 'postgres';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { callOnce, startBenchService } from '../service.ts';
import { loadFigure, measure } from './hot-tree.ts';
import type { BenchContext, Figure, Part } from './part.ts';
import { addBudgets, SEEDED_ENV } from './seed.ts';

const CLOSED_COUNT = 1_000_000;
const OPEN_COUNT = 100_000;
/** Runs that are used, in both. */
const USED_COUNT = 10;
/** More first uses than a run of the part can make. */
const FIRST_COUNT = 200_000;
const IN_FLIGHT = 512;

/** Far above what a run of the part can spend. */
const AMOUNT_MICROS = 1_000_000_000_000_000n;

const FEW = `Reserve+Settle cycles, Session, ${IN_FLIGHT} in flight, ten runs`;
const MANY =
  `Reserve+Settle cycles, Session, ${IN_FLIGHT} in flight, ten runs beside ` +
  `${OPEN_COUNT.toLocaleString('en')} open and ${CLOSED_COUNT.toLocaleString('en')} closed ones`;
const FIRST = `Reserve, Session, ${IN_FLIGHT} in flight, each the first use of a run`;

const usedRuns = (tree: string): string[] => Array.from({ length: USED_COUNT }, (_, no) => `${tree}/run-${no}`);

async function createTenant(address: string, tree: string): Promise<void> {
  const limits = [{ amountMicros: AMOUNT_MICROS }];
  await callOnce(address, BudgetService.method.createBudget, {
    budget: { budget: tree, limits, childTemplate: { kind: 'run', limits } },
    idempotencyKey: 'create',
  });
  for (const budget of usedRuns(tree)) {
    await callOnce(address, BudgetService.method.createBudget, {
      budget: { budget, limits },
      idempotencyKey: 'create',
    });
  }
  // A list is answered from the projection: with it the tree is projected.
  await callOnce(address, BudgetService.method.listBudgets, { parent: tree, recursive: true });
}

async function seedRuns(databaseUrl: string, tree: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    await sql`SET synchronous_commit = off`;
    const first = { tree, parentNo: 1, likeNo: 2 };
    const closedNo = USED_COUNT + 2;
    await addBudgets(sql, { ...first, prefix: `${tree}/done-`, firstNo: closedNo, count: CLOSED_COUNT, closed: true });
    const openNo = closedNo + CLOSED_COUNT;
    await addBudgets(sql, { ...first, prefix: `${tree}/open-`, firstNo: openNo, count: OPEN_COUNT, closed: false });
    await sql`VACUUM ANALYZE budgetd.budgets`;
    await sql`VACUUM ANALYZE budgetd.counters`;
    await sql`CHECKPOINT`;
  } finally {
    await sql.end();
  }
}

async function cycles(context: BenchContext, tree: string, name: string): Promise<readonly Figure[]> {
  const service = await startBenchService(context.databaseUrl, SEEDED_ENV);
  try {
    const plan = { address: service.address, budgets: usedRuns(tree), countMs: context.countMs, streams: 1 };
    const report = await measure(context.databaseUrl, 'session', { ...plan, inFlight: IN_FLIGHT, mode: 'cycle' });
    return [
      loadFigure(context, name, report, FEW),
      { name: `${name}: resident memory`, note: `${await service.residentMb()} MB` },
    ];
  } finally {
    await service.stop();
  }
}

async function firstUses(context: BenchContext): Promise<readonly Figure[]> {
  const service = await startBenchService(context.databaseUrl, SEEDED_ENV);
  try {
    const budgets = Array.from({ length: FIRST_COUNT }, (_, no) => `many/first-${no}`);
    const plan = { address: service.address, budgets, countMs: context.countMs, streams: 1 };
    const report = await measure(context.databaseUrl, 'session', { ...plan, inFlight: IN_FLIGHT, mode: 'reserve' });
    return [loadFigure(context, FIRST, report, FEW)];
  } finally {
    await service.stop();
  }
}

/** The part. */
export const runsPart: Part = {
  name: 'runs',
  what: 'run budgets: many open and closed ones against ten; ratios are over the ten',
  async run(context) {
    const { databaseUrl } = context;
    const service = await startBenchService(databaseUrl);
    await createTenant(service.address, 'few');
    await createTenant(service.address, 'many');
    await service.stop();
    const few = await cycles(context, 'few', FEW);
    await seedRuns(databaseUrl, 'many');
    const after = { ...context, figures: [...context.figures, ...few] };
    const many = await cycles(after, 'many', MANY);
    // Once more: what the database has grown by meanwhile is no fault of the runs.
    const again = await cycles(after, 'few', `${FEW}, once more`);
    return [...few, ...many, ...again, ...(await firstUses(after))];
  },
};
