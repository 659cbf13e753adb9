// LiteLLM: OpenAI's shape with Anthropic's cache counts added, reads and writes inside prompt_tokens, each in either of two places.
// Source: litellm/types/utils.py; issues 11364 and 11789.
import type { UsageAdapter } from './adapter.ts';
import { searchesPassedOn } from './anthropic-messages.ts';
import { eitherCount, splitWrites } from './buckets.ts';
import { CHAT_COUNTS, COST_COUNTS, cacheReadOf, chatUsage, HIT_COUNTS } from './openai-chat.ts';
import { child, count } from './report.ts';

/** LiteLLM. */
export const litellm: UsageAdapter = {
  paths: [['usage']],
  body: 'chat',
  counts: [
    ...CHAT_COUNTS,
    ...HIT_COUNTS,
    ...COST_COUNTS,
    'cache_read_input_tokens',
    'cache_creation_input_tokens',
    'cache_creation.ephemeral_5m_input_tokens',
    'cache_creation.ephemeral_1h_input_tokens',
    'prompt_tokens_details.cache_creation_tokens',
    'prompt_tokens_details.cache_creation_token_details.ephemeral_5m_input_tokens',
    'prompt_tokens_details.cache_creation_token_details.ephemeral_1h_input_tokens',
    'server_tool_use',
  ],
  normalise: (report, context) => {
    const details = child(report, 'prompt_tokens_details');
    const split = child(details, 'cache_creation_token_details') ?? child(report, 'cache_creation');
    const reads = count(report, 'cache_read_input_tokens');
    const created = count(report, 'cache_creation_input_tokens');
    const written = eitherCount(
      report,
      count(details, 'cache_creation_tokens'),
      count(details, 'cache_write_tokens'),
      'has two counts of cache writes',
    );
    const cacheRead = cacheReadOf(report, reads);
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
