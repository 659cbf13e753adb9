// The contract's part on appends: their guards, fencing, keys, and what a repeated append says.
import { describe, expect, it } from 'vitest';
import { checkChain } from '../../src/store/journal-reader.ts';
import type { Head } from '../../src/store/port.ts';
import type { ContractWorld } from './contract-world.ts';
import {
  appendTo,
  created,
  definition,
  digest,
  granted,
  held,
  NO_HEAD,
  rid,
  START_MS,
  threeLevels,
  tree,
} from './sample-entries.ts';

/** Appends. */
export function describeAppend(c: ContractWorld): void {
  describe('append', () => {
    it('makes a tree and moves its head, and readers get the very entries', async () => {
      const entries = [
        ...threeLevels(c.treeId),
        granted(
          {
            seq: 4,
            key: 'k',
            personal: {
              actingFor: 'Zoë',
              labels: [
                ['b', '"'],
                ['ä', '\\'],
              ],
            },
          },
          rid('r'),
          c.onRun(),
          held(7n, START_MS + 9),
        ),
      ];
      const head = await c.start(entries);
      expect(head).toMatchObject({ seq: 4, atMs: START_MS + 4 });
      const loaded = await c.load({ withTail: true });
      expect(loaded).toMatchObject({ head, projectedSeq: 0, budgetCount: 0, budgets: [], reservations: [] });
      expect(loaded.tail).toStrictEqual(entries);
      expect((await c.load()).tail).toStrictEqual([]);
      expect(await c.store.readEntries(c.treeId, 0, 100)).toStrictEqual(entries);
      expect(await c.store.findKeys(c.treeId, ['k', 'unknown', 'k'].map(digest))).toStrictEqual([entries[3]]);
    });

    it('chains batch to batch', async () => {
      const first = await c.start();
      const second = await appendTo(c.store, c.epoch, {
        treeId: c.treeId,
        expected: first,
        entries: [granted({ seq: 4 }, rid('r'), c.onRun(), held(7n, START_MS + 9))],
      });
      expect(second.seq).toBe(4);
      expect(await checkChain(c.store, c.treeId)).toStrictEqual({ end: second, problem: undefined });
    });

    const badHeads: readonly (readonly [string, (head: Head) => Head])[] = [
      ['an older sequence', () => NO_HEAD],
      ['another hash', (head) => ({ ...head, hash: 'f'.repeat(64) })],
      ['a later sequence', (head) => ({ ...head, seq: head.seq + 1 })],
    ];
    it.each(badHeads)('with %s is a conflict, and writes nothing to any tree', async (_, spoil) => {
      const head = await c.start();
      const expected = spoil(head);
      const other = tree(`${c.treeId}-other`);
      const result = await c.store.append(c.epoch, [
        {
          treeId: other,
          expected: NO_HEAD,
          entries: [created({ seq: 1, key: 'x' }, definition(1, other, undefined))],
        },
        {
          treeId: c.treeId,
          expected,
          entries: [granted({ seq: expected.seq + 1 }, rid('r'), c.onRun(), held(7n, START_MS))],
        },
      ]);
      expect(result).toStrictEqual({ outcome: 'conflict' });
      expect((await c.load()).head).toStrictEqual(head);
      expect((await c.load({ treeId: other })).head).toStrictEqual(NO_HEAD);
      expect(await c.store.findKeys(other, [digest('x')])).toStrictEqual([]);
    });

    it.each(badHeads)('of one tree alone with %s is a conflict', async (_, spoil) => {
      const head = await c.start();
      const expected = spoil(head);
      const entries = [granted({ seq: expected.seq + 1, key: 'x' }, rid('r'), c.onRun(), held(7n, START_MS))];
      expect(await c.store.append(c.epoch, [{ treeId: c.treeId, expected, entries }])).toStrictEqual({
        outcome: 'conflict',
      });
      expect((await c.load()).head).toStrictEqual(head);
      expect(await c.store.findKeys(c.treeId, [digest('x')])).toStrictEqual([]);
    });

    it('leaves the heads that were told before it', async () => {
      const expected = await c.start();
      const part = (first: Head, seq: number, id: string) => ({
        treeId: c.treeId,
        expected: first,
        entries: [granted({ seq, key: id }, rid(id), c.onRun(), held(7n, START_MS))],
      });
      const first = [part(expected, expected.seq + 1, 'r')];
      const [head] = c.store.headsAfter(first);
      const second = [part(head as Head, expected.seq + 2, 's')];
      const told = [...c.store.headsAfter(first), ...c.store.headsAfter(second)];
      for (const [at, batch] of [first, second].entries()) {
        expect(await c.store.append(c.epoch, batch)).toStrictEqual({ outcome: 'committed', heads: [told[at]] });
      }
      expect((await c.load()).head).toStrictEqual(told[1]);
    });

    it('to a tree that does not exist at a sequence above 0 is a conflict', async () => {
      const expected: Head = { seq: 4, hash: 'a'.repeat(64), atMs: START_MS };
      const entries = [created({ seq: 5 }, definition(1, c.treeId, undefined))];
      expect(await c.store.append(c.epoch, [{ treeId: c.treeId, expected, entries }])).toStrictEqual({
        outcome: 'conflict',
      });
      expect((await c.load()).head).toStrictEqual(NO_HEAD);
    });

    it('under another epoch is fenced, also when there is nothing to append', async () => {
      for (const other of [c.epoch - 1, c.epoch + 1]) {
        expect(await c.store.append(other, [])).toStrictEqual({ outcome: 'fenced' });
        const part = { treeId: c.treeId, expected: NO_HEAD, entries: threeLevels(c.treeId) };
        expect(await c.store.append(other, [part])).toStrictEqual({ outcome: 'fenced' });
      }
      expect((await c.load()).head).toStrictEqual(NO_HEAD);
      expect(await c.store.append(c.epoch, [])).toStrictEqual({ outcome: 'committed', heads: [] });
    });

    it('with a key that the tree knows writes nothing; another tree may have the same key', async () => {
      const head = await c.start([created({ seq: 1, key: 'same' }, definition(1, c.treeId, undefined))]);
      const again = created({ seq: 2, key: 'same' }, definition(2, `${c.treeId}/a`, 1));
      const twice = [
        created({ seq: 2, key: 'new' }, definition(2, `${c.treeId}/a`, 1)),
        created({ seq: 3, key: 'new' }, definition(3, `${c.treeId}/b`, 1)),
      ];
      expect(await c.store.append(c.epoch, [{ treeId: c.treeId, expected: head, entries: [again] }])).toStrictEqual({
        outcome: 'key_exists',
      });
      expect(await c.store.append(c.epoch, [{ treeId: c.treeId, expected: head, entries: twice }])).toStrictEqual({
        outcome: 'key_exists',
      });
      expect((await c.load()).head).toStrictEqual(head);
      const other = tree(`${c.treeId}-other`);
      await appendTo(c.store, c.epoch, {
        treeId: other,
        expected: NO_HEAD,
        entries: [created({ seq: 1, key: 'same' }, definition(1, other, undefined))],
      });
    });

    it('of the same batch again is committed, once', async () => {
      const part = {
        treeId: c.treeId,
        expected: NO_HEAD,
        entries: [created({ seq: 1, key: 'k' }, definition(1, c.treeId, undefined))],
      };
      const first = await c.store.append(c.epoch, [part]);
      expect(first.outcome).toBe('committed');
      expect(await c.store.append(c.epoch, [part])).toStrictEqual(first);
      // Whoever rules by then: it is in the journal, and that is what was asked.
      expect(await c.store.append(c.epoch - 1, [part])).toStrictEqual(first);
      expect(await c.store.readEntries(c.treeId, 0, 10)).toHaveLength(1);
      const other = { ...part, entries: [created({ seq: 1, key: 'k2' }, definition(1, c.treeId, undefined))] };
      expect(await c.store.append(c.epoch, [other])).toStrictEqual({ outcome: 'conflict' });
    });

    it('refuses entries that do not follow the head', async () => {
      const entries = [created({ seq: 2 }, definition(1, c.treeId, undefined))];
      await expect(c.store.append(c.epoch, [{ treeId: c.treeId, expected: NO_HEAD, entries }])).rejects.toThrow(
        RangeError,
      );
      await expect(c.store.append(c.epoch, [{ treeId: c.treeId, expected: NO_HEAD, entries: [] }])).rejects.toThrow(
        RangeError,
      );
    });

    it('keeps times from 1970 to far ahead and entries of one instant', async () => {
      const times = [0, 1, 1, START_MS, 4_102_444_800_123];
      let head = NO_HEAD;
      for (const [i, atMs] of times.entries()) {
        const at = i === 0 ? definition(1, c.treeId, undefined) : definition(i + 1, `${c.treeId}/b${i}`, 1);
        head = await appendTo(c.store, c.epoch, {
          treeId: c.treeId,
          expected: head,
          entries: [created({ seq: i + 1, atMs, key: `t${i}` }, at)],
        });
      }
      expect((await c.store.readEntries(c.treeId, 0, 10)).map((entry) => entry.atMs)).toStrictEqual(times);
      const keys = times.map((_, i) => digest(`t${i}`));
      const found = await c.store.findKeys(c.treeId, keys);
      expect(found.map((entry) => entry.seq).sort()).toStrictEqual([1, 2, 3, 4, 5]);
      expect((await checkChain(c.store, c.treeId)).problem).toBeUndefined();
    });
  });
}
