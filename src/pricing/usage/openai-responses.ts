// The Responses shape of OpenAI and xAI: every detail inside its total, reasoning too. In a stream it comes with
// response.completed, .incomplete or .failed. Source: openai-node, resources/responses/responses.ts.
import type { UsageAdapter } from './adapter.ts';
import { NO_USAGE, splitInput, splitOutput } from './buckets.ts';
import { child, count, countOrZero, need, type Report, refuse, require } from './report.ts';
import type { Usage } from './usage.ts';

function responsesUsage(report: Report): Usage {
  const [inputTokens = 0n, outputTokens = 0n] = need(report, ['input_tokens', 'output_tokens']);
  const input = child(report, 'input_tokens_details');
  const output = child(report, 'output_tokens_details');
  const cached = child(input, 'cached_tokens_details');
  const total = count(report, 'total_tokens');
  const isSum = total === undefined || total === inputTokens + outputTokens;
  require(report, isSum, 'total_tokens', 'must be the sum of its parts');
  const reasoning = countOrZero(output, 'reasoning_tokens');
  require(report, reasoning <= outputTokens, 'output_tokens', 'must hold the reasoning tokens');
  return {
    ...NO_USAGE,
    ...splitInput(report, {
      total: inputTokens,
      cacheRead: countOrZero(input, 'cached_tokens'),
      cacheWrite5m: countOrZero(input, 'cache_write_tokens'),
      cacheWrite1h: 0n,
      audio: countOrZero(input, 'audio_tokens'),
      audioCacheRead: count(cached, 'audio_tokens'),
    }),
    ...splitOutput(report, outputTokens, countOrZero(output, 'audio_tokens')),
  };
}

/** OpenAI. */
export const openAiResponses: UsageAdapter = {
  paths: [['response', 'usage'], ['usage']],
  normalise: (report) => responsesUsage(report),
};

/** xAI: as OpenAI, with searches that it bills by source. */
export const xaiResponses: UsageAdapter = {
  paths: [['response', 'usage'], ['usage']],
  normalise: (report) => {
    refuse(report, countOrZero(report, 'num_sources_used') > 0n, 'num_sources_used', 'is billed apart from tokens');
    return responsesUsage(report);
  },
};
