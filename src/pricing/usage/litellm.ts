// LiteLLM: OpenAI's shape with Anthropic's cache counts added, reads and writes inside prompt_tokens, each in either of two places.
// Source: litellm/types/utils.py; issues 11364 and 11789.
import type { UsageAdapter } from './adapter.ts';
import { searchesPassedOn } from './anthropic-messages.ts';
import { eitherCount, splitWrites } from './buckets.ts';
import { chatUsage } from './openai-chat.ts';
import { child, count } from './report.ts';

/** LiteLLM. */
export const litellm: UsageAdapter = {
  paths: [['usage']],
  normalise: (report, context) => {
    const details = child(report, 'prompt_tokens_details');
    const split = child(details, 'cache_creation_token_details');
    const reads = count(report, 'cache_read_input_tokens');
    const created = count(report, 'cache_creation_input_tokens');
    const written = eitherCount(
      report,
      count(details, 'cache_creation_tokens'),
      count(details, 'cache_write_tokens'),
      'has two counts of cache writes',
    );
    const cacheRead = eitherCount(report, reads, count(details, 'cached_tokens'), 'has two counts of cache reads');
    const writes = splitWrites(
      report,
      eitherCount(report, created, written, 'has two counts of cache writes'),
      count(split, 'ephemeral_5m_input_tokens'),
      count(split, 'ephemeral_1h_input_tokens'),
      context.cacheTtl,
    );
    return { ...chatUsage(report, 'either', { cacheRead, writes }), ...searchesPassedOn(report) };
  },
};
