// What an adapter is: where a kind of report stands in a response and its stream, and how it is taken apart. A new provider is
// one small file with one of these and a line in the table.
import type { Report } from './report.ts';
import type { Usage, UsageContext } from './usage.ts';

/**
 * What a response says that it is, where its interface has a word for that: a chat completion (`object`), a response of the Responses
 * interface (`object`, `type` of its events), a message of Anthropic's (`type`), of Google's (`usageMetadata`), a result of the AI SDK
 * (`providerMetadata`). Sources: as of the adapters.
 */
export type BodyForm = 'chat' | 'response' | 'message' | 'generated' | 'sdk';

/** How reports of one kind are read. */
export interface UsageAdapter {
  /** Where usage stands in a whole response or in an event of a stream, the likeliest first. */
  readonly paths: readonly (readonly string[])[];
  /** What the responses of the kind say that they are; absent: they say nothing. One that says otherwise is of another kind. */
  readonly body?: BodyForm;
  /**
   * Its own counts, as dotted paths in the report; a list on the way stands for each of its objects, and an object at the end for all that
   * it holds. Those that `normalise` reads, and those that are known to stand there and to repeat, hold or not be billed as one of them.
   * A count that another kind has, that this one has not, and that is neither null nor 0 contradicts the kind.
   */
  readonly counts: readonly string[];
  /** Makes one report of a stream; absent: the last event with usage has it, since counts are cumulative and never added up. */
  readonly mergeEvents?: (events: readonly Report[]) => Report | undefined;
  /**
   * Takes the counts of a report apart, and notes in its faults what is wrong; how the call was served is read for all kinds alike.
   * `around`: the response, or the part of an event, that holds the report; undefined where the report came alone, or was put together.
   */
  readonly normalise: (report: Report, context: UsageContext, around: Report | undefined) => Usage;
}
