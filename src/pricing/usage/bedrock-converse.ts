// Bedrock's Converse: cache counts beside the input, writes split by the life of the cache in a list. totalTokens is not looked at,
// since sources differ on whether it holds the cache. Source: Bedrock API reference, TokenUsage, CacheDetail.
import type { UsageAdapter } from './adapter.ts';
import { NO_USAGE, splitWrites } from './buckets.ts';
import { children, count, countOrZero, need, word } from './report.ts';

/** Bedrock. */
export const bedrockConverse: UsageAdapter = {
  paths: [['metadata', 'usage'], ['usage']],
  counts: [
    'inputTokens',
    'outputTokens',
    'totalTokens',
    'cacheReadInputTokens',
    'cacheWriteInputTokens',
    'cacheDetails.inputTokens',
  ],
  normalise: (report, context) => {
    const [uncachedInput = 0n, output = 0n] = need(report, ['inputTokens', 'outputTokens']);
    const details = children(report, 'cacheDetails');
    let fiveMinutes = 0n;
    let other = 0n;
    for (const detail of details) {
      const tokens = countOrZero(detail, 'inputTokens');
      if (word(detail, 'ttl') === '5m') fiveMinutes += tokens;
      else other += tokens;
    }
    const isSplit = details.length > 0;
    return {
      ...NO_USAGE,
      uncachedInput,
      cacheRead: countOrZero(report, 'cacheReadInputTokens'),
      ...splitWrites(
        report,
        count(report, 'cacheWriteInputTokens'),
        isSplit ? fiveMinutes : undefined,
        isSplit ? other : undefined,
        context.cacheTtl,
      ),
      output,
    };
  },
};
