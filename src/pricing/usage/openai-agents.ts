// The OpenAI Agents SDK for JavaScript: sums over the requests of a run, with a list of details, one for each request.
// Source: openai-agents-js, usage.ts.
import type { UsageAdapter } from './adapter.ts';
import { NO_USAGE, splitInput } from './buckets.ts';
import { child, children, count, countOrZero, field, need, type Report, require } from './report.ts';

/** The Agents SDK. */
export const openAiAgents: UsageAdapter = {
  paths: [['usage']],
  counts: [
    'inputTokens',
    'inputTokensDetails.cached_tokens',
    'inputTokensDetails.cache_write_tokens',
    'inputTokensDetails.audio_tokens',
    'outputTokens',
    'outputTokensDetails.reasoning_tokens',
    'totalTokens',
  ],
  normalise: (report) => {
    const [total = 0n, output = 0n] = need(report, ['inputTokens', 'outputTokens']);
    const input = detailsOf(report, 'inputTokensDetails');
    const reasoning = sumOf(detailsOf(report, 'outputTokensDetails'), 'reasoning_tokens');
    require(report, reasoning <= output, 'outputTokens', 'must hold the reasoning tokens');
    const sum = count(report, 'totalTokens');
    require(report, sum === undefined || sum === total + output, 'totalTokens', 'must be the sum of its parts');
    return {
      ...NO_USAGE,
      ...splitInput(report, {
        total,
        cacheRead: sumOf(input, 'cached_tokens'),
        cacheWrite5m: sumOf(input, 'cache_write_tokens'),
        cacheWrite1h: 0n,
        audio: sumOf(input, 'audio_tokens'),
        audioCacheRead: undefined,
      }),
      output,
    };
  },
};

/** Details stand in a list, or alone where a run had one request. */
function detailsOf(report: Report, name: string): readonly Report[] {
  if (Array.isArray(field(report, name))) return children(report, name);
  const single = child(report, name);
  return single === undefined ? [] : [single];
}

function sumOf(reports: readonly Report[], name: string): bigint {
  let sum = 0n;
  for (const report of reports) sum += countOrZero(report, name);
  return sum;
}
