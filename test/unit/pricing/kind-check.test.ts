// A report that is given as another kind than it is: what is refused, where, and what the refusal says to do; and what is no sign of it.
import { describe, expect, it } from 'vitest';
import { normaliseUsage, type UsageKind } from '../../../src/pricing/usage/normalise-usage.ts';
import { play } from '../../support/play-usage.ts';

const chat = (more: object = {}) => ({ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, ...more });
const snake = (more: object = {}) => ({ input_tokens: 12, output_tokens: 300, ...more });
const camel = (more: object = {}) => ({ inputTokens: 12, outputTokens: 300, ...more });

function refusalOf(kind: UsageKind, raw: unknown): string {
  const { problem } = normaliseUsage(kind, raw);
  return problem === undefined ? 'taken' : `${problem.code} ${problem.field} ${problem.text}`;
}

describe('a report that is given as another kind', () => {
  it.each<[kind: UsageKind, raw: unknown, refusal: string]>([
    [
      'openai_responses',
      { type: 'message', usage: snake({ cache_creation_input_tokens: 0, cache_read_input_tokens: 150_000 }) },
      'type is not of openai_responses: this looks like an Anthropic message, kind anthropic_messages',
    ],
    [
      'xai_responses',
      snake({ cache_creation_input_tokens: 2051, cache_read_input_tokens: 2051 }),
      'cache_creation_input_tokens is no count of xai_responses: this looks like an Anthropic message, kind anthropic_messages',
    ],
    [
      'anthropic_messages',
      { object: 'response', usage: snake({ total_tokens: 312 }) },
      'object is not of anthropic_messages: this looks like a response of the Responses interface, kind openai_responses, azure_openai_responses or xai_responses',
    ],
    [
      'anthropic_messages',
      snake({ input_tokens_details: { cached_tokens: 10 } }),
      'input_tokens_details.cached_tokens is no count of anthropic_messages: this looks like a response of the Responses interface, kind openai_responses, azure_openai_responses or xai_responses',
    ],
    [
      'openai_chat',
      chat({ prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 }),
      'prompt_cache_hit_tokens is no count of openai_chat: this looks like a chat completion, kind deepseek_chat, openai_compatible or openrouter_chat',
    ],
    [
      'openai_compatible',
      chat({ cache_creation_input_tokens: 60 }),
      'cache_creation_input_tokens is no count of openai_compatible: this looks like a chat completion, kind litellm',
    ],
    [
      'openai_chat',
      { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } },
      "usageMetadata is not of openai_chat: this looks like a response of Google's, kind gemini or vertex_gemini",
    ],
    [
      'bedrock_converse',
      { usage: camel(), providerMetadata: { anthropic: { cacheCreationInputTokens: 7 } } },
      'providerMetadata is not of bedrock_converse: this looks like a result of the AI SDK, kind ai_sdk_v5, ai_sdk_v6 or ai_sdk_v7',
    ],
    [
      'openai_agents_js',
      camel({ cacheReadInputTokens: 7 }),
      'cacheReadInputTokens is no count of openai_agents_js: this looks like kind bedrock_converse',
    ],
    [
      'gemini',
      snake({ prompt_tokens: 1 }),
      'input_tokens is no count of gemini: no kind has all that are here, so take the counts apart and give them as counts',
    ],
  ])('%s: %o', (kind, raw, refusal) => {
    expect(refusalOf(kind, raw)).toBe(`inconsistent_usage ${refusal}`);
  });

  play('openai_responses', [
    [
      'in the response of an event',
      { events: [{ response: { object: 'chat.completion', usage: snake() } }] },
      'inconsistent_usage response.object',
    ],
    [
      'in an event that does not count',
      { events: [{ type: 'message_start' }, { usage: snake() }] },
      'inconsistent_usage type',
    ],
    [
      'counts in an event before',
      { events: [{ usage: snake({ speed: 'x', iterations: [{ input_tokens: 4 }] }) }, { usage: snake() }] },
      'inconsistent_usage iterations',
    ],
    [
      'a count that is no number',
      snake({ cache_read_input_tokens: '9' }),
      'inconsistent_usage cache_read_input_tokens',
    ],
    [
      'a tool that nobody knows',
      snake({ server_tool_use: { code_execution_requests: 1 } }),
      'inconsistent_usage server_tool_use',
    ],
    [
      "runs of xAI's tools",
      snake({ server_side_tool_usage_details: { x_search_calls: 1 } }),
      'inconsistent_usage server_side_tool_usage_details',
    ],
  ]);
  play('anthropic_messages', [
    [
      'in a stream of which the later events say nothing of it',
      {
        events: [
          { type: 'message_start', message: { usage: snake({ input_tokens_details: { cached_tokens: 3 } }) } },
          { type: 'message_delta', usage: { output_tokens: 5 } },
        ],
      },
      'inconsistent_usage input_tokens_details.cached_tokens',
    ],
  ]);
  play('xai_responses', [
    [
      "OpenAI's searches",
      { object: 'response', output: [{ type: 'web_search_call' }], usage: snake() },
      'usage_incomplete num_server_side_tools_used',
    ],
    [
      'an output without searches',
      { object: 'response', output: [{ type: 'message' }], usage: snake() },
      'in 12 out 300',
    ],
  ]);
  play('ai_sdk_v6', [
    [
      "version 5 of Anthropic's cache",
      camel({ cachedInputTokens: 4 }),
      'usage_incomplete inputTokenDetails',
      { provider: 'anthropic.messages' },
    ],
    [
      "version 5 of Bedrock's writes",
      { usage: camel(), providerMetadata: { bedrock: { usage: { cacheWriteInputTokens: 4 } } } },
      'usage_incomplete inputTokenDetails',
      { provider: 'gateway' },
    ],
    [
      "version 5 of Google's reasoning",
      camel({ reasoningTokens: 4, providerMetadata: { google: {} } }),
      'usage_incomplete inputTokenDetails',
      { provider: 'gateway' },
    ],
    [
      'version 5 of OpenAI, which means the same',
      camel({ cachedInputTokens: 4, reasoningTokens: 4 }),
      'in 8 read 4 out 300',
      { provider: 'openai.chat' },
    ],
  ]);
  play('ai_sdk_v5', [
    [
      'version 6',
      camel({ inputTokenDetails: { noCacheTokens: 12 } }),
      'inconsistent_usage inputTokenDetails.noCacheTokens',
      { provider: 'anthropic.messages' },
    ],
    [
      'version 7, whose raw has tool prompts',
      camel({ raw: { toolUsePromptTokenCount: 5 } }),
      'inconsistent_usage raw.toolUsePromptTokenCount',
      { provider: 'google' },
    ],
  ]);
});

