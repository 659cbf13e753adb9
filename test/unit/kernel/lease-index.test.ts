// The index against a list: whatever is added, moved and removed, `due` gives what a sort of the list gives.
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LeaseIndex } from '../../../src/kernel/lease-index.ts';
import type { ReservationId } from '../../../src/kernel/names.ts';

afterEach(() => void vi.restoreAllMocks());

const step = fc.oneof(
  fc.record({ do: fc.constant('set' as const), id: fc.nat(11), atMs: fc.integer({ min: 0, max: 6_000 }) }),
  fc.record({ do: fc.constant('remove' as const), id: fc.nat(11) }),
  fc.record({ do: fc.constant('next' as const) }),
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
          if (each.do === 'next') {
            expect(index.nextMs()).toBe(Math.min(Number.POSITIVE_INFINITY, ...list.values()));
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

  it('gives what lies between two instants, without the first and with the last', () => {
    const index = new LeaseIndex();
    for (const atMs of [900, 1_000, 1_001, 2_500, 4_000, 4_001]) index.add(`id${atMs}` as ReservationId, atMs);
    expect([...index.between(1_000, 4_000)].map(({ reclaimMs }) => reclaimMs)).toEqual([1_001, 2_500, 4_000]);
  });

  it('looks through no list of all seconds for the first, whatever goes and comes, nor for what is due', () => {
    const index = new LeaseIndex();
    const count = 20_000;
    for (let i = 0; i < count; i++) index.add(`id${i}` as ReservationId, i * 1_000 + 999);
    const spies = [vi.spyOn(Array.prototype, 'sort'), vi.spyOn(Map.prototype, 'keys')];
    for (let i = 0; i < 100; i++) {
      index.remove(`id${i}` as ReservationId, i * 1_000 + 999);
      expect(index.nextMs()).toBe((i + 1) * 1_000 + 999);
      expect(index.due((i + 1) * 1_000, 10)).toEqual([]);
    }
    const calls = spies.map(({ mock }) => mock.calls.length);
    expect(calls).toEqual([0, 0]);
  });

  it('takes very many that are due in one second page by page, and puts each into order once', () => {
    const index = new LeaseIndex();
    const count = 20_000;
    for (let i = 0; i < count; i++) index.add(`id${i}` as ReservationId, (i * 7_919) % 1_000);
    const sort = vi.spyOn(Array.prototype, 'sort');
    let taken = 0;
    let isRising = true;
    for (let last = 0; ; ) {
      const page = index.due(1_000, 1_000);
      if (page.length === 0) break;
      taken += page.length;
      for (const { id, reclaimMs } of page) {
        isRising &&= reclaimMs >= last;
        last = reclaimMs;
        index.remove(id, reclaimMs);
      }
    }
    const sortedCount = sort.mock.contexts.reduce<number>((sum, each) => sum + (each as unknown[]).length, 0);
    sort.mockRestore();
    expect([taken, isRising]).toEqual([count, true]);
    expect(sortedCount).toBeLessThan(count + 1_000);
  });
});
