// Chat Completions of OpenAI, Azure and all that copy them: every detail is inside the two totals, but for reasoning, which some
// put beside completion_tokens. Source: openai-node, resources/completions.ts.
import type { UsageAdapter } from './adapter.ts';
import { splitInput, splitOutput, usageOf } from './buckets.ts';
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

/** OpenAI and Azure. */
export const openAiChat: UsageAdapter = {
  paths: [['usage']],
  normalise: (report) => chatUsage(report, 'inside'),
};

/** Whatever says that it is like OpenAI. */
export const openAiCompatible: UsageAdapter = {
  paths: [['usage']],
  normalise: (report) => chatUsage(report, 'either'),
};

/** Groq: the last chunk of a stream has it under x_groq. Source: groq-typescript. */
export const groqChat: UsageAdapter = {
  paths: [['x_groq', 'usage'], ['usage']],
  normalise: (report) => chatUsage(report, 'inside'),
};
