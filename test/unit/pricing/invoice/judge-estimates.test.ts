import { expect, test } from 'vitest';
import { type EstimateShare, judgeEstimates } from '../../../../src/pricing/invoice/judge-estimates.ts';

const share = (model: string, permille: bigint, count: bigint, more: Partial<EstimateShare> = {}): EstimateShare => ({
  provider: 'p',
  model,
  unit: 'USD',
  permille,
  count,
  estimateMicros: 1_000n * count,
  actualMicros: permille * count,
  passedCount: permille > 1_000n ? count : 0n,
  wideCount: permille < 100n ? count : 0n,
  overrunCount: 0n,
  ...more,
});

test('percentiles are by nearest rank, whatever the order of the shares', () => {
  const ranks = (...shares: EstimateShare[]) => {
    const { p50, p95, p99 } = judgeEstimates(shares)[0]?.permille ?? {};
    return [p50, p95, p99];
  };
  expect(ranks(share('m', 7n, 1n))).toEqual([7n, 7n, 7n]);
  expect(ranks(share('m', 900n, 50n), share('m', 100n, 50n))).toEqual([100n, 900n, 900n]);
  expect(ranks(share('m', 900n, 51n), share('m', 100n, 49n))).toEqual([900n, 900n, 900n]);
  expect(ranks(share('m', 1n, 95n), share('m', 2n, 4n), share('m', 3n, 1n))).toEqual([1n, 1n, 2n]);
  expect(ranks(share('m', 1n, 94n), share('m', 2n, 4n), share('m', 3n, 2n))).toEqual([1n, 2n, 3n]);
  expect(ranks(...Array.from({ length: 20 }, (_, i) => share('m', BigInt(20 - i), 1n)))).toEqual([10n, 19n, 20n]);
});

test('an estimate that was passed comes first, then those too wide for most calls', () => {
  const judged = judgeEstimates([
    share('fits', 999n, 100n),
    share('half', 50n, 10n),
    share('half', 500n, 10n),
    share('most', 50n, 11n),
    share('most', 500n, 10n),
    share('once', 400n, 99n),
    share('once', 1_001n, 1n, { overrunCount: 1n }),
    share('often', 2_000n, 500n),
    share('exact', 1_000n, 1n),
    share('tenth', 100n, 5n),
  ]);
  expect(judged.map(({ model, verdict, passedCount, wideCount }) => [model, verdict, passedCount, wideCount])).toEqual([
    ['often', 'passed', 500n, 0n],
    ['once', 'passed', 1n, 0n],
    ['most', 'wide', 0n, 11n],
    ['fits', 'fits', 0n, 0n],
    ['half', 'fits', 0n, 10n],
    ['exact', 'fits', 0n, 0n],
    ['tenth', 'fits', 0n, 0n],
  ]);
  expect(judged[1]).toMatchObject({ count: 100n, estimateMicros: 100_000n, actualMicros: 40_601n, overrunCount: 1n });
});

test('one model in two units is judged twice', () => {
  const judged = judgeEstimates([share('m', 1n, 1n), share('m', 2n, 1n, { unit: 'INR' })]);
  expect(judged.map(({ unit, permille }) => [unit, permille.p50])).toEqual([
    ['INR', 2n],
    ['USD', 1n],
  ]);
});

test('of nothing there is nothing to judge', () => {
  expect(judgeEstimates([])).toEqual([]);
});
