// Which reports tell how many searches ran. A call that reserved for searches is charged for them or its report is refused, so that
// each kind has to say which it is: told, or left to counts.
import { expect, it } from 'vitest';
import { normaliseUsage, USAGE_KINDS, type UsageKind } from '../../../src/pricing/usage/normalise-usage.ts';
import type { SearchCount, UsageContext } from '../../../src/pricing/usage/usage.ts';

const chat = { prompt_tokens: 10, completion_tokens: 5 };
const responses = { input_tokens: 10, output_tokens: 5 };
const sdk = { inputTokens: 10, outputTokens: 5 };
const searches = { server_tool_use: { web_search_requests: 2 } };
const NEITHER: readonly SearchCount[] = ['webSearches', 'fileSearches'];
const FILES: readonly SearchCount[] = ['fileSearches'];

type Case = [kind: UsageKind, form: string, raw: unknown, untold: readonly SearchCount[], context?: UsageContext];

const CASES: readonly Case[] = [
  ['openai_chat', 'a response', { usage: chat, choices: [] }, NEITHER],
  ['azure_openai_chat', 'a response', { usage: chat, choices: [] }, NEITHER],
  ['openai_compatible', 'a response', { usage: chat, choices: [] }, NEITHER],
  ['openai_responses', 'usage alone', responses, NEITHER],
  ['openai_responses', 'a response without its output', { usage: responses }, NEITHER],
  ['openai_responses', 'a response', { usage: responses, output: [] }, []],
  ['openai_responses', 'a stream', { events: [{ response: { usage: responses, output: [] } }] }, []],
  ['azure_openai_responses', 'usage alone', responses, NEITHER],
  ['azure_openai_responses', 'a response', { usage: responses, output: [] }, []],
  ['openai_agents_js', 'usage alone', sdk, NEITHER],
  ['anthropic_messages', 'usage alone', responses, []],
  ['anthropic_messages', 'a stream', { events: [{ type: 'message_delta', usage: responses }] }, []],
  ['gemini', 'a response', { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 } }, NEITHER],
  ['vertex_gemini', 'a response', { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 } }, NEITHER],
  ['bedrock_converse', 'a response', { usage: sdk }, NEITHER],
  ['mistral_chat', 'a response', { usage: chat }, NEITHER],
  ['deepseek_chat', 'a response', { usage: chat }, NEITHER],
  ['xai_chat', 'without sources', { usage: chat }, NEITHER],
  ['xai_chat', 'with no sources', { usage: { ...chat, num_sources_used: 0 } }, FILES],
  ['xai_responses', 'without runs', { usage: responses, output: [] }, NEITHER],
  ['xai_responses', 'with no runs', { usage: { ...responses, num_server_side_tools_used: 0 } }, []],
  ['groq_chat', 'a response', { usage: chat }, NEITHER],
  ['cohere_v2_chat', 'a response', { usage: { billed_units: { input_tokens: 10, output_tokens: 5 } } }, NEITHER],
  ['openrouter_chat', 'without searches', { usage: chat }, NEITHER],
  ['openrouter_chat', 'with searches', { usage: { ...chat, ...searches } }, FILES],
  ['litellm', 'without searches', { usage: chat }, NEITHER],
  ['litellm', 'with searches', { usage: { ...chat, ...searches } }, FILES],
  ['ai_sdk_v5', 'usage alone', sdk, NEITHER],
  ['ai_sdk_v6', 'usage alone', sdk, NEITHER],
  ['ai_sdk_v6', 'Anthropic with its own report', { ...sdk, raw: responses }, [], { provider: 'anthropic' }],
  ['ai_sdk_v7', 'usage alone', sdk, NEITHER],
];

it.each(CASES)('%s, %s', (kind, _, raw, untold, context = {}) => {
  const { usage } = normaliseUsage(kind, raw, context);
  expect(usage?.untoldSearches).toEqual(untold);
});

it('every kind is among them', () => {
  expect(new Set(CASES.map(([kind]) => kind))).toEqual(new Set(USAGE_KINDS));
});
