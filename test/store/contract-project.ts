// The contract's part on projections: what entries become, and that they become it once.
import { describe, expect, it } from 'vitest';
import { ProjectionMismatchError } from '../../src/store/port.ts';
import type { ContractWorld } from './contract-world.ts';
import {
  appendTo,
  created,
  definition,
  expired,
  granted,
  held,
  NO_HEAD,
  path,
  released,
  renewed,
  rid,
  START_MS,
  settled,
  threeLevels,
  tree,
  updated,
} from './sample-entries.ts';

/** Projections. */
export function describeProject(c: ContractWorld): void {
  describe('project', () => {
    const life = () => {
      const hold = held(100n, START_MS + 50_000);
      return [
        ...threeLevels(c.treeId),
        granted(
          {
            seq: 4,
            personal: {
              actingFor: 'Ann',
              labels: [
                ['a', '1'],
                ['b', '2'],
              ],
            },
          },
          rid('settled'),
          c.onRun(),
          hold,
        ),
        granted({ seq: 5 }, rid('released'), c.onRun(), hold),
        granted({ seq: 6 }, rid('renewed'), { path: `${c.treeId}/team`, nos: [1, 2] }, hold),
        granted({ seq: 7 }, rid('expired'), { path: c.treeId, nos: [1] }, hold),
        settled(
          {
            seq: 8,
            personal: {
              labels: [
                ['b', '3'],
                ['c', '4'],
              ],
            },
          },
          rid('settled'),
          [1, 2, 3],
          hold,
        ),
        released({ seq: 9 }, rid('released'), [1, 2, 3], hold),
        renewed({ seq: 10 }, [[rid('renewed'), hold, START_MS + 70_000]]),
        expired({ seq: 11 }, rid('expired'), [1], hold),
        updated(
          { seq: 12, personal: { labels: [['team', 'x']] } },
          definition(2, `${c.treeId}/team`, 1, { revision: 2, suspended: true }),
          true,
        ),
      ];
    };
    const everything = () =>
      c.load({
        paths: [path(`${c.treeId}/team/run`)],
        reservationIds: ['settled', 'released', 'renewed', 'expired', 'nobody'].map(rid),
        withTail: true,
      });
    const sorted = async () => {
      const loaded = await everything();
      return {
        ...loaded,
        budgets: loaded.budgets.toSorted((a, b) => a.def.no - b.def.no),
        reservations: loaded.reservations.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      };
    };
    const counter = (heldMicros: bigint, settledMicros: bigint) => ({
      windowNo: 0,
      periodMs: 0,
      heldMicros,
      settledMicros,
      overrunMicros: 0n,
    });

    it('turns entries into rows, all at once or one by one', async () => {
      const entries = life();
      const head = await c.start(entries);
      expect(await c.project(entries)).toBe(12);
      const loaded = await sorted();
      expect(loaded).toMatchObject({ head, projectedSeq: 12, budgetCount: 3, tail: [] });
      const plain = { labels: [], steps: [], rateLevels: [], alertMarks: [] };
      expect(loaded.budgets).toStrictEqual([
        {
          ...plain,
          def: definition(1, c.treeId, undefined),
          counters: [counter(100n, 100n)],
          activeCount: 1,
          openChildCount: 1,
          // As of the lapse, not of when it was written down.
          movedMs: START_MS + 50_000,
        },
        {
          ...plain,
          def: definition(2, `${c.treeId}/team`, 1, { revision: 2, suspended: true }),
          labels: [['team', 'x']],
          counters: [counter(100n, 100n)],
          activeCount: 1,
          openChildCount: 1,
          movedMs: START_MS + 9,
        },
        {
          ...plain,
          def: definition(3, `${c.treeId}/team/run`, 2),
          counters: [counter(0n, 100n)],
          activeCount: 0,
          openChildCount: 0,
          movedMs: START_MS + 9,
        },
      ]);
      expect(loaded.reservations.map((r) => [r.id, r.figures.state])).toStrictEqual([
        [rid('expired'), 'EXPIRED'],
        [rid('released'), 'RELEASED'],
        [rid('renewed'), 'ACTIVE'],
        [rid('settled'), 'SETTLED'],
      ]);
      expect(loaded.reservations[3]).toStrictEqual({
        ...(entries[3]?.type === 'Granted' && entries[3].reservation),
        actingFor: 'Ann',
        labels: [
          ['a', '1'],
          ['b', '3'],
          ['c', '4'],
        ],
        figures: entries[7]?.type === 'Settled' && entries[7].figures,
      });
      expect(loaded.reservations[1]?.figures).toStrictEqual(entries[8]?.type === 'Released' && entries[8].figures);

      const oneByOne = tree(`${c.treeId}x`);
      await appendTo(c.store, c.epoch, { treeId: oneByOne, expected: NO_HEAD, entries });
      for (const entry of entries) await c.store.project([{ treeId: oneByOne, entries: [entry] }]);
      c.treeId = oneByOne;
      const again = await c.store.load({
        treeId: c.treeId,
        paths: loaded.budgets.map((budget) => budget.def.path),
        reservationIds: loaded.reservations.map((r) => r.id),
        leases: undefined,
        withTail: true,
      });
      expect(again.projectedSeq).toBe(12);
      expect(again.budgets.toSorted((a, b) => a.def.no - b.def.no)).toStrictEqual(loaded.budgets);
      expect(again.reservations.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toStrictEqual(loaded.reservations);
    });

    it('removes labels that an edit replaces with none', async () => {
      const entries = [
        created({ seq: 1, personal: { labels: [['a', '1']] } }, definition(1, c.treeId, undefined)),
        updated({ seq: 2 }, definition(1, c.treeId, undefined, { revision: 2 }), false),
        updated({ seq: 3 }, definition(1, c.treeId, undefined, { revision: 3 }), true),
      ];
      await c.start(entries);
      await c.project(entries.slice(0, 2));
      expect((await c.load({ paths: [path(c.treeId)] })).budgets[0]?.labels).toStrictEqual([['a', '1']]);
      await c.project(entries.slice(2));
      expect((await c.load({ paths: [path(c.treeId)] })).budgets[0]?.labels).toStrictEqual([]);
    });

    it('skips what is projected already and writes nothing over a gap', async () => {
      const entries = life();
      await c.start(entries);
      expect(await c.project(entries.slice(5))).toBe(0);
      expect((await sorted()).budgets).toStrictEqual([]);
      expect(await c.project(entries.slice(0, 8))).toBe(8);
      expect(await c.project(entries.slice(0, 8))).toBe(8);
      expect(await c.project(entries.slice(9))).toBe(8);
      const half = await sorted();
      expect(half.projectedSeq).toBe(8);
      expect(half.tail).toStrictEqual(entries.slice(8));
      expect(half.budgets[0]).toMatchObject({ counters: [counter(300n, 100n)], activeCount: 3 });
      // An overlap is cut, not refused.
      expect(await c.project(entries.slice(4))).toBe(12);
      expect((await sorted()).budgets[0]).toMatchObject({ counters: [counter(100n, 100n)], activeCount: 1 });
    });

    it('keeps several trees apart, and those that can move do', async () => {
      const other = tree(`${c.treeId}-other`);
      const entries = life();
      await c.start(entries);
      const others = [created({ seq: 1 }, definition(1, other, undefined))];
      await appendTo(c.store, c.epoch, { treeId: other, expected: NO_HEAD, entries: others });
      const projected = await c.store.project([
        { treeId: c.treeId, entries: entries.slice(3) },
        { treeId: other, entries: others },
      ]);
      expect(projected).toStrictEqual(
        new Map([
          [c.treeId, 0],
          [other, 1],
        ]),
      );
      expect((await c.load({ treeId: other, paths: [path(other)] })).budgets).toHaveLength(1);
    });

    it('says of a tree without entries how far it is projected, and leaves it there', async () => {
      const entries = life();
      expect(await c.project([])).toBe(0);
      await c.start(entries);
      expect(await c.project([])).toBe(0);
      await c.project(entries.slice(0, 5));
      const other = tree(`${c.treeId}-other`);
      const others = [created({ seq: 1 }, definition(1, other, undefined))];
      await appendTo(c.store, c.epoch, { treeId: other, expected: NO_HEAD, entries: others });
      const projected = await c.store.project([
        { treeId: other, entries: others },
        { treeId: c.treeId, entries: [] },
      ]);
      expect(projected).toStrictEqual(
        new Map([
          [c.treeId, 5],
          [other, 1],
        ]),
      );
      expect((await c.load()).projectedSeq).toBe(5);
    });

    it('refuses by name what does not fit, and leaves the tree as it is', async () => {
      const entries = [
        ...threeLevels(c.treeId),
        released({ seq: 4 }, rid('nobody'), [1, 2, 3], held(100n, START_MS + 50_000)),
      ];
      await c.start(entries);
      await expect(c.project(entries)).rejects.toThrow(ProjectionMismatchError);
      expect(await c.load()).toMatchObject({ projectedSeq: 0, budgets: [] });
    });

    it('by two at once moves each tree once', async () => {
      const entries = life();
      await c.start(entries);
      const parts = [entries.slice(0, 6), entries, entries.slice(0, 3)];
      await Promise.all(parts.map((part) => c.project(part)));
      expect(await c.project(entries)).toBe(12);
      expect((await sorted()).budgets[0]).toMatchObject({ counters: [counter(100n, 100n)], activeCount: 1 });
    });

    it('carries int64 to its ends', async () => {
      const most = 9_223_372_036_854_775_807n;
      const hold = held(most, START_MS);
      const limits = [{ no: 1, name: 'lifetime', windowNo: 0, amountMicros: most, topUp: undefined }];
      const entries = [
        created({ seq: 1 }, definition(1, c.treeId, undefined, { limits })),
        granted({ seq: 2 }, rid('r'), { path: c.treeId, nos: [1] }, hold),
      ];
      await c.start(entries);
      expect((await c.load({ withTail: true })).tail).toStrictEqual(entries);
      await c.project(entries);
      const loaded = await c.load({ reservationIds: [rid('r')] });
      expect(loaded.reservations[0]?.figures).toStrictEqual(hold);
      expect(loaded.budgets[0]).toMatchObject({ def: { limits }, counters: [counter(most, 0n)] });
    });
  });
}
