// What a call used, in buckets that no token is in twice, whatever the provider's way to count; and why a report is refused. The
// one shape that costs are computed from.
import { TOKENS_MAX } from '../whole.ts';

/**
 * Counts of one call; every token is in exactly one bucket. Cost is the sum of bucket x rate, so a report that counts a token
 * in two fields is taken apart before it gets here.
 */
export interface Usage {
  /** Text input neither read from nor written to a cache. */
  readonly uncachedInput: bigint;
  /** Text input read from a cache. */
  readonly cacheRead: bigint;
  /** Input written to a cache that lives for five minutes, or whose life the provider does not price. */
  readonly cacheWrite5m: bigint;
  /** Input written to a cache that lives for any other time. */
  readonly cacheWrite1h: bigint;
  /** Audio input not read from a cache. */
  readonly audioInput: bigint;
  /** Audio input read from a cache. */
  readonly audioCacheRead: bigint;
  /** Output but for audio, reasoning included. */
  readonly output: bigint;
  /** Audio output. */
  readonly audioOutput: bigint;
  /** Web searches that the provider ran and bills one by one. */
  readonly webSearches: bigint;
  /** Searches of stored files that the provider ran and bills one by one. */
  readonly fileSearches: bigint;
  /** Of the two, those that the report can't tell the number of, so that it is 0 here whatever ran. Absent: it tells both. */
  readonly untoldSearches?: readonly SearchCount[];
  /**
   * Service tiers and speeds that the report says served the call, in the provider's words, at least one; UNREADABLE_WORD where what it
   * says is no word. Of several the dearest counts.
   */
  readonly serviceTiers?: readonly string[];
  /**
   * The same as the caller says it: counts where the report names none whose price is known. Beside one that may be dearer than the list
   * and has no known price, only where it is dearer than the list itself; beside another that is not known it is no discount.
   */
  readonly callerTier?: string;
  /** Where inference ran, in the provider's words, as serviceTiers. */
  readonly inferenceGeos?: readonly string[];
  /**
   * What other events of a stream say of it where the one that counts says nothing: mostly what was asked for. It may make the call
   * dearer, or refuse the report, and never makes it cheaper.
   */
  readonly otherEvents?: Pick<Usage, 'serviceTiers' | 'inferenceGeos'>;
  /** What the provider says that the call cost, where it is to be preferred to a computed cost. */
  readonly reportedCost?: ReportedCost;
}

/** The tier or place of a report that says one in another form than a word, or too many: none that has a price, maybe a dearer one. */
export const UNREADABLE_WORD = '(unreadable)';

/** Counts of searches. */
export type SearchCount = 'webSearches' | 'fileSearches';

/** An exact amount of dollars: `scaled` / 10^`places` USD. */
export interface ReportedCost {
  readonly scaled: bigint;
  readonly places: number;
}

/**
 * Why a report is refused. Each refuses the settlement and changes nothing; the caller may then settle as unknown, which takes
 * the whole hold, marked estimated.
 *
 * - `usage_missing`: there is no report, or one of zeros alone, as after an aborted call.
 * - `usage_incomplete`: a count that the price depends on is not there.
 * - `invalid_count`: a count is not a whole number from 0 to 2^53 - 1, or the sum of several is not, or a cost not a number from 0 on.
 * - `inconsistent_usage`: counts contradict each other, or the report its kind; none is clamped.
 * - `unknown_price`: a bucket that is above 0 has no rate, or the model no row. PRICE_UNKNOWN to callers.
 * - `unsupported_modality`: what was used is not billed by the buckets: images that come back, audio by the second.
 */
export type UsageProblemCode =
  | 'usage_missing'
  | 'usage_incomplete'
  | 'invalid_count'
  | 'inconsistent_usage'
  | 'unknown_price'
  | 'unsupported_modality';

/** A report that is refused. */
export interface UsageProblem {
  readonly code: UsageProblemCode;
  /** Path of the field in the report, or what else the problem is about; never a value from the report. */
  readonly field: string;
  /** What is wrong with it, as the end of a sentence that begins with the field. */
  readonly text: string;
}

/** What a report comes to. */
export type UsageResult =
  | { readonly usage: Usage; readonly problem?: never }
  | { readonly usage?: never; readonly problem: UsageProblem };

/** What a report alone does not say. */
export interface UsageContext {
  /** Provider behind a client library (AI SDK), as the library writes it: "anthropic", "google.vertex.chat". */
  readonly provider?: string;
  /** Cache life that the request asked for, as in ModelCall: decides where a report does not split its writes. */
  readonly cacheTtl?: string;
  /** Service tier that served the call, where the caller says it beside the report. */
  readonly serviceTier?: string;
}

/** Tokens of input of every kind, by which the tier is chosen. */
export function inputTokensOf(usage: Usage): bigint {
  let tokens = usage.uncachedInput + usage.cacheRead;
  // Each sum is a number of its own in memory, and most calls have none of these.
  if (usage.cacheWrite5m !== 0n) tokens += usage.cacheWrite5m;
  if (usage.cacheWrite1h !== 0n) tokens += usage.cacheWrite1h;
  if (usage.audioInput !== 0n) tokens += usage.audioInput;
  if (usage.audioCacheRead !== 0n) tokens += usage.audioCacheRead;
  return tokens;
}

/** Tokens of output of every kind. */
export function outputTokensOf(usage: Usage): bigint {
  return usage.audioOutput === 0n ? usage.output : usage.output + usage.audioOutput;
}

/** Why usage is refused, of which each count that was reported is whole: nothing at all, or sums past TOKENS_MAX. */
export function sumProblem(usage: Usage): UsageProblem | undefined {
  const input = inputTokensOf(usage);
  const output = outputTokensOf(usage);
  // Every call has some input: zeros alone are what an aborted call leaves behind.
  if (input + output === 0n) return { code: 'usage_missing', field: 'usage', text: 'is not there, or zeros alone' };
  const isWithin = (sum: bigint): boolean => sum <= TOKENS_MAX;
  if ([input, output, usage.webSearches, usage.fileSearches].every(isWithin)) return undefined;
  return { code: 'invalid_count', field: 'usage', text: `has counts that come to more than ${TOKENS_MAX}` };
}
