// What a caller reports of a call that was made: the provider's own words, or counts by bucket, and which model served. Checked and
// taken apart only when it is priced, since how a report splits its cache writes depends on what was reserved.
import type { ModelName } from '../model-call.ts';
import { normaliseUsage, type UsageKind } from './normalise-usage.ts';
import { typedUsage, type UsageCounts } from './typed-usage.ts';
import type { UsageContext, UsageResult } from './usage.ts';

/** See the head of this file. */
export interface UsageReport {
  /** The model that answered; undefined: the only one that was reserved for. */
  readonly served: ModelName | undefined;
  /** As the provider reported it: `raw` is parsed JSON. */
  readonly reported?: { readonly kind: UsageKind; readonly raw: unknown };
  /** Counts that the caller has taken apart; exactly one of this and `reported`. */
  readonly counts?: UsageCounts;
  /** What the report alone does not say, but for the cache life that was reserved for. */
  readonly context: Omit<UsageContext, 'cacheTtl'>;
}

/** Takes a report apart. `cacheTtl`: as in ModelCall, of the call that was reserved for. */
export function usageOf({ reported, counts, context }: UsageReport, cacheTtl: string | undefined): UsageResult {
  if (reported === undefined) return typedUsage(counts ?? {});
  return normaliseUsage(reported.kind, reported.raw, { ...context, ...(cacheTtl !== undefined && { cacheTtl }) });
}
