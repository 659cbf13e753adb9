// What ten thousand waiting requests cost those who go past them, and how soon one of them is told that there is room. Urgent work goes
// past: each of its Reserves is held against the first that waits, and each of its Settles has that one judged again.
import { setTimeout as sleep } from 'node:timers/promises';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { Priority } from '../../src/gen/budgetd/v1/terms_pb.ts';
import { percentiles } from '../load/load.ts';
import { Waiters } from '../load/waiters.ts';
import { callOnce, startBenchService } from '../service.ts';
import { loadFigure, measure } from './hot-tree.ts';
import type { Figure, Part } from './part.ts';

const WAITING_COUNT = 10_000;
const SESSION_COUNT = 4;
const LIMIT_MICROS = 1_000_000_000_000n;
/** So much is held that those who wait, for half of the limit each, never have room. */
const HELD_MICROS = 600_000_000_000n;
const WAKE_COUNT = 300;

const EMPTY = 'critical cycles, Session, 512 in flight, nobody waits';
const ARRANGEMENTS = [
  { tree: 'line', name: `${EMPTY.slice(0, EMPTY.indexOf('nobody'))}10,000 wait in one line`, of: () => 'line/short' },
  {
    tree: 'runs',
    name: `${EMPTY.slice(0, EMPTY.indexOf('nobody'))}10,000 runs wait for what is above them`,
    of: (no: number) => `runs/short/run-${no}`,
  },
] as const;

async function createShort(address: string, tree: string): Promise<void> {
  const childTemplate = { uncapped: true };
  for (const budget of [
    { budget: tree, limits: [{ amountMicros: LIMIT_MICROS * 10n }] },
    { budget: `${tree}/short`, limits: [{ amountMicros: LIMIT_MICROS }], childTemplate },
  ]) {
    await callOnce(address, BudgetService.method.createBudget, { budget, idempotencyKey: 'create' });
  }
  await callOnce(address, ReservationService.method.reserve, {
    budget: `${tree}/short`,
    idempotencyKey: 'held',
    maxMicros: HELD_MICROS,
    ttl: { seconds: 86_400n },
  });
}

async function untilWaiting(address: string, budget: string): Promise<void> {
  for (;;) {
    const { totalCount } = await callOnce(address, ReservationService.method.listQueue, { budget, pageSize: 1 });
    if (Number(totalCount) >= WAITING_COUNT) return;
    await sleep(200);
  }
}

/** Time from a Settle that makes room to the answer of the one that waits for it, in microseconds. */
async function wakeUps(address: string, budget: string): Promise<readonly number[]> {
  const asking = new Waiters(address);
  const latenciesUs: number[] = [];
  try {
    for (let no = 0; no < WAKE_COUNT; no += 1) {
      // All that there is: the one that waits is next, whoever else waits in lower classes.
      const own = await asking.reserve(budget, LIMIT_MICROS);
      if (own.case !== 'reserve') throw new Error(`not granted: ${own.case}`);
      const waiting = asking.reserve(budget, 1n);
      await sleep(2);
      const sentMs = performance.now();
      const settling = asking.settle(own.value.reservation?.reservationId ?? '', 0n);
      const answer = await waiting;
      latenciesUs.push((performance.now() - sentMs) * 1_000);
      await settling;
      if (answer.case !== 'reserve') throw new Error(`not granted: ${answer.case}`);
      await asking.settle(answer.value.reservation?.reservationId ?? '', 0n);
    }
  } finally {
    asking.close();
  }
  return latenciesUs;
}

function wakeFigure(name: string, latenciesUs: readonly number[]): Figure {
  const at = percentiles(latenciesUs);
  return {
    name,
    p50Ms: at(0.5) / 1_000,
    p99Ms: at(0.99) / 1_000,
    note: `${latenciesUs.length} wake-ups, one at a time`,
  };
}

/** The part. */
export const queuePart: Part = {
  name: 'queue',
  what: '10,000 waiting requests; ratios are over the same load with nobody waiting',
  async run(context) {
    const { databaseUrl, countMs } = context;
    const service = await startBenchService(databaseUrl, { BUDGETD_QUEUE_MAX: `${WAITING_COUNT * 2}` });
    const { address } = service;
    const base = { address, countMs, inFlight: 512, streams: 1, mode: 'cycle', priority: Priority.CRITICAL } as const;
    const figures: Figure[] = [];
    const load = async (name: string, budget: string): Promise<void> => {
      const report = await measure(databaseUrl, 'session', { ...base, budgets: [budget] });
      figures.push(loadFigure({ ...context, figures }, name, report, EMPTY));
    };
    try {
      await createShort(address, 'empty');
      await load(EMPTY, 'empty/short');
      figures.push(wakeFigure('wake-up to answer, nobody else waits', await wakeUps(address, 'empty/short')));
      for (const { tree, name, of } of ARRANGEMENTS) {
        await createShort(address, tree);
        // A Session takes some four thousand that wait.
        const sessions = Array.from({ length: SESSION_COUNT }, () => new Waiters(address));
        for (const [at, session] of sessions.entries()) {
          const count = WAITING_COUNT / SESSION_COUNT;
          session.queue(
            Array.from({ length: count }, (_, no) => of(at * count + no)),
            LIMIT_MICROS / 2n,
          );
        }
        await untilWaiting(address, `${tree}/short`);
        await load(name, `${tree}/short`);
        const what = tree === 'line' ? 'in one line' : 'as runs';
        figures.push(
          wakeFigure(`wake-up to answer, 10,000 others wait ${what}`, await wakeUps(address, `${tree}/short`)),
        );
        for (const session of sessions) session.close();
      }
      figures.push({ name: 'resident memory after it', note: `${await service.residentMb()} MB` });
      return figures;
    } finally {
      await service.stop();
    }
  },
};
