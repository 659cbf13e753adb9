import { expect, it } from 'vitest';
import { BucketTally } from '../../../src/telemetry/bucket-tally.ts';

it.each([
  [0, [1, 0, 0]],
  [1, [1, 0, 0]],
  [1.001, [0, 1, 0]],
  [5, [0, 1, 0]],
  [5.001, [0, 0, 1]],
  [1e12, [0, 0, 1]],
])('%d is counted in its bucket, whose bound is inclusive', (value, counts) => {
  const tally = new BucketTally([1, 5]);
  tally.add(value);
  expect([tally.counts, tally.count, tally.sum]).toEqual([counts, 1, value]);
});
