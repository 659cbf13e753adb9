// Pages of the projection are counted in rows: one entry may lapse or renew a thousand holds.
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../src/kernel/entry.ts';
import { projectionPages } from '../../../src/lane/projection-pages.ts';

const refused = (seq: number) => ({ seq, type: 'Refused' }) as Entry;
const expired = (seq: number, count: number) =>
  ({ seq, type: 'Expired', lapses: Array(count).fill({ effects: [] }) }) as unknown as Entry;
const settled = (seq: number, accountCount: number) =>
  ({ seq, type: 'Settled', effects: [{ accounts: Array(accountCount).fill({}) }] }) as unknown as Entry;
const renewed = (seq: number, count: number) =>
  ({ seq, type: 'Renewed', moves: Array(count).fill({}) }) as unknown as Entry;

function seqsOf(entries: readonly Entry[], rowCountMax: number) {
  return projectionPages(entries, rowCountMax).map((page) => [
    page.rowCount,
    ...page.entries.map((entry) => entry.seq),
  ]);
}

describe('projectionPages', () => {
  it('counts lapses and renewals, not entries', () => {
    const entries = [expired(1, 600), expired(2, 600), refused(3), renewed(4, 399), refused(5)];
    expect(seqsOf(entries, 1_000)).toEqual([
      [600, 1],
      [1_000, 2, 3, 4],
      [1, 5],
    ]);
  });

  it('takes fewer of entries that move very many counters', () => {
    const entries = [settled(1, 9), settled(2, 2_448), settled(3, 2_448), settled(4, 9)];
    expect(seqsOf(entries, 100)).toEqual([
      [78, 1, 2],
      [78, 3, 4],
    ]);
  });

  it('gives an entry that is too large a page of its own, and none where there is nothing', () => {
    expect(seqsOf([refused(1), expired(2, 5_000), refused(3)], 1_000)).toEqual([
      [1, 1],
      [5_000, 2],
      [1, 3],
    ]);
    expect(seqsOf([], 1_000)).toEqual([]);
  });
});
