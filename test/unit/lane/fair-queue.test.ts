import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TreeId } from '../../../src/kernel/names.ts';
import { FairQueue } from '../../../src/lane/fair-queue.ts';

interface Item {
  readonly treeId: TreeId;
  readonly no: number;
  readonly sheddable: boolean;
}

const item = (tree: string, no: number, sheddable = true): Item => ({ treeId: tree as TreeId, no, sheddable });
const names = (items: readonly Item[]) => items.map(({ treeId, no }) => `${treeId}${no}`);

function filled(...trees: readonly (readonly [tree: string, count: number])[]): FairQueue<Item> {
  const queue = new FairQueue<Item>();
  for (const [tree, count] of trees) for (let no = 1; no <= count; no++) queue.push(item(tree, no));
  return queue;
}

describe('turns', () => {
  it('go round the trees, first come first served within each', () => {
    const queue = filled(['a', 5], ['b', 1], ['c', 3]);
    expect(names(queue.take(5, 2))).toEqual(['a1', 'a2', 'b1', 'c1', 'c2']);
    expect(names(queue.take(99, 2))).toEqual(['a3', 'a4', 'c3', 'a5']);
    expect(queue.count).toBe(0);
    expect(queue.take(9, 2)).toEqual([]);
  });

  it('let a tree with one item pass a flood within one turn each', () => {
    const queue = filled(['flood', 500]);
    queue.push(item('quiet', 1));
    expect(names(queue.take(21, 20))).toContain('quiet1');
  });

  it('are as many as there may be: a flood does not fill what others leave', () => {
    const queue = filled(['flood', 500], ['quiet', 2]);
    expect(queue.treeCount).toBe(2);
    expect(names(queue.take(256, 20, 1))).toHaveLength(22);
    // Of one tree alone now.
    expect(queue.take(256, 20, 2)).toHaveLength(40);
    expect(queue.take(256, 20)).toHaveLength(256);
  });

  it('go to one tree alone as long as no other waits', () => {
    expect(filled(['a', 50]).take(40, 8)).toHaveLength(40);
  });
});

describe('shedding', () => {
  it('takes the newest of the longest line', () => {
    const queue = filled(['flood', 3], ['quiet', 1]);
    expect([queue.shedLongest(), queue.shedLongest()]).toEqual([item('flood', 3), item('flood', 2)]);
    expect(names(queue.drain())).toEqual(['flood1', 'quiet1']);
  });

  it('passes over what has to be kept, however long its line is', () => {
    const queue = filled(['quiet', 1]);
    for (const no of [1, 2, 3]) queue.push(item('ending', no, false));
    queue.push(item('mixed', 1));
    queue.push(item('mixed', 2));
    queue.push(item('mixed', 3, false));
    expect(queue.longest()?.sheddableCount).toBe(2);
    const shed = [queue.shedLongest(), queue.shedLongest(), queue.shedLongest(), queue.shedLongest()];
    expect(shed).toEqual([item('mixed', 2), item('quiet', 1), item('mixed', 1), undefined]);
    expect(queue.count).toBe(4);
    expect(queue.lineOf('quiet' as TreeId)).toBeUndefined();
    expect(queue.take(9, 9).map(({ sheddable }) => sheddable)).toEqual([false, false, false, false]);
  });

  it('knows what was taken and what was put back', () => {
    const queue = filled(['a', 3], ['b', 2]);
    const taken = queue.take(2, 2);
    expect(queue.longest()?.sheddableCount).toBe(2);
    queue.putBack('a' as TreeId, taken);
    expect(queue.longest()?.sheddableCount).toBe(3);
    expect(queue.shedLongest()).toEqual(item('a', 3));
  });
});

describe('putting back', () => {
  it('goes before what waits, in order', () => {
    const queue = filled(['a', 3]);
    const [first, second] = queue.take(2, 2) as [Item, Item];
    queue.push(item('a', 4));
    queue.push(item('a', 5));
    queue.putBack(first.treeId, [first, second]);
    queue.putBack(first.treeId, []);
    expect(queue.count).toBe(5);
    expect(names(queue.take(9, 9))).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
  });
});

it('loses nothing, doubles nothing, and keeps the order of each tree', () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant('push' as const),
      tree: fc.constantFrom('a', 'b', 'c'),
      sheddable: fc.boolean(),
    }),
    fc.record({ do: fc.constant('shed' as const) }),
    fc.record({
      do: fc.constant('take' as const),
      countMax: fc.integer({ min: 1, max: 7 }),
      turnMax: fc.integer({ min: 1, max: 3 }),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const queue = new FairQueue<Item>();
      const out: Item[] = [];
      const shed: Item[] = [];
      let no = 0;
      for (const each of steps) {
        if (each.do === 'take') {
          const taken = queue.take(each.countMax, each.turnMax);
          expect(taken.length).toBeLessThanOrEqual(each.countMax);
          out.push(...taken);
        } else if (each.do === 'push') {
          no += 1;
          queue.push(item(each.tree, no, each.sheddable));
        } else {
          const longestCount = queue.longest()?.sheddableCount ?? 0;
          const gone = queue.shedLongest();
          expect(gone?.sheddable).toBe(longestCount > 0 ? true : undefined);
          if (gone !== undefined) shed.push(gone);
        }
        expect(queue.count).toBe(no - out.length - shed.length);
      }
      out.push(...queue.drain());
      expect(new Set([...out, ...shed].map((each) => each.no)).size).toBe(no);
      for (const tree of ['a', 'b', 'c']) {
        const own = out.filter(({ treeId }) => treeId === tree).map((each) => each.no);
        expect([...own].sort((a, b) => a - b)).toEqual(own);
      }
    }),
    { numRuns: 200 },
  );
});
