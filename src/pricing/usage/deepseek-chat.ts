// DeepSeek: OpenAI's shape, with the prompt also given as cache hits and misses, which must come to it.
// Source: deepseek-sdk 0.7.0, chat/response.rs.
import type { UsageAdapter } from './adapter.ts';
import { eitherCount } from './buckets.ts';
import { CHAT_COUNTS, chatUsage } from './openai-chat.ts';
import { child, count, require } from './report.ts';

/** DeepSeek. */
export const deepseekChat: UsageAdapter = {
  paths: [['usage']],
  body: 'chat',
  counts: [...CHAT_COUNTS, 'prompt_cache_hit_tokens', 'prompt_cache_miss_tokens'],
  normalise: (report) => {
    const hits = count(report, 'prompt_cache_hit_tokens');
    const misses = count(report, 'prompt_cache_miss_tokens');
    const prompt = count(report, 'prompt_tokens');
    if (hits !== undefined && misses !== undefined && prompt !== undefined) {
      require(report, hits + misses === prompt, 'prompt_tokens', 'must be the sum of cache hits and misses');
    }
    const cached = count(child(report, 'prompt_tokens_details'), 'cached_tokens');
    return chatUsage(report, 'inside', {
      cacheRead: eitherCount(report, hits, cached, 'has two counts of cache hits'),
    });
  },
};
