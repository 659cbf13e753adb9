// xAI's Chat Completions: OpenAI's shape with reasoning beside completion_tokens, unless the total says that it is inside.
// Source: xai-proto, usage.proto.
import type { UsageAdapter } from './adapter.ts';
import { CHAT_COUNTS, chatUsage } from './openai-chat.ts';
import { count, refuse } from './report.ts';
import type { Usage } from './usage.ts';

/** xAI Chat Completions. */
export const xaiChat: UsageAdapter = {
  paths: [['usage']],
  body: 'chat',
  counts: [...CHAT_COUNTS, 'num_sources_used'],
  normalise: (report) => {
    const sources = count(report, 'num_sources_used');
    refuse(report, sources !== undefined && sources > 0n, 'num_sources_used', 'is billed apart from tokens');
    const usage: Usage = chatUsage(report, 'beside');
    return sources === undefined ? usage : { ...usage, untoldSearches: ['fileSearches'] };
  },
};
