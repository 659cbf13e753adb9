// The index against a list: whatever is added, moved and removed, `due` gives what a sort of the list gives.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeaseIndex } from '../../../src/kernel/lease-index.ts';
import type { ReservationId } from '../../../src/kernel/names.ts';

const step = fc.oneof(
  fc.record({ do: fc.constant('set' as const), id: fc.nat(11), atMs: fc.integer({ min: 0, max: 6_000 }) }),
  fc.record({ do: fc.constant('remove' as const), id: fc.nat(11) }),
  fc.record({
    do: fc.constant('due' as const),
    nowMs: fc.integer({ min: 0, max: 7_000 }),
    countMax: fc.integer({ min: 1, max: 6 }),
  }),
);

describe('LeaseIndex', () => {
  it('finds what a sorted list finds', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const index = new LeaseIndex();
        const list = new Map<ReservationId, number>();
        for (const each of steps) {
          if (each.do === 'due') {
            const expected = [...list]
              .filter(([, reclaimMs]) => reclaimMs <= each.nowMs)
              .sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
              .slice(0, each.countMax)
              .map(([id, reclaimMs]) => ({ id, reclaimMs }));
            expect(index.due(each.nowMs, each.countMax)).toEqual(expected);
            continue;
          }
          const id = `id${each.id}` as ReservationId;
          const before = list.get(id);
          if (before !== undefined) index.remove(id, before);
          list.delete(id);
          if (each.do === 'remove') continue;
          index.add(id, each.atMs);
          list.set(id, each.atMs);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('removes nothing that was never there', () => {
    const index = new LeaseIndex();
    index.remove('a' as ReservationId, 5);
    index.add('b' as ReservationId, 5);
    index.remove('a' as ReservationId, 5);
    expect(index.due(5, 9)).toHaveLength(1);
  });
});
