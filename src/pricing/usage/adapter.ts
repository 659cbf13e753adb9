// What an adapter is: where a kind of report stands in a response and its stream, and how it is taken apart. A new provider is
// one small file with one of these and a line in the table.
import type { Report } from './report.ts';
import type { Usage, UsageContext } from './usage.ts';

/** How reports of one kind are read. */
export interface UsageAdapter {
  /** Where usage stands in a whole response or in an event of a stream, the likeliest first. */
  readonly paths: readonly (readonly string[])[];
  /** Makes one report of a stream; absent: the last event with usage has it, since counts are cumulative and never added up. */
  readonly mergeEvents?: (events: readonly Report[]) => Report | undefined;
  /**
   * Takes the counts of a report apart, and notes in its faults what is wrong; how the call was served is read for all kinds alike.
   * `around`: the response, or the part of an event, that holds the report; undefined where the report came alone, or was put together.
   */
  readonly normalise: (report: Report, context: UsageContext, around: Report | undefined) => Usage;
}
