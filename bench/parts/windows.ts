// What windows, a rate and slots cost: the same load on a tree of plain limits and on one where each of three levels has three
// windows. Both in one service, in turns, so that the machine's drift hits both.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { CalendarUnit, type LimitSchema } from '../../src/gen/budgetd/v1/limit_pb.ts';
import { RateKind } from '../../src/gen/budgetd/v1/terms_pb.ts';
import { callOnce, startBenchService } from '../service.ts';
import { createTree, leafOf, loadFigure, measure } from './hot-tree.ts';
import type { Figure, Part } from './part.ts';

const PLAIN = 'Reserve, Session, 512 in flight, lifetime limits';
const WINDOWED = 'Reserve, Session, 512 in flight, three windows a level, a rate, slots';
const WINDOWED_CYCLE = 'Reserve+Settle cycles, Session, 512 in flight, three windows a level, a rate, slots';
const PLAIN_CYCLE = 'Reserve+Settle cycles, Session, 512 in flight, lifetime limits';

/** Far above what a run can spend or use. */
const AMOUNT_MICROS = 1_000_000_000_000_000n;
const COUNT = 1_000_000_000_000n;

const LIMITS: MessageInitShape<typeof LimitSchema>[] = [
  {
    window: { kind: { case: 'calendar', value: { unit: CalendarUnit.DAY, timeZone: 'Europe/Amsterdam' } } },
    amountMicros: AMOUNT_MICROS,
  },
  {
    window: { kind: { case: 'calendar', value: { unit: CalendarUnit.MONTH, timeZone: 'UTC' } } },
    amountMicros: AMOUNT_MICROS * 2n,
  },
  {
    window: { kind: { case: 'rolling', value: { duration: { seconds: 3_600n } } } },
    amountMicros: AMOUNT_MICROS,
  },
];

async function createWindowedTree(address: string, tree: string): Promise<void> {
  for (const budget of [tree, `${tree}/team`, leafOf(tree)]) {
    const isRoot = budget === tree;
    await callOnce(address, BudgetService.method.createBudget, {
      budget: {
        budget,
        limits: LIMITS,
        rates: isRoot ? [{ kind: RateKind.REQUESTS, count: COUNT, per: { seconds: 1n } }] : [],
        shape: isRoot ? { maxActive: 100_000_000 } : {},
      },
      idempotencyKey: 'create',
    });
  }
}

/** The part. */
export const windowsPart: Part = {
  name: 'windows',
  what: 'three windows on each of three levels, a rate and slots, against plain limits; ratios are over the plain ones',
  async run(context) {
    const { databaseUrl, countMs } = context;
    const service = await startBenchService(databaseUrl);
    try {
      await createTree(service.address, 'plain');
      await createWindowedTree(service.address, 'windowed');
      const loads = [
        // Cycles first: what Reserves leave held lapses a minute later, and that would be measured with them.
        [PLAIN_CYCLE, 'plain', 'cycle', PLAIN_CYCLE],
        [WINDOWED_CYCLE, 'windowed', 'cycle', PLAIN_CYCLE],
        [PLAIN, 'plain', 'reserve', PLAIN],
        [WINDOWED, 'windowed', 'reserve', PLAIN],
      ] as const;
      const figures: Figure[] = [];
      for (const [name, tree, mode, base] of loads) {
        const plan = { address: service.address, budgets: [leafOf(tree)], countMs, inFlight: 512, streams: 1, mode };
        const report = await measure(databaseUrl, 'session', plan);
        figures.push(loadFigure({ ...context, figures }, name, report, base));
      }
      return figures;
    } finally {
      await service.stop();
    }
  },
};
