// A usage report once it is taken apart, as a settlement carries it to its decision. The one thing that a report may leave to the
// reservation is the life of the caches that were written; both readings are made at once, so that what waits to be decided is
// small whatever was reported, and nothing of a report is read twice.
import type { ModelName } from '../model-call.ts';
import { normaliseUsage, type UsageKind } from './normalise-usage.ts';
import { typedUsage, type UsageCounts } from './typed-usage.ts';
import type { Usage, UsageContext, UsageProblem, UsageResult } from './usage.ts';

/** What a call used, whatever cache life it asked for. */
export interface ReportedUsage {
  /** The model that answered; undefined: the only one that was reserved for. */
  readonly served: ModelName | undefined;
  /** Where the call asked for caches of five minutes, or said nothing. */
  readonly usage: Usage;
  /** Where it asked for any other life; the same object where the report says itself what was written for how long. */
  readonly usageOfOtherTtl: Usage;
}

/** A report taken apart, or why it is refused. */
export type ReportedUsageResult =
  | { readonly reported: ReportedUsage; readonly problem?: never }
  | { readonly reported?: never; readonly problem: UsageProblem };

/** Takes a provider's report apart, as normaliseUsage does. */
export function rawReport(
  kind: UsageKind,
  raw: unknown,
  served: ModelName | undefined,
  context: Omit<UsageContext, 'cacheTtl'>,
): ReportedUsageResult {
  return bothOf(served, (cacheTtl) => normaliseUsage(kind, raw, { ...context, cacheTtl }));
}

/** Takes counts that the caller has taken apart itself, as typedUsage does. */
export function countedReport(counts: UsageCounts, served: ModelName | undefined): ReportedUsageResult {
  const result = typedUsage(counts);
  if (result.problem !== undefined) return result;
  return { reported: { served, usage: result.usage, usageOfOtherTtl: result.usage } };
}

/** The usage, read as the call asked for its caches. */
export function usageFor(reported: ReportedUsage, cacheTtl: string | undefined): Usage {
  return cacheTtl === undefined || cacheTtl === '5m' ? reported.usage : reported.usageOfOtherTtl;
}

function bothOf(served: ModelName | undefined, read: (cacheTtl: string) => UsageResult): ReportedUsageResult {
  const short = read('5m');
  if (short.problem !== undefined) return short;
  // What was not written for five minutes at the most can't have been written for any other time either.
  if (short.usage.cacheWrite5m === 0n) {
    return { reported: { served, usage: short.usage, usageOfOtherTtl: short.usage } };
  }
  const other = read('1h');
  if (other.problem !== undefined) return other;
  return { reported: { served, usage: short.usage, usageOfOtherTtl: other.usage } };
}
