// One hot tree of three levels with two limits each: the yardstick and the service, in one run.
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import type { LoadPlan, LoadReport } from '../load/load.ts';
import { type LoadKind, runLoad } from '../load/run-load.ts';
import { callOnce, countRows, startBenchService } from '../service.ts';
import { prepareYardstick, runYardstick, type YardstickReport } from '../yardstick/yardstick.ts';
import { type BenchContext, type Figure, type Part, rateOf } from './part.ts';

/** Far above what a run can spend. */
const AMOUNT_MICROS = 1_000_000_000_000_000n;

const WARM_UP_MS = 2_000;

/** Names of yardstick figures, as other parts look them up. */
const YARDSTICK_HOT = 'yardstick, one hot tree, 64 connections';
const YARDSTICK_ALONE = 'yardstick, alone';
const YARDSTICK_SPREAD = 'yardstick, 1,000 trees, 64 connections';

/** The path of a tree's leaf. */
export function leafOf(tree: string): string {
  return `${tree}/team/run`;
}

/** Makes three levels with two limits each, and waits until they are projected. */
export async function createTree(address: string, tree: string): Promise<void> {
  for (const budget of [tree, `${tree}/team`, leafOf(tree)]) {
    await callOnce(address, BudgetService.method.createBudget, {
      budget: {
        budget,
        limits: [{ amountMicros: AMOUNT_MICROS }, { name: 'second', amountMicros: AMOUNT_MICROS * 2n }],
      },
      idempotencyKey: 'create',
    });
  }
  // A list is answered from the projection: with it the tree is projected.
  await callOnce(address, BudgetService.method.listBudgets, { parent: tree, recursive: true });
}

/** Runs a load and counts the rows that it left. */
export async function measure(
  databaseUrl: string,
  kind: LoadKind,
  plan: Omit<LoadPlan, 'warmUpMs' | 'keyPrefix'>,
): Promise<LoadReport & { readonly note: string }> {
  const before = await countRows(databaseUrl);
  const report = await runLoad(kind, { ...plan, warmUpMs: WARM_UP_MS, keyPrefix: `k${performance.now()}` });
  const after = await countRows(databaseUrl);
  const note =
    `${report.refused} refused; ${report.sent} commands sent, ${after.entries - before.entries} entries in ` +
    `${after.journalRows - before.journalRows} journal rows, ${after.keys - before.keys} keys`;
  return { ...report, note };
}

/** A yardstick's report as a figure. */
function yardstickFigure(name: string, report: YardstickReport): Figure {
  return {
    name,
    perSecond: report.perSecond,
    p50Ms: report.meanMs,
    note: `${report.rows} rows; by ${report.driver}; latency is its mean`,
  };
}

/** A load's report as a figure, over a yardstick's rate where that was measured. */
export function loadFigure(
  context: BenchContext,
  name: string,
  report: LoadReport & { readonly note: string },
  yardstick: string,
): Figure {
  const perSecond = (report.count / report.countedMs) * 1_000;
  const base = rateOf(context, yardstick);
  return {
    name,
    perSecond,
    ...(base !== undefined && { ratio: perSecond / base }),
    p50Ms: report.p50Us / 1_000,
    p99Ms: report.p99Us / 1_000,
    note: report.note,
  };
}

/** The yardstick's figures; the other parts' ratios are over them. */
export const yardstickPart: Part = {
  name: 'yardstick',
  what: 'one row lock and one PL/pgSQL call a reserve, three levels',
  async run({ databaseUrl, countMs }) {
    await prepareYardstick(databaseUrl);
    const seconds = countMs / 1_000;
    return [
      yardstickFigure(YARDSTICK_HOT, await runYardstick({ databaseUrl, connections: 64, trees: 1, seconds })),
      yardstickFigure(YARDSTICK_ALONE, await runYardstick({ databaseUrl, connections: 1, trees: 1, seconds })),
      yardstickFigure(YARDSTICK_SPREAD, await runYardstick({ databaseUrl, connections: 64, trees: 1_000, seconds })),
    ];
  },
};

/** The hot tree. */
export const hotPart: Part = {
  name: 'hot',
  what: 'one hot tree of three levels with two limits each',
  async run(context) {
    const { databaseUrl, countMs } = context;
    const service = await startBenchService(databaseUrl);
    try {
      await createTree(service.address, 'hot');
      const base = { address: service.address, budgets: [leafOf('hot')], countMs };
      const loads = [
        ['Reserve, unary, 128 in flight', 'unary', 128, 'reserve'],
        ['Reserve, Session, 128 in flight', 'session', 128, 'reserve'],
        ['Reserve, Session, 512 in flight', 'session', 512, 'reserve'],
        ['Reserve, Session, 2,048 in flight', 'session', 2_048, 'reserve'],
        ['Reserve+Settle cycles, Session, 512 in flight', 'session', 512, 'cycle'],
      ] as const;
      const figures: Figure[] = [];
      for (const [name, kind, inFlight, mode] of loads) {
        const report = await measure(databaseUrl, kind, { ...base, inFlight, mode, streams: 1 });
        figures.push(loadFigure(context, name, report, YARDSTICK_HOT));
      }
      figures.push({ name: 'resident memory after it', note: `${await service.residentMb()} MB` });
      return figures;
    } finally {
      await service.stop();
    }
  },
};

/** One caller alone. */
export const alonePart: Part = {
  name: 'alone',
  what: 'one caller, one command at a time',
  async run(context) {
    const { databaseUrl, countMs } = context;
    const service = await startBenchService(databaseUrl);
    try {
      await createTree(service.address, 'alone');
      const base = { address: service.address, budgets: [leafOf('alone')], countMs, inFlight: 1, streams: 1 };
      const yardstickMs = context.figures.find((figure) => figure.name === YARDSTICK_ALONE)?.p50Ms;
      const figures: Figure[] = [];
      for (const kind of ['unary', 'session'] as const) {
        const report = await measure(databaseUrl, kind, { ...base, mode: 'reserve' });
        const p50Ms = report.p50Us / 1_000;
        figures.push({
          name: `Reserve, ${kind}, alone`,
          perSecond: (report.count / report.countedMs) * 1_000,
          ...(yardstickMs !== undefined && { ratio: p50Ms / yardstickMs }),
          p50Ms,
          p99Ms: report.p99Us / 1_000,
          note: `the ratio is of latencies; ${report.note}`,
        });
      }
      return figures;
    } finally {
      await service.stop();
    }
  },
};

/** Many trees. */
export const spreadPart: Part = {
  name: 'spread',
  what: '1,000 trees of three levels, spread evenly',
  async run(context) {
    const { databaseUrl, countMs } = context;
    const service = await startBenchService(databaseUrl);
    try {
      const trees = Array.from({ length: 1_000 }, (_, no) => `spread-${no}`);
      for (const tree of trees) await createTree(service.address, tree);
      const base = {
        address: service.address,
        budgets: trees.map(leafOf),
        countMs,
        streams: 1,
        mode: 'reserve' as const,
      };
      const figures: Figure[] = [];
      for (const inFlight of [128, 1_024]) {
        const report = await measure(databaseUrl, 'session', { ...base, inFlight });
        figures.push(
          loadFigure(context, `Reserve, Session, 1,000 trees, ${inFlight} in flight`, report, YARDSTICK_SPREAD),
        );
      }
      return figures;
    } finally {
      await service.stop();
    }
  },
};
