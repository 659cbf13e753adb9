// xAI's Chat Completions: OpenAI's shape with reasoning beside completion_tokens, unless the total says that it is inside.
// Source: xai-proto, usage.proto.
import type { UsageAdapter } from './adapter.ts';
import { chatUsage } from './openai-chat.ts';
import { countOrZero, refuse } from './report.ts';

/** xAI Chat Completions. */
export const xaiChat: UsageAdapter = {
  paths: [['usage']],
  normalise: (report) => {
    refuse(report, countOrZero(report, 'num_sources_used') > 0n, 'num_sources_used', 'is billed apart from tokens');
    return chatUsage(report, 'beside');
  },
};
