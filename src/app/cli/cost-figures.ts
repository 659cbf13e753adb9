// What costs were like: how many, and their percentiles by nearest rank, which is always one of the costs themselves. Pure and
// exact: whole micro-units, no interpolation.

/** Figures of some costs. */
export interface CostFigures {
  readonly count: number;
  readonly totalMicros: bigint;
  readonly p50Micros: bigint;
  readonly p95Micros: bigint;
  readonly p99Micros: bigint;
  readonly maxMicros: bigint;
}

/** The figures of `costs`, in any order; all 0 where there are none. */
export function costFigures(costs: Iterable<bigint>): CostFigures {
  const sorted = [...costs].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return {
    count: sorted.length,
    totalMicros: sorted.reduce((sum, cost) => sum + cost, 0n),
    p50Micros: nearestRank(sorted, 50),
    p95Micros: nearestRank(sorted, 95),
    p99Micros: nearestRank(sorted, 99),
    maxMicros: nearestRank(sorted, 100),
  };
}

/** The least of `sorted` that at least `percent` percent of them do not exceed; `percent` is 1 to 100. 0 where there are none. */
export function nearestRank(sorted: readonly bigint[], percent: number): bigint {
  const rank = Math.floor((sorted.length * percent + 99) / 100);
  return sorted[rank - 1] ?? 0n;
}
