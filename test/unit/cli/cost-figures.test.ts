// Percentiles by nearest rank: always one of the costs, exact at the edges.
import { describe, expect, it } from 'vitest';
import { costFigures, nearestRank } from '../../../src/app/cli/cost-figures.ts';

const upTo = (count: number): bigint[] => Array.from({ length: count }, (_, index) => BigInt(index + 1));

describe('nearest rank', () => {
  it.each([
    [1, 50, 1n],
    [1, 99, 1n],
    [2, 50, 1n],
    [2, 51, 2n],
    [3, 50, 2n],
    [4, 50, 2n],
    [5, 95, 5n],
    [20, 95, 19n],
    [21, 95, 20n],
    [100, 50, 50n],
    [100, 95, 95n],
    [100, 99, 99n],
    [100, 100, 100n],
    [101, 99, 100n],
    [1_000, 1, 10n],
  ])('of %i costs, %i percent: %i', (count, percent, rank) => {
    expect(nearestRank(upTo(count), percent)).toBe(rank);
  });

  it('of no costs is 0', () => {
    expect(costFigures([])).toEqual({
      count: 0,
      totalMicros: 0n,
      p50Micros: 0n,
      p95Micros: 0n,
      p99Micros: 0n,
      maxMicros: 0n,
    });
  });
});

it('figures take costs in any order, past what a number holds', () => {
  const large = 9_007_199_254_740_993n;
  expect(costFigures([5n, large, 1n, large - 1n])).toEqual({
    count: 4,
    totalMicros: 2n * large + 5n,
    p50Micros: 5n,
    p95Micros: large,
    p99Micros: large,
    maxMicros: large,
  });
});
