// The contract's part on what readers and verifiers see.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Entry } from '../../src/kernel/entry.ts';
import { readCheckedRows } from '../../src/store/journal-reader.ts';
import type { ReadModels } from '../../src/store/reads.ts';
import type { ContractWorld } from './contract-world.ts';
import {
  alerted,
  appendTo,
  created,
  definition,
  digest,
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

/** Lists and audit. */
export function describeReads(c: ContractWorld): void {
  describe('lists', () => {
    beforeEach(async () => {
      const paths = ['', '/a', '/a/x', '/a-b', '/a.b', '/a/x/y', '/b'];
      const parents = [undefined, 1, 2, 1, 1, 3, 1];
      const entries: Entry[] = paths.map((at, i) =>
        created({ seq: i + 1 }, definition(i + 1, `${c.treeId}${at}`, parents[i], { uncapped: true })),
      );
      const on: readonly (readonly [string, number[], string])[] = [
        ['/a/x', [1, 2, 3], 'h1'],
        ['/a-b', [1, 4], 'h2'],
        ['/a', [1, 2], 'h2'],
        ['', [1], 'h1'],
      ];
      on.forEach(([at, nos, holder], i) => {
        entries.push(granted({ seq: 8 + i }, rid(`r${i}`), { path: `${c.treeId}${at}`, nos, holder }, held(1n, 5)));
      });
      entries.push(settled({ seq: 12 }, rid('r2'), [1, 2], held(1n, 5)));
      await c.start(entries);
      await c.project(entries);
    });

    it('of budgets go by segments, parents first', async () => {
      const list = async (parent: string | undefined, recursive: boolean, after?: string, countMax = 100) => {
        const found = await c.store.listBudgetPaths({
          parent: parent === undefined ? undefined : path(`${c.treeId}${parent}`),
          recursive,
          after: after === undefined ? undefined : path(`${c.treeId}${after}`),
          countMax,
        });
        return found.filter((at) => at.startsWith(c.treeId)).map((at) => at.slice(c.treeId.length));
      };
      expect(await list('', true)).toStrictEqual(['', '/a', '/a/x', '/a/x/y', '/a-b', '/a.b', '/b']);
      expect(await list('', false)).toStrictEqual(['', '/a', '/a-b', '/a.b', '/b']);
      expect(await list('/a', true)).toStrictEqual(['/a', '/a/x', '/a/x/y']);
      expect(await list('/a', false)).toStrictEqual(['/a', '/a/x']);
      expect(await list('/a', true, '/a', 1)).toStrictEqual(['/a/x']);
      expect(await list('', false, '/a', 2)).toStrictEqual(['/a-b', '/a.b']);
      expect(await list('/none', true)).toStrictEqual([]);
      expect(await list(undefined, false)).toStrictEqual(['']);
      expect(await list(undefined, true, '/a/x/y', 2)).toStrictEqual(['/a-b', '/a.b']);
      expect(await c.store.uncappedRoots(1_000)).toContain(c.treeId);
      expect(await c.store.uncappedRoots(0)).toStrictEqual([]);
    });

    it('of reservations cover the subtree and filter', async () => {
      const list = async (at: string, over: Partial<Parameters<ReadModels['listReservations']>[0]> = {}) => {
        const query = {
          treeId: c.treeId,
          budget: path(`${c.treeId}${at}`),
          state: undefined,
          holder: undefined,
          after: undefined,
          countMax: 100,
        };
        return (await c.store.listReservations({ ...query, ...over })).map((r) => r.id.slice(0, 2));
      };
      expect(await list('')).toStrictEqual(['r0', 'r1', 'r2', 'r3']);
      expect(await list('/a')).toStrictEqual(['r0', 'r2']);
      expect(await list('/a', { state: 'ACTIVE' })).toStrictEqual(['r0']);
      expect(await list('', { holder: 'h2', state: 'ACTIVE' })).toStrictEqual(['r1']);
      expect(await list('', { after: rid('r1'), countMax: 1 })).toStrictEqual(['r2']);
      expect(await list('/a', { after: rid('r0') })).toStrictEqual(['r2']);
      expect(await list('/b')).toStrictEqual([]);
    });
  });

  it('events come in order from anywhere in a row, as many as are asked for, with their personal fields', async () => {
    const special = granted({ seq: 4, personal: { actingFor: 'Ann' } }, rid('r'), c.onRun(), held(7n, START_MS + 9));
    const first = [...threeLevels(c.treeId), special, alerted({ seq: 5 }, [1, 1, 0, 80])];
    const second = [settled({ seq: 6 }, rid('r'), [1, 2, 3], held(7n, START_MS + 9))];
    const read = (afterSeq: number, countMax: number) => c.store.readEvents(c.treeId, afterSeq, countMax);
    expect(await read(0, 10)).toStrictEqual([]);
    const head = await c.start(first);
    await appendTo(c.store, c.epoch, { treeId: c.treeId, expected: head, entries: second });
    const all = [...first, ...second];
    expect(await read(0, 10)).toStrictEqual(all);
    expect(await read(0, 2)).toStrictEqual(all.slice(0, 2));
    expect(await read(3, 2)).toStrictEqual(all.slice(3, 5));
    expect(await read(4, 2)).toSatisfy((found: Entry[]) => found.length > 0 && found.length <= 2);
    expect((await read(4, 2))[0]).toStrictEqual(all[4]);
    expect(await read(5, 1)).toStrictEqual(all.slice(5));
    expect(await read(6, 10)).toStrictEqual([]);
  });

  it('heads of trees come by id after a cursor, and tell which have moved', async () => {
    const other = tree(`${c.treeId}-b`);
    const head = await c.start();
    await appendTo(c.store, c.epoch, { treeId: other, expected: NO_HEAD, entries: threeLevels(other) });
    const heads = () => c.store.treeHeads(tree(c.treeId.slice(0, -1)), 1_000);
    const own = async () => (await heads()).filter(({ treeId }) => treeId.startsWith(c.treeId));
    const atMs = START_MS + 3;
    expect(await own()).toStrictEqual([
      { treeId: c.treeId, seq: 3, atMs },
      { treeId: other, seq: 3, atMs },
    ]);
    const entries = [alerted({ seq: 4 }, [1, 1, 0, 80])];
    await appendTo(c.store, c.epoch, { treeId: c.treeId, expected: head, entries });
    expect((await own()).map(({ seq }) => seq)).toStrictEqual([4, 3]);
    expect((await c.store.treeHeads(c.treeId, 1)).map(({ treeId }) => treeId)).toStrictEqual([other]);
    const ids = (await c.store.treeHeads(undefined, 1_000)).map(({ treeId }) => treeId);
    expect(ids).toContain(other);
    expect(ids).toStrictEqual(ids.toSorted());
  });

  it('heads that have moved since an instant, and where a journal stood at one', async () => {
    const head = await c.start();
    const at = async (atMs?: number) => c.store.seqThrough(c.treeId, atMs);
    const moved = async (afterMs: number) => {
      const heads = await c.store.treeHeads(tree(c.treeId.slice(0, -1)), 1_000, afterMs);
      return heads.some(({ treeId }) => treeId === c.treeId);
    };
    const entries = [alerted({ seq: 4, atMs: head.atMs + 50 }, [1, 1, 0, 80])];
    await appendTo(c.store, c.epoch, { treeId: c.treeId, expected: head, entries });
    expect([await at(0), await at(head.atMs - 1), await at(head.atMs), await at(head.atMs + 49)]).toEqual([0, 0, 3, 3]);
    expect([await at(head.atMs + 50), await at(Number.MAX_SAFE_INTEGER), await at()]).toEqual([4, 4, 4]);
    expect(await c.store.seqThrough(tree('nobody'))).toBe(0);
    expect([await moved(head.atMs + 49), await moved(head.atMs + 50)]).toEqual([true, false]);
  });

  it('reservations by their ids, as projected', async () => {
    const entries = [
      ...threeLevels(c.treeId),
      granted({ seq: 4 }, rid('r'), c.onRun(), held(7n, START_MS + 9)),
      granted({ seq: 5 }, rid('s'), c.onRun(), held(8n, START_MS + 9)),
    ];
    await c.start(entries);
    expect(await c.store.findReservations(c.treeId, [rid('r')])).toEqual([]);
    await c.project(entries);
    const found = await c.store.findReservations(c.treeId, [rid('s'), rid('nobody'), rid('r')]);
    expect(found.map(({ figures }) => figures.heldMicros).toSorted()).toEqual([7n, 8n]);
    expect(await c.store.findReservations(tree('nobody'), [rid('r')])).toEqual([]);
    expect(await c.store.findReservations(c.treeId, [])).toEqual([]);
  });

  it('audit reads rows, projection and keys back', async () => {
    const entries = [
      ...threeLevels(c.treeId),
      granted({ seq: 4, key: 'k' }, rid('r'), c.onRun(), held(7n, START_MS + 9)),
    ];
    const head = await c.start(entries);
    await c.project(entries);
    const all = async <T>(rows: AsyncIterable<T>) => {
      const found: T[] = [];
      for await (const row of rows) found.push(row);
      return found;
    };
    expect(await all(c.store.treeIds())).toContain(c.treeId);
    expect(await c.store.readStanding(c.treeId)).toStrictEqual({
      head,
      projectedSeq: 4,
      budgetCount: 3,
      quarantine: undefined,
    });
    expect(await c.store.readStanding(tree('nobody'))).toBeUndefined();
    const rows = await all(readCheckedRows(c.store, c.treeId));
    expect(rows.flatMap((row) => row.entries)).toStrictEqual(entries);
    expect(rows[0]?.row).toMatchObject({ treeId: c.treeId, firstSeq: 1, lastSeq: 4, epoch: c.epoch, hash: head.hash });
    expect((await all(c.store.readBudgets(c.treeId))).map(({ def }) => def.no)).toStrictEqual([1, 2, 3]);
    expect((await all(c.store.readReservations(c.treeId))).map((r) => r.id)).toStrictEqual([rid('r')]);
    expect(await all(c.store.readKeys(c.treeId))).toStrictEqual([{ digest: digest('k'), seq: 4 }]);
  });
}
