// The contract's part on what is asked of the projection seldom: sums of a budget's past for a window that is new on it, and
// budgets that have been idle for as long as they close after.
import { describe, expect, it } from 'vitest';
import { type BudgetDef, NO_SHAPE } from '../../src/kernel/budget.ts';
import type { Entry, Granted } from '../../src/kernel/entry.ts';
import type { ReservationFigures } from '../../src/kernel/reservation.ts';
import { rollingRule } from '../../src/kernel/window.ts';
import type { IdleBudget } from '../../src/store/port.ts';
import type { ContractWorld } from './contract-world.ts';
import {
  appendTo,
  created,
  definition,
  granted,
  held,
  path,
  released,
  rid,
  START_MS,
  settled,
  threeLevels,
  tree,
  updated,
} from './sample-entries.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ROLLING = rollingRule(HOUR_MS);
const DAY = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;

const sums = (heldMicros: bigint, settledMicros: bigint, overrunMicros = 0n) => ({
  heldMicros,
  settledMicros,
  overrunMicros,
});

/** Sums of the past, and idle budgets. */
export function describeHistory(c: ContractWorld): void {
  describe('readHistory', () => {
    const hold = (seq: number, name: string, micros: bigint, atMs: number): Granted =>
      granted({ seq, atMs }, rid(name), c.onRun(), held(micros, atMs + DAY_MS));

    it('sums up what was admitted from an instant on, in the whole subtree and from beside it', async () => {
      const other = created({ seq: 4 }, definition(4, `${c.treeId}/teamx`, 1));
      const beside = granted(
        { seq: 8, atMs: START_MS + 80 },
        rid('beside'),
        { path: `${c.treeId}/teamx`, nos: [1, 2, 4] },
        held(100n, 1),
      );
      const inside = granted({ seq: 9, atMs: START_MS + 90 }, rid('inside'), c.onRun(), held(1_000n, 1));
      const entries: Entry[] = [
        ...threeLevels(c.treeId),
        other,
        hold(5, 'early', 1n, START_MS + 50),
        hold(6, 'open', 10n, START_MS + 60),
        hold(7, 'done', 10n, START_MS + 70),
        { ...beside, reservation: { ...beside.reservation, also: [path(`${c.treeId}/team`)] } },
        { ...inside, reservation: { ...inside.reservation, also: [path(`${c.treeId}/team`)] } },
        granted(
          { seq: 10, atMs: START_MS + 100 },
          rid('not'),
          { path: `${c.treeId}/teamx`, nos: [1, 4] },
          held(10_000n, 1),
        ),
        settled({ seq: 11 }, rid('done'), [1, 2, 3], held(10n, START_MS + 70 + DAY_MS)),
      ];
      await c.start(entries);
      await c.project(entries);
      const need = (fromMs: number) => ({ rule: DAY, fromMs });
      const history = await c.store.readHistory(c.treeId, 2, [need(START_MS + 60), need(START_MS)]);
      expect(history).toStrictEqual({
        seq: 11,
        sums: [
          { rule: DAY, fromMs: START_MS + 60, ...sums(1_110n, 10n), steps: [] },
          { rule: DAY, fromMs: START_MS, ...sums(1_111n, 10n), steps: [] },
        ],
      });
      const range = { rule: { kind: 'range', startMs: START_MS, endMs: START_MS + 60 } as const, fromMs: START_MS };
      expect((await c.store.readHistory(c.treeId, 2, [range])).sums).toMatchObject([sums(1n, 0n)]);
      const ofRun = await c.store.readHistory(c.treeId, 3, [need(START_MS + 61)]);
      expect(ofRun.sums).toMatchObject([sums(1_000n, 10n)]);
      const ofNobody = await c.store.readHistory(c.treeId, 9, [need(0)]);
      expect(ofNobody).toMatchObject({ seq: 11, sums: [sums(0n, 0n)] });
    });

    it('spreads what settled over the steps of when it did, and counts all that is held', async () => {
      const hour = { rule: ROLLING, fromMs: START_MS + HOUR_MS };
      const change = (seq: number, name: string, figures: Partial<ReservationFigures>): Entry => ({
        ...settled({ seq, atMs: START_MS + 3 * HOUR_MS }, rid(name), [1, 2, 3], held(0n, 1)),
        figures: { ...held(0n, 1), ...figures },
        effects: [],
      });
      const nowMs = START_MS + 3 * HOUR_MS;
      const entries: Entry[] = [
        ...threeLevels(c.treeId),
        ...['old', 'first', 'same', 'part', 'late', 'over', 'past'].map((name, i) =>
          hold(4 + i, name, 0n, START_MS + 4 + i),
        ),
        hold(11, 'held', 9n, START_MS + 11),
        change(12, 'old', { state: 'SETTLED', settledMicros: 1n, endMs: hour.fromMs - 1 }),
        change(13, 'first', { state: 'SETTLED', settledMicros: 2n, endMs: hour.fromMs }),
        change(14, 'same', { state: 'SETTLED', settledMicros: 4n, endMs: hour.fromMs + ROLLING.stepMs - 1 }),
        change(15, 'part', { settledMicros: 8n }),
        change(16, 'late', {
          state: 'EXPIRED',
          late: true,
          settledMicros: 48n,
          estimatedMicros: 16n,
          overrunMicros: 3n,
          endMs: hour.fromMs + 5 * ROLLING.stepMs,
        }),
        change(17, 'over', { state: 'SETTLED', settledMicros: 0n, overrunMicros: 64n, endMs: nowMs }),
        change(18, 'past', {
          state: 'EXPIRED',
          late: true,
          settledMicros: 384n,
          estimatedMicros: 128n,
          endMs: START_MS,
        }),
      ];
      await c.start(entries);
      await c.project(entries);
      const step = (periodMs: number, settledMicros: bigint, overrunMicros = 0n) => ({
        periodMs,
        settledMicros,
        overrunMicros,
      });
      const expected = {
        seq: 18,
        sums: [
          {
            ...hour,
            ...sums(9n, 0n),
            steps: [
              step(hour.fromMs, 6n),
              step(hour.fromMs + 5 * ROLLING.stepMs, 16n),
              step(nowMs, 8n + 32n + 256n, 3n + 64n),
            ],
          },
        ],
      };
      for (const no of [1, 2, 3]) expect(await c.store.readHistory(c.treeId, no, [hour])).toStrictEqual(expected);
    });

    it('says how far it was projected, and of a tree that nobody knows that it is nowhere', async () => {
      const entries = [...threeLevels(c.treeId), hold(4, 'a', 5n, START_MS + 4)];
      await c.start(entries);
      await c.project(entries.slice(0, 3));
      const needs = [{ rule: DAY, fromMs: 0 }];
      expect(await c.store.readHistory(c.treeId, 3, needs)).toMatchObject({ seq: 3, sums: [sums(0n, 0n)] });
      expect(await c.store.readHistory(tree(`${c.treeId}-none`), 1, needs)).toMatchObject({
        seq: 0,
        sums: [sums(0n, 0n)],
      });
      expect((await c.store.readHistory(c.treeId, 3, [])).sums).toStrictEqual([]);
    });
  });

  describe('idleBudgets', () => {
    // Later than everything else in this store, so that a cursor leaves the rest out.
    const farMs = 8_000_000_000_000;
    const from: IdleBudget = { treeId: tree(''), budgetNo: 0, path: path('x'), lookMs: farMs };
    const closing = (no: number, over: Partial<BudgetDef> = {}) =>
      definition(no, no === 1 ? c.treeId : `${c.treeId}/${no}`, no === 1 ? undefined : 1, {
        createMs: farMs,
        shape: { ...NO_SHAPE, closeAfterMs: 1_000 },
        ...over,
      });
    const makeAll = (nos: readonly number[]) => nos.map((no) => created({ seq: no, atMs: farMs + no }, closing(no)));
    const idleAt = async (nowMs: number, after = from, countMax = 9) =>
      await c.store.idleBudgets(farMs + nowMs, after, countMax);
    const nosAt = async (nowMs: number) =>
      (await idleAt(nowMs))
        .filter(({ treeId }) => treeId === c.treeId)
        .map(({ budgetNo }) => budgetNo)
        .sort();

    it('finds what has had no hold and no movement for long enough, again and again until it is closed', async () => {
      const entries: Entry[] = makeAll([1, 2, 3, 4]);
      const onTwo = { path: `${c.treeId}/2`, nos: [1, 2] };
      const hold = held(5n, farMs + 99_000);
      const later: Entry[] = [
        granted({ seq: 5, atMs: farMs + 500 }, rid('a'), onTwo, hold),
        {
          ...updated({ seq: 6, atMs: farMs + 600 }, closing(4, { closed: true }), false),
          type: 'BudgetClosed',
          openChildren: -1,
        },
      ];
      await c.start([...entries, ...later]);
      await c.project(entries);
      expect(await nosAt(1_000)).toStrictEqual([]);
      expect(await nosAt(1_003)).toStrictEqual([1, 2, 3]);
      await c.project(later);
      // A hold keeps its own budget and those above it; one that is closed is not to be closed.
      expect(await nosAt(1_600)).toStrictEqual([3]);
      expect(await nosAt(1_600)).toStrictEqual([3]);
      const free = released({ seq: 7, atMs: farMs + 2_000 }, rid('a'), [1, 2], hold);
      await appendTo(c.store, c.epoch, { treeId: c.treeId, expected: (await c.load()).head, entries: [free] });
      await c.project([free]);
      expect(await nosAt(2_999)).toStrictEqual([3]);
      expect(await nosAt(3_000)).toStrictEqual([1, 2, 3]);
      const patient = updated({ seq: 8, atMs: farMs + 3_000 }, closing(3, { shape: NO_SHAPE, revision: 2 }), false);
      await c.project([patient]);
      expect(await nosAt(9_000)).toStrictEqual([1, 2]);
      await c.store.quarantine(c.treeId, 'broken');
      expect(await nosAt(9_000)).toStrictEqual([]);
    });

    it('pages after a cursor', async () => {
      const entries = makeAll([1, 2, 3, 4, 5]);
      await c.start(entries);
      await c.project(entries);
      const seen: number[] = [];
      for (let after = from; ; ) {
        const page = await idleAt(100_000, after, 2);
        expect(page.length).toBeLessThanOrEqual(2);
        seen.push(...page.filter(({ treeId }) => treeId === c.treeId).map(({ budgetNo }) => budgetNo));
        const last = page.at(-1);
        if (last === undefined) break;
        expect(last.path).toBe(last.budgetNo === 1 ? last.treeId : `${last.treeId}/${last.budgetNo}`);
        after = last;
      }
      expect(seen.sort()).toStrictEqual([1, 2, 3, 4, 5]);
      await c.store.quarantine(c.treeId, 'done');
    });
  });
}
