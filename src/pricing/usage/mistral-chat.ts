// Mistral: OpenAI's shape, with cached tokens in either of two places and audio by the second, which tokens don't price.
// Source: mistralai/client-ts, components/usageinfo.ts.
import type { UsageAdapter } from './adapter.ts';
import { eitherCount } from './buckets.ts';
import { CHAT_COUNTS, chatUsage } from './openai-chat.ts';
import { child, count, countOrZero, refuse } from './report.ts';

/** Mistral. */
export const mistralChat: UsageAdapter = {
  paths: [['usage']],
  body: 'chat',
  counts: [...CHAT_COUNTS, 'num_cached_tokens', 'prompt_audio_seconds'],
  normalise: (report) => {
    refuse(report, countOrZero(report, 'prompt_audio_seconds') > 0n, 'prompt_audio_seconds', 'is billed by the second');
    const cached = count(child(report, 'prompt_tokens_details'), 'cached_tokens');
    const cacheRead = eitherCount(
      report,
      count(report, 'num_cached_tokens'),
      cached,
      'has two counts of cached tokens',
    );
    return chatUsage(report, 'inside', { cacheRead });
  },
};
