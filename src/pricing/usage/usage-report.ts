// What a caller reports of a call that was made, taken apart: what a settlement carries to its decision. The one thing that a report
// may leave to the reservation is the life of the caches that were written; both readings are made at once, so that what waits
// to be decided is small whatever was reported, and no report is looked through twice.
import type { ModelName } from '../model-call.ts';
import { countUsage, findUsage, type UsageKind } from './normalise-usage.ts';
import { typedUsage, type UsageCounts } from './typed-usage.ts';
import type { Usage, UsageContext, UsageProblem, UsageResult } from './usage.ts';

/** See the head of this file. */
export interface UsageReport {
  /** The model that answered; undefined: the only one that was reserved for. */
  readonly served: ModelName | undefined;
  /** What was used where the call asked for caches of five minutes, or said nothing of them. */
  readonly usage: Usage;
  /** What was used where it asked for any other life; the same object where the report itself says what was written for how long. */
  readonly usageOfOtherTtl: Usage;
}

/** A report taken apart, or why it is refused. */
export type UsageReportResult =
  | { readonly report: UsageReport; readonly problem?: never }
  | { readonly report?: never; readonly problem: UsageProblem };

/** Takes a provider's own report apart, as normaliseUsage does. `raw` is parsed JSON. */
export function rawReport(
  kind: UsageKind,
  raw: unknown,
  served: ModelName | undefined,
  context: Omit<UsageContext, 'cacheTtl'>,
): UsageReportResult {
  const { found, problem: unfound } = findUsage(kind, raw);
  if (unfound !== undefined) return { problem: unfound };
  const read = (cacheTtl: string): UsageResult => countUsage(found, { ...context, cacheTtl });
  const { usage, problem } = read('5m');
  if (problem !== undefined) return { problem };
  // Where nothing can have been written for five minutes, nothing is left to the call.
  const other = usage.cacheWrite5m === 0n ? { usage } : read('1h');
  if (other.problem !== undefined) return { problem: other.problem };
  return { report: { served, usage, usageOfOtherTtl: other.usage } };
}

/** Takes counts by bucket, as typedUsage does. */
export function countedReport(counts: UsageCounts, served: ModelName | undefined): UsageReportResult {
  const { usage, problem } = typedUsage(counts);
  return problem === undefined ? { report: { served, usage, usageOfOtherTtl: usage } } : { problem };
}

/** What was used. `cacheTtl`: as in ModelCall, of the call that was reserved for. */
export function usageOf({ usage, usageOfOtherTtl }: UsageReport, cacheTtl: string | undefined): Usage {
  return cacheTtl === undefined || cacheTtl === '5m' ? usage : usageOfOtherTtl;
}
