// Usage that a caller has already taken apart: checked like a report, since it is as untrusted as one.
import { isWhole, WHOLE_MAX } from '../whole.ts';
import { NO_COUNTS } from './buckets.ts';
import { sumProblem, type Usage, type UsageResult } from './usage.ts';

/** The buckets that hold counts. */
type CountName = Exclude<
  keyof Usage,
  'serviceTiers' | 'callerTier' | 'inferenceGeos' | 'otherEvents' | 'reportedCost' | 'untoldSearches'
>;

/** Counts by bucket, whole numbers from 0 to 2^53 - 1; absent is 0. Every token in one bucket only. */
export type UsageCounts = { readonly [Name in CountName]?: number | bigint } & {
  /** Service tier or speed that served the call, in the provider's words. */
  readonly serviceTier?: string;
  /** Where inference ran, in the provider's words. */
  readonly inferenceGeo?: string;
};

const COUNT_NAMES = Object.keys(NO_COUNTS) as readonly CountName[];

/** Checks counts. No tokens at all are `usage_missing`, anything but a count `invalid_count`. */
export function typedUsage(counts: UsageCounts): UsageResult {
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = { ...NO_COUNTS };
  for (const name of COUNT_NAMES) {
    const count = counts[name] ?? 0n;
    if (count === 0n) continue;
    if (typeof count === 'bigint' ? count < 0n || count > BigInt(WHOLE_MAX) : !isWhole(count)) {
      return { problem: { code: 'invalid_count', field: name, text: 'must be a whole number from 0 to 2^53 - 1' } };
    }
    usage[name] = BigInt(count);
  }
  const problem = sumProblem(usage);
  if (problem !== undefined) return { problem };
  if (counts.serviceTier !== undefined) usage.callerTier = counts.serviceTier;
  if (counts.inferenceGeo !== undefined) usage.inferenceGeos = [counts.inferenceGeo];
  return { usage };
}
