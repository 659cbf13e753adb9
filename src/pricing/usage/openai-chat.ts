// Chat Completions of OpenAI, Azure and all that copy them: every detail is inside the two totals, but for reasoning, which some
// put beside completion_tokens. Source: openai-node, resources/completions.ts.
import type { UsageAdapter } from './adapter.ts';
import { eitherCount, splitInput, splitOutput, usageOf } from './buckets.ts';
import { child, count, countOrZero, need, type Report, require } from './report.ts';
import type { Usage } from './usage.ts';

/**
 * Where reasoning stands. `inside`: in completion_tokens. `beside`: next to it, unless the total says otherwise. `either`: inside,
 * unless the total says otherwise.
 */
export type ReasoningPlace = 'inside' | 'beside' | 'either';

/** A count of cached tokens that stands elsewhere than OpenAI's; undefined: not there. */
interface Elsewhere {
  readonly cacheRead?: bigint | undefined;
  readonly writes?: Pick<Usage, 'cacheWrite5m' | 'cacheWrite1h'>;
}

/** Reads the shape of Chat Completions. What stands elsewhere is taken in the place of its details. */
export function chatUsage(report: Report, place: ReasoningPlace, elsewhere: Elsewhere = {}): Usage {
  const [prompt = 0n, completion = 0n] = need(report, ['prompt_tokens', 'completion_tokens']);
  const input = child(report, 'prompt_tokens_details');
  const output = child(report, 'completion_tokens_details');
  const cached = child(input, 'cached_tokens_details');
  const writes = elsewhere.writes ?? { cacheWrite5m: countOrZero(input, 'cache_write_tokens'), cacheWrite1h: 0n };
  checkPredictions(report, output, completion);
  const outputTokens = outputOf(report, prompt, completion, countOrZero(output, 'reasoning_tokens'), place);
  const inputBuckets = splitInput(report, {
    total: prompt,
    cacheRead: elsewhere.cacheRead ?? countOrZero(input, 'cached_tokens'),
    cacheWrite5m: writes.cacheWrite5m,
    cacheWrite1h: writes.cacheWrite1h,
    audio: countOrZero(input, 'audio_tokens'),
    audioCacheRead: count(cached, 'audio_tokens'),
  });
  return usageOf(inputBuckets, splitOutput(report, outputTokens, countOrZero(output, 'audio_tokens')));
}

/** Rejected predictions are billed as output and already in it. */
function checkPredictions(report: Report, details: Report | undefined, completion: bigint): void {
  const predicted =
    countOrZero(details, 'accepted_prediction_tokens') + countOrZero(details, 'rejected_prediction_tokens');
  require(report, predicted <= completion, 'completion_tokens', 'must hold the predicted tokens');
}

/** All output, reasoning once. The total decides where it stands; one that neither reading comes to is a fault. */
function outputOf(
  report: Report,
  prompt: bigint,
  completion: bigint,
  reasoning: bigint,
  place: ReasoningPlace,
): bigint {
  const total = count(report, 'total_tokens');
  const isBeside =
    place !== 'inside' &&
    (total === undefined ? place === 'beside' : reasoning > 0n && total === prompt + completion + reasoning);
  if (isBeside) return completion + reasoning;
  require(report, total === undefined || total === prompt + completion, 'total_tokens', 'must be the sum of its parts');
  require(report, reasoning <= completion, 'completion_tokens', 'must hold the reasoning tokens');
  return completion;
}

/** Counts of the shape that chatUsage reads. */
export const CHAT_COUNTS: readonly string[] = [
  'prompt_tokens',
  'prompt_tokens_details.cached_tokens',
  'prompt_tokens_details.cache_write_tokens',
  'prompt_tokens_details.audio_tokens',
  'prompt_tokens_details.cached_tokens_details.audio_tokens',
  'completion_tokens',
  'completion_tokens_details.reasoning_tokens',
  'completion_tokens_details.audio_tokens',
  'completion_tokens_details.accepted_prediction_tokens',
  'completion_tokens_details.rejected_prediction_tokens',
  'total_tokens',
];

/** Counts of cached tokens that stand beside the prompt, of providers that whoever stands between may pass on. */
export const HIT_COUNTS: readonly string[] = [
  'prompt_cache_hit_tokens',
  'prompt_cache_miss_tokens',
  'num_cached_tokens',
];

/** What a gateway says that the call cost; whoever else it stands beside prices the counts. */
export const COST_COUNTS: readonly string[] = ['cost', 'cost_details.upstream_inference_cost'];

/** The cached tokens of a report that may have passed on any of HIT_COUNTS. */
export function cacheReadOf(report: Report, ...others: readonly (bigint | undefined)[]): bigint | undefined {
  const places = [
    ...others,
    count(child(report, 'prompt_tokens_details'), 'cached_tokens'),
    count(report, 'prompt_cache_hit_tokens'),
    count(report, 'num_cached_tokens'),
  ];
  return places.reduce((read, place) => eitherCount(report, read, place, 'has two counts of cache reads'));
}

/** OpenAI and Azure. */
export const openAiChat: UsageAdapter = {
  paths: [['usage']],
  body: 'chat',
  counts: CHAT_COUNTS,
  normalise: (report) => chatUsage(report, 'inside'),
};

/** Whatever says that it is like OpenAI. */
export const openAiCompatible: UsageAdapter = {
  paths: [['usage']],
  body: 'chat',
  counts: [...CHAT_COUNTS, ...HIT_COUNTS, ...COST_COUNTS],
  normalise: (report) => chatUsage(report, 'either', { cacheRead: cacheReadOf(report) }),
};

/** Groq: the last chunk of a stream has it under x_groq. Source: groq-typescript. */
export const groqChat: UsageAdapter = {
  paths: [['x_groq', 'usage'], ['usage']],
  body: 'chat',
  counts: CHAT_COUNTS,
  normalise: (report) => chatUsage(report, 'inside'),
};
