// Where counts stand in responses and streams, and usage that a caller has taken apart.
import { describe, expect, it } from 'vitest';
import { typedUsage } from '../../../src/pricing/usage/typed-usage.ts';
import { play, textOf } from '../../support/play-usage.ts';

const chat = (more: object = {}) => ({ prompt_tokens: 100, completion_tokens: 20, ...more });

describe('where usage stands', () => {
  play('openai_chat', [
    ['alone', chat(), 'in 100 out 20'],
    ['in a response', { id: 'x', usage: chat() }, 'in 100 out 20'],
    ['in a response that has none', { usage: null, ...chat() }, 'usage_missing usage'],
    ['in the last chunk', { events: [{ usage: null }, { usage: chat() }, {}, { usage: null }] }, 'in 100 out 20'],
    ['in several chunks', { events: [{ usage: chat() }, { usage: chat({ completion_tokens: 30 }) }] }, 'in 100 out 30'],
    ['in no chunk', { events: [{ usage: null }, {}, null, 5, 'x', []] }, 'usage_missing usage'],
    ['in an empty stream', { events: [] }, 'usage_missing usage'],
    ['in a stream that is none', { events: 5 }, 'usage_incomplete events'],
    ['nowhere', {}, 'usage_missing usage'],
    ['in a text', 'prompt_tokens', 'usage_incomplete usage'],
    ['in a list', [chat()], 'usage_incomplete usage'],
    ['in a prototype', Object.create(chat()), 'usage_missing usage'],
    ['in __proto__', JSON.parse('{"__proto__": {"prompt_tokens": 1, "completion_tokens": 1}}'), 'usage_missing usage'],
    ['with a tier from beside it', chat(), 'in 100 out 20 said flex', { serviceTier: 'flex' }],
  ]);
  play('openai_responses', [
    [
      'in the last event',
      {
        events: [
          { type: 'response.created', response: { usage: null } },
          { response: { usage: { input_tokens: 5, output_tokens: 6 } } },
        ],
      },
      'in 5 out 6',
    ],
    ['in a response', { usage: { input_tokens: 5, output_tokens: 6 } }, 'in 5 out 6'],
  ]);
  play('groq_chat', [
    ['in x_groq', { x_groq: { id: 'x', usage: chat() } }, 'in 100 out 20'],
    ['beside x_groq', { x_groq: { id: 'x' }, usage: chat() }, 'in 100 out 20'],
    ['in the last chunk', { events: [{ x_groq: { id: 'x' } }, { x_groq: { usage: chat() } }] }, 'in 100 out 20'],
  ]);
  play('cohere_v2_chat', [
    [
      'in message-end',
      { events: [{ type: 'message-end', delta: { usage: { billed_units: { input_tokens: 1, output_tokens: 2 } } } }] },
      'in 1 out 2',
    ],
  ]);
  play('bedrock_converse', [
    [
      'in metadata',
      { events: [{ messageStop: {} }, { metadata: { usage: { inputTokens: 1, outputTokens: 2 } } }] },
      'in 1 out 2',
    ],
  ]);
});

describe('typed usage', () => {
  it.each([
    [
      { uncachedInput: 5, cacheRead: 6n, webSearches: 1, serviceTier: 'flex', inferenceGeo: 'us' },
      'in 5 read 6 web 1 said flex us',
    ],
    [{}, 'usage_missing usage'],
    [{ webSearches: 1 }, 'usage_missing usage'],
    [{ output: -1 }, 'invalid_count output'],
    [{ output: -1n }, 'invalid_count output'],
    [{ output: 0.5 }, 'invalid_count output'],
    [{ output: 2n ** 53n }, 'invalid_count output'],
    [{ output: 2n ** 53n - 1n }, 'out 9007199254740991'],
  ])('%o', (counts, expected) => {
    const { usage, problem } = typedUsage(counts);
    expect(usage === undefined ? `${problem.code} ${problem.field}` : textOf(usage)).toBe(expected);
  });
});
