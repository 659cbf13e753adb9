// The contract's part on what the lane reads: loads, entries in order, trees that need work.
import { describe, expect, it } from 'vitest';
import type { TreeId } from '../../src/kernel/names.ts';
import { type DueTree, type LoadRequest, TAIL_COUNT_MAX } from '../../src/store/port.ts';
import type { ContractWorld } from './contract-world.ts';
import {
  accountsOn,
  appendTo,
  created,
  definition,
  expired,
  granted,
  held,
  NO_HEAD,
  path,
  rid,
  START_MS,
  settled,
  threeLevels,
  tree,
} from './sample-entries.ts';

/** Loads and looks for work. */
export function describeLoad(c: ContractWorld): void {
  describe('load', () => {
    it('brings chains, and with a reservation the budgets that it charges', async () => {
      const entries = [
        ...threeLevels(c.treeId),
        created({ seq: 4 }, definition(4, `${c.treeId}/other`, 1)),
        granted({ seq: 5 }, rid('r'), c.onRun(), held(7n, START_MS + 9)),
      ];
      await c.start(entries);
      await c.project(entries);
      const nos = async (over: Partial<LoadRequest>) => (await c.load(over)).budgets.map(({ def }) => def.no).sort();
      expect(await nos({ paths: [path(`${c.treeId}/team`)] })).toStrictEqual([1, 2]);
      expect(
        await nos({
          paths: [path(`${c.treeId}/team/run`), path(`${c.treeId}/other`), path(`${c.treeId}/nothing/there`)],
        }),
      ).toStrictEqual([1, 2, 3, 4]);
      expect(await nos({ reservationIds: [rid('r')] })).toStrictEqual([1, 2, 3]);
      expect(await nos({ reservationIds: [rid('none')] })).toStrictEqual([]);
      const [reservation] = (await c.load({ reservationIds: [rid('r'), rid('r')] })).reservations;
      expect(reservation).toMatchObject({ accounts: accountsOn(1, 2, 3), budget: `${c.treeId}/team/run`, unit: 'USD' });
    });

    it('brings no tail that is too long, and says so, until the projection has come nearer', async () => {
      let head = await c.start();
      const entries = Array.from({ length: TAIL_COUNT_MAX }, (_, i) =>
        granted({ seq: 4 + i }, rid(`r${i}-`), c.onRun(), held(1n, START_MS + i)),
      );
      for (let at = 0; at < entries.length; at += 4_000) {
        const part = { treeId: c.treeId, expected: head, entries: entries.slice(at, at + 4_000) };
        head = await appendTo(c.store, c.epoch, part);
      }
      expect(await c.load({ withTail: true })).toMatchObject({ head, projectedSeq: 0, tail: [], tailTooLong: true });
      expect(await c.load()).not.toHaveProperty('tailTooLong');
      await c.project(threeLevels(c.treeId));
      const loaded = await c.load({ withTail: true });
      expect(loaded).not.toHaveProperty('tailTooLong');
      expect(loaded.tail).toHaveLength(TAIL_COUNT_MAX);
      // Left as it is, it would be the tree that every look for unprojected ones finds.
      for (let at = 0; at < entries.length; at += 4_000) await c.project(entries.slice(at, at + 4_000));
    });

    it('pages through live leases by time, without cutting an instant', async () => {
      const times = [30, 10, 20, 20, 20, 40];
      const entries = [
        ...threeLevels(c.treeId),
        ...times.map((ms, i) => granted({ seq: 4 + i }, rid(`r${i}`), c.onRun(), held(1n, ms))),
        settled({ seq: 10 }, rid('r5'), [1, 2, 3], held(1n, 40)),
      ];
      await c.start(entries);
      await c.project(entries);
      const page = async (afterReclaimMs: number, countMax: number) => {
        const loaded = await c.load({ leases: { afterReclaimMs, countMax } });
        return [loaded.reservations.map((r) => r.figures.reclaimMs).sort(), loaded.leasesThroughMs];
      };
      expect(await page(Number.NEGATIVE_INFINITY, 1)).toStrictEqual([[10], 10]);
      expect(await page(10, 2)).toStrictEqual([[20, 20, 20], 20]);
      expect(await page(20, 5)).toStrictEqual([[30], Number.MAX_SAFE_INTEGER]);
      expect(await page(0, 5)).toStrictEqual([[10, 20, 20, 20, 30], 30]);
      expect((await c.load()).leasesThroughMs).toBeUndefined();
    });
  });

  it('readEntries goes on after a sequence, whole rows at least one, about as many as asked', async () => {
    let head = await c.start();
    for (const seq of [4, 6, 8]) {
      const entries = [0, 1].map((i) => granted({ seq: seq + i }, rid(`r${seq + i}`), c.onRun(), held(1n, START_MS)));
      head = await appendTo(c.store, c.epoch, { treeId: c.treeId, expected: head, entries });
    }
    const seqs = async (after: number, countMax: number) =>
      (await c.store.readEntries(c.treeId, after, countMax)).map((e) => e.seq);
    expect(await seqs(0, 1)).toStrictEqual([1, 2, 3]);
    expect(await seqs(3, 1)).toStrictEqual([4, 5]);
    expect(await seqs(4, 3)).toStrictEqual([5, 6, 7]);
    expect(await seqs(0, 100)).toStrictEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await seqs(9, 100)).toStrictEqual([]);
  });

  it('dueTrees pages by time over trees, and leaves out what is not due or out of service', async () => {
    // Later than everything else in this store, so that a cursor leaves the rest out.
    const farMs = 9_000_000_000_000;
    const rest = { treeId: tree(''), reclaimMs: farMs };
    const due = async (nowMs: number, after: DueTree = rest, countMax = 9) =>
      (await c.store.dueTrees(farMs + nowMs, after, countMax)).map((found) => [found.treeId, found.reclaimMs - farMs]);
    const dueAt = { a: [500, 100], b: [200], c: [200, 900], d: [5_000], e: [300] };
    for (const [name, times] of Object.entries(dueAt)) {
      const id = tree(`${c.treeId}-${name}`);
      const entries = [
        created({ seq: 1, atMs: 1 }, definition(1, id, undefined)),
        ...times.map((ms, i) =>
          granted({ seq: 2 + i, atMs: 1 }, rid(`r${i}`), { path: id, nos: [1] }, held(1n, farMs + ms)),
        ),
      ];
      await appendTo(c.store, c.epoch, { treeId: id, expected: NO_HEAD, entries });
      await c.store.project([{ treeId: id, entries }]);
    }
    await c.store.quarantine(tree(`${c.treeId}-e`), 'broken');
    expect(await due(1_000, rest, 2)).toStrictEqual([
      [`${c.treeId}-a`, 100],
      [`${c.treeId}-b`, 200],
    ]);
    const cursor = { treeId: tree(`${c.treeId}-b`), reclaimMs: farMs + 200 };
    expect(await due(1_000, cursor)).toStrictEqual([[`${c.treeId}-c`, 200]]);
    expect(await due(99)).toStrictEqual([]);
    // What lapses is due no more; the next one of the tree is.
    await c.store.project([
      {
        treeId: tree(`${c.treeId}-a`),
        entries: [expired({ seq: 4, atMs: 600 }, rid('r1'), [1], held(1n, farMs + 100))],
      },
    ]);
    expect(await due(1_000)).toStrictEqual([
      [`${c.treeId}-b`, 200],
      [`${c.treeId}-c`, 200],
      [`${c.treeId}-a`, 500],
    ]);
  });

  it('unprojectedTrees finds trees that are behind, and quarantine shows in load with the first reason', async () => {
    await c.start();
    const behind = async () => (await c.store.unprojectedTrees(1_000)).find((found) => found.treeId === c.treeId);
    expect(await behind()).toStrictEqual({ treeId: c.treeId, projectedSeq: 0 });
    await c.project(threeLevels(c.treeId).slice(0, 2));
    expect(await behind()).toStrictEqual({ treeId: c.treeId, projectedSeq: 2 });
    await c.project(threeLevels(c.treeId).slice(2));
    expect(await behind()).toBeUndefined();
    expect(await c.store.unprojectedTrees(0)).toStrictEqual([]);
    expect((await c.load()).quarantine).toBeUndefined();
    await c.store.quarantine(c.treeId, 'first');
    await c.store.quarantine(c.treeId, 'second');
    expect((await c.load()).quarantine).toBe('first');
  });

  it('unprojectedTrees goes on after a cursor, by id', async () => {
    const ids = ['a', 'b', 'c', 'd'].map((name) => tree(`${c.treeId}-${name}`));
    for (const treeId of ids.toReversed()) {
      const entries = [created({ seq: 1 }, definition(1, treeId, undefined))];
      await appendTo(c.store, c.epoch, { treeId, expected: NO_HEAD, entries });
      if (treeId.endsWith('b')) await c.store.project([{ treeId, entries }]);
    }
    const page = async (after: string, countMax: number) =>
      (await c.store.unprojectedTrees(countMax, tree(after))).map(({ treeId }) => treeId);
    expect(await page(c.treeId, 2)).toStrictEqual([ids[0], ids[2]]);
    expect((await page(ids[0] as string, 9)).slice(0, 2)).toStrictEqual([ids[2], ids[3]]);
    await c.store.quarantine(ids[2] as TreeId, 'broken');
    expect((await page(ids[0] as string, 9))[0]).toBe(ids[3]);
    expect(await page('~', 9)).toStrictEqual([]);
  });
}
