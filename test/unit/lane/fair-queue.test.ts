import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TreeId } from '../../../src/kernel/names.ts';
import { FairQueue } from '../../../src/lane/fair-queue.ts';

interface Item {
  readonly treeId: TreeId;
  readonly no: number;
}

const item = (tree: string, no: number): Item => ({ treeId: tree as TreeId, no });
const names = (items: readonly Item[]) => items.map(({ treeId, no }) => `${treeId}${no}`);

function filled(countMax: number, ...trees: readonly (readonly [tree: string, count: number])[]): FairQueue<Item> {
  const queue = new FairQueue<Item>(countMax);
  for (const [tree, count] of trees) for (let no = 1; no <= count; no++) queue.push(item(tree, no));
  return queue;
}

describe('turns', () => {
  it('go round the trees, first come first served within each', () => {
    const queue = filled(99, ['a', 5], ['b', 1], ['c', 3]);
    expect(names(queue.take(5, 2))).toEqual(['a1', 'a2', 'b1', 'c1', 'c2']);
    expect(names(queue.take(99, 2))).toEqual(['a3', 'a4', 'c3', 'a5']);
    expect(queue.count).toBe(0);
    expect(queue.take(9, 2)).toEqual([]);
  });

  it('let a tree with one item pass a flood within one turn each', () => {
    const queue = filled(999, ['flood', 500]);
    queue.push(item('quiet', 1));
    expect(names(queue.take(21, 20))).toContain('quiet1');
  });

  it('go to one tree alone as long as no other waits', () => {
    expect(filled(999, ['a', 50]).take(40, 8)).toHaveLength(40);
  });
});

describe('a full room', () => {
  it('sheds the newest of the longest line, not whoever came last', () => {
    const queue = filled(6, ['flood', 5], ['quiet', 1]);
    expect(queue.push(item('new', 1))).toEqual(item('flood', 5));
    expect(queue.push(item('quiet', 2))).toEqual(item('flood', 4));
    expect(queue.count).toBe(6);
  });

  it('sheds the one added where its own line is the longest', () => {
    const queue = filled(6, ['flood', 5], ['quiet', 1]);
    expect(queue.push(item('flood', 6))).toEqual(item('flood', 6));
    expect(names(queue.drain())).toEqual(['flood1', 'flood2', 'flood3', 'flood4', 'flood5', 'quiet1']);
    expect(queue.count).toBe(0);
  });
});

describe('putting back', () => {
  it('goes before what waits, in order, whether there is room or not', () => {
    const queue = filled(3, ['a', 3]);
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
    fc.record({ do: fc.constant('push' as const), tree: fc.constantFrom('a', 'b', 'c') }),
    fc.record({
      do: fc.constant('take' as const),
      countMax: fc.integer({ min: 1, max: 7 }),
      turnMax: fc.integer({ min: 1, max: 3 }),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 12 }), (steps, countMax) => {
      const queue = new FairQueue<Item>(countMax);
      const out: Item[] = [];
      const shed = new Set<Item>();
      let no = 0;
      for (const each of steps) {
        if (each.do === 'take') {
          const taken = queue.take(each.countMax, each.turnMax);
          expect(taken.length).toBeLessThanOrEqual(each.countMax);
          out.push(...taken);
          continue;
        }
        no += 1;
        const gone = queue.push(item(each.tree, no));
        if (gone !== undefined) shed.add(gone);
        expect(queue.count).toBeLessThanOrEqual(countMax);
      }
      out.push(...queue.drain());
      expect(out.length + shed.size).toBe(no);
      expect(new Set([...out, ...shed].map((each) => each.no)).size).toBe(no);
      for (const tree of ['a', 'b', 'c']) {
        const own = out.filter(({ treeId }) => treeId === tree).map((each) => each.no);
        expect([...own].sort((a, b) => a - b)).toEqual(own);
      }
    }),
    { numRuns: 200 },
  );
});