describe('what is no sign of another kind', () => {
  const nothing = {
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: null,
    cache_creation: { ephemeral_5m_input_tokens: 0 },
    iterations: [],
    server_tool_use: { web_search_requests: 0 },
    inputTokens: -0,
  };
  play('openai_chat', [
    ["others' counts of nothing", chat(nothing), 'in 100 out 20'],
    [
      'new details',
      chat({
        prompt_tokens_details: { text_tokens: 9, image_tokens: 4 },
        completion_tokens_details: { text_tokens: 5 },
        queue_time: 0.1,
      }),
      'in 100 out 20',
    ],
    ['in a prototype', Object.assign(Object.create({ iterations: [1] }), chat()), 'in 100 out 20'],
  ]);
  play('openai_compatible', [
    [
      "DeepSeek's hits are read, as DeepSeek's are",
      chat({ prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 }),
      'in 40 read 60 out 20',
    ],
    [
      "Mistral's cached tokens too",
      chat({ num_cached_tokens: 60, prompt_tokens_details: { cached_tokens: 60 } }),
      'in 40 read 60 out 20',
    ],
    ['two counts of them', chat({ num_cached_tokens: 60, prompt_cache_hit_tokens: 61 }), 'inconsistent_usage usage'],
    [
      'a cost, which its own kind takes',
      chat({ cost: 0.0012, cost_details: { upstream_inference_cost: 0.0012 } }),
      'in 100 out 20',
    ],
  ]);
  play('litellm', [
    [
      "Anthropic's counts, passed on with the split at the top",
      chat({ cache_creation_input_tokens: 60, cache_creation: { ephemeral_1h_input_tokens: 60 } }),
      'in 40 w1h 60 out 20',
    ],
    ["DeepSeek's hits", chat({ prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 }), 'in 40 read 60 out 20'],
    [
      "Anthropic's searches, and a cost",
      chat({ server_tool_use: { web_search_requests: 2 }, cost: 1 }),
      'in 100 out 20 web 2',
    ],
  ]);
  play('anthropic_messages', [['a cost of a gateway', snake({ cost: 0.5 }), 'in 12 out 300']]);
  play('groq_chat', [['a cost is a sign', chat({ cost: 0.5 }), 'inconsistent_usage cost']]);
  play('openrouter_chat', [
    [
      'a cost and searches',
      chat({ cost: 0.5, server_tool_use: { web_search_requests: 2 } }),
      'in 100 out 20 web 2 cost 5e-1',
    ],
  ]);
});

it('looks into a report of any depth, and no deeper than it must', () => {
  const deep = JSON.parse(`${'['.repeat(30_000)}${']'.repeat(30_000)}`);
  for (const name of ['iterations', 'server_tool_use', 'prompt_tokens', 'cacheDetails', 'raw', 'response', 'message']) {
    expect(refusalOf('openai_responses', snake({ [name]: deep }))).toMatch(
      /^(taken|inconsistent_usage |usage_missing )/,
    );
  }
});
