// The contract's part on alerts and on what modes and priorities leave in a reservation: which marks a load brings, whatever
// way the projection came forward, and that special grants come back as they were made.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AlertMark, marksAfter } from '../../src/kernel/alert-mark.ts';
import type { Alerted, Entry, Granted } from '../../src/kernel/entry.ts';
import type { Reservation } from '../../src/kernel/reservation.ts';
import type { ContractWorld } from './contract-world.ts';
import {
  alerted,
  created,
  definition,
  granted,
  held,
  path,
  rid,
  START_MS,
  threeLevels,
  updated,
} from './sample-entries.ts';

const LIMITS = [1, 2].map((no) => ({ no, name: `l${no}`, windowNo: 0, amountMicros: 100n, topUp: undefined }));

const mark = (limitNo: number, periodMs: number, percent: number): AlertMark => ({ limitNo, periodMs, percent });

/** What alerts leave, as the kernel has it, in the order of a load. */
function marksLeft(entries: readonly Alerted[]): AlertMark[] {
  let marks: AlertMark[] = [];
  for (const { alerts } of entries) marks = marksAfter(marks, alerts);
  return marks.sort((a, b) => a.limitNo - b.limitNo || a.periodMs - b.periodMs || a.percent - b.percent);
}

/** Alerts, priorities, alternatives and shadows. */
export function describeAlerts(c: ContractWorld): void {
  const root = () => created({ seq: 1 }, definition(1, c.treeId, undefined, { limits: LIMITS, limitNoMax: 2 }));
  const loadedMarks = async () => (await c.load({ paths: [path(c.treeId)] })).budgets[0]?.alertMarks;

  describe('marks of alerts', () => {
    it('are those of the latest period of each limit, and of the budget alone', async () => {
      const entries = [
        ...threeLevels(c.treeId),
        alerted({ seq: 4 }, [1, 1, 1_000, 80], [2, 1, 1_000, 80]),
        alerted({ seq: 5 }, [1, 1, 1_000, 100]),
        alerted({ seq: 6 }, [1, 1, 2_000, 80]),
      ];
      await c.start(entries);
      await c.project(entries.slice(0, 5));
      expect(await loadedMarks()).toStrictEqual([mark(1, 1_000, 80), mark(1, 1_000, 100)]);
      await c.project(entries.slice(5));
      expect(await loadedMarks()).toStrictEqual([mark(1, 2_000, 80)]);
      const audited: (readonly AlertMark[])[] = [];
      for await (const { alertMarks } of c.store.readBudgets(c.treeId)) audited.push(alertMarks);
      expect(audited).toStrictEqual([[mark(1, 2_000, 80)], [mark(1, 1_000, 80)], []]);
    });

    it('go with their limit', async () => {
      const def = definition(1, c.treeId, undefined, { limits: LIMITS.slice(1), limitNoMax: 2, revision: 2 });
      const entries = [root(), alerted({ seq: 2 }, [1, 1, 0, 80], [1, 2, 0, 80]), updated({ seq: 3 }, def, false)];
      await c.start(entries);
      await c.project(entries);
      expect(await loadedMarks()).toStrictEqual([mark(2, 0, 80)]);
    });

    it('are what the kernel leaves, whichever way the projection came forward', async () => {
      const share = fc.tuple(
        fc.constant(1),
        fc.constantFrom(1, 2),
        fc.constantFrom(0, 1_000, 2_000, 3_000),
        fc.constantFrom(80, 100),
      );
      const told = fc.uniqueArray(share, { minLength: 1, maxLength: 3, selector: String });
      await fc.assert(
        fc.asyncProperty(fc.array(fc.tuple(told, fc.boolean()), { minLength: 1, maxLength: 8 }), async (drawn) => {
          c.nextTree();
          const alerts = drawn.map(([shares], i) => alerted({ seq: i + 2 }, ...shares));
          await c.start([root(), ...alerts]);
          let page: Entry[] = [root()];
          for (const [i, entry] of alerts.entries()) {
            page.push(entry);
            if (drawn[i]?.[1] === false) continue;
            await c.project(page);
            page = [];
            expect(await loadedMarks()).toStrictEqual(marksLeft(alerts.slice(0, i + 1)));
          }
          await c.project(page);
          expect(await loadedMarks()).toStrictEqual(marksLeft(alerts));
        }),
        { numRuns: 25 },
      );
    });
  });

  it('reservations keep their priority, alternative and shadow', async () => {
    const special: readonly Partial<Reservation>[] = [
      {},
      { priority: 'background' },
      { alternative: 'NULL' },
      { priority: 'critical', alternative: 'a "small", {slow} \\ model' },
      { shadow: { mode: 'warn', reason: 'BUDGET_EXHAUSTED', budget: c.treeId } },
    ];
    const grants = special.map((over, i): Granted => {
      const entry = granted({ seq: 4 + i }, rid(`r${i}`), c.onRun(), held(1n, START_MS + 50));
      return { ...entry, reservation: { ...entry.reservation, ...over } };
    });
    const entries = [...threeLevels(c.treeId), ...grants];
    await c.start(entries);
    await c.project(entries);
    const expected = grants.map(({ reservation }) => reservation);
    const query = { treeId: c.treeId, budget: path(c.treeId), state: undefined, holder: undefined, after: undefined };
    expect(await c.store.listReservations({ ...query, countMax: 10 })).toStrictEqual(expected);
    const loaded = await c.load({ reservationIds: expected.map(({ id }) => id) });
    expect(loaded.reservations.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toStrictEqual(expected);
  });
}
