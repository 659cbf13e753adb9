// Reports of OpenAI and of those that copy its shapes, beyond the vectors.
import { describe } from 'vitest';
import { play } from '../../support/play-usage.ts';

const chat = (more: object = {}) => ({ prompt_tokens: 100, completion_tokens: 20, ...more });
const input = (details: object) => chat({ prompt_tokens_details: details });
const output = (details: object) => chat({ completion_tokens_details: details });

describe('OpenAI', () => {
  play('openai_chat', [
    ['writes inside the prompt', input({ cached_tokens: 30, cache_write_tokens: 20 }), 'in 50 read 30 w5 20 out 20'],
    ['an hour asked for does not matter', input({ cache_write_tokens: 20 }), 'in 80 w5 20 out 20', { cacheTtl: '1h' }],
    ['half a report', { prompt_tokens: 5 }, 'usage_incomplete completion_tokens'],
    ['null is absent', { prompt_tokens: 5, completion_tokens: null }, 'usage_incomplete completion_tokens'],
    ['only zeros', { prompt_tokens: 0, completion_tokens: 0 }, 'usage_missing usage'],
    ['no output', { prompt_tokens: 5, completion_tokens: 0 }, 'in 5'],
    ['a total that is none', chat({ total_tokens: 121 }), 'inconsistent_usage total_tokens'],
    ['reasoning above output', output({ reasoning_tokens: 21 }), 'inconsistent_usage completion_tokens'],
    [
      'predictions above output',
      output({ accepted_prediction_tokens: 10, rejected_prediction_tokens: 11 }),
      'inconsistent_usage completion_tokens',
    ],
    ['audio', input({ audio_tokens: 40 }), 'in 60 audio 40 out 20'],
    ['audio that comes back', output({ audio_tokens: 15 }), 'in 100 out 5 audioOut 15'],
    ['more of it than came back', output({ audio_tokens: 21 }), 'inconsistent_usage usage'],
    ['audio and a cache', input({ audio_tokens: 40, cached_tokens: 10 }), 'unsupported_modality usage'],
    ['audio and writes', input({ audio_tokens: 40, cache_write_tokens: 10 }), 'unsupported_modality usage'],
    [
      'audio of which some was cached',
      input({ audio_tokens: 40, cached_tokens: 30, cached_tokens_details: { audio_tokens: 10 } }),
      'in 40 read 20 audio 30 audioRead 10 out 20',
    ],
    [
      'more cached audio than audio',
      input({ audio_tokens: 5, cached_tokens: 30, cached_tokens_details: { audio_tokens: 10 } }),
      'inconsistent_usage usage',
    ],
    [
      'more cached audio than cached',
      input({ audio_tokens: 40, cached_tokens: 5, cached_tokens_details: { audio_tokens: 10 } }),
      'inconsistent_usage usage',
    ],
    ['details that are none', chat({ prompt_tokens_details: 5 }), 'usage_incomplete prompt_tokens_details'],
    ['a text for a count', chat({ prompt_tokens: '100' }), 'invalid_count prompt_tokens'],
    ['true for a count', input({ cached_tokens: true }), 'invalid_count prompt_tokens_details.cached_tokens'],
    ['minus zero', chat({ completion_tokens: -0 }), 'invalid_count completion_tokens'],
    ['1e400', JSON.parse('{"prompt_tokens": 1e400, "completion_tokens": 1}'), 'invalid_count prompt_tokens'],
    ['2^53', chat({ prompt_tokens: 2 ** 53 }), 'invalid_count prompt_tokens'],
    ['2^53 - 1', chat({ prompt_tokens: 2 ** 53 - 1 }), 'in 9007199254740991 out 20'],
  ]);
  play('openai_compatible', [
    [
      'reasoning inside by the total',
      chat({ total_tokens: 120, completion_tokens_details: { reasoning_tokens: 20 } }),
      'in 100 out 20',
    ],
    [
      'reasoning beside by the total',
      chat({ total_tokens: 140, completion_tokens_details: { reasoning_tokens: 20 } }),
      'in 100 out 40',
    ],
    ['reasoning inside without a total', output({ reasoning_tokens: 20 }), 'in 100 out 20'],
    [
      'reasoning that can not be inside, without a total',
      output({ reasoning_tokens: 21 }),
      'inconsistent_usage completion_tokens',
    ],
    [
      'a total that fits neither',
      chat({ total_tokens: 141, completion_tokens_details: { reasoning_tokens: 20 } }),
      'inconsistent_usage total_tokens',
    ],
  ]);
  play('openai_responses', [
    [
      'writes and reads',
      { input_tokens: 10, output_tokens: 5, input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 } },
      'in 5 read 3 w5 2 out 5',
    ],
    [
      'a total that is none',
      { input_tokens: 10, output_tokens: 5, total_tokens: 16 },
      'inconsistent_usage total_tokens',
    ],
    [
      'reasoning above output',
      { input_tokens: 10, output_tokens: 5, output_tokens_details: { reasoning_tokens: 6 } },
      'inconsistent_usage output_tokens',
    ],
  ]);
  const counts = { input_tokens: 10, output_tokens: 5 };
  const response = (list: unknown, more: object = {}) => ({ id: 'r', output: list, usage: counts, ...more });
  const search = (action?: object) => ({ type: 'web_search_call', status: 'completed', action });
  const items = [
    { type: 'reasoning' },
    ...Array.from({ length: 5 }, () => search({ type: 'search', query: 'q' })),
    search({ type: 'open_page', url: 'u' }),
    search({ type: 'find_in_page', url: 'u' }),
    search(),
    { type: 'file_search_call', queries: ['a', 'b'] },
    { type: 'message', content: [] },
  ];
  for (const kind of ['openai_responses', 'azure_openai_responses'] as const) {
    play(kind, [
      ['searches of a whole response', response(items), 'in 10 out 5 web 6 file 1'],
      [
        'of a stream, in its last response alone',
        { events: [{ type: 'response.output_item.done', item: search() }, { response: response(items) }] },
        'in 10 out 5 web 6 file 1',
      ],
      ['no output', response([]), 'in 10 out 5'],
      ['a container', response([{ type: 'code_interpreter_call' }]), 'unsupported_modality output[0].type'],
      ['images of another model', response([{ type: 'image_generation_call' }]), 'unsupported_modality output[0].type'],
      ['output that is no list of objects', response([1]), 'usage_incomplete output[0]'],
      ['the tier that served', response([], { service_tier: 'priority' }), 'in 10 out 5 priority'],
      [
        'the tier that served in the end, not the one that was asked for first',
        { events: [{ response: { service_tier: 'auto' } }, { response: response([], { service_tier: 'default' }) }] },
        'in 10 out 5 default',
      ],
      [
        'a tier that the caller says differently',
        response([], { service_tier: 'flex' }),
        'in 10 out 5 flex said priority',
        { serviceTier: 'priority' },
      ],
      ['a tier where the response says none', response([]), 'in 10 out 5 said priority', { serviceTier: 'priority' }],
      ['no tier', response([], { service_tier: null }), 'in 10 out 5'],
      ['a tier that is no word', response([], { service_tier: 1 }), 'in 10 out 5 (unreadable)'],
    ]);
  }
  const chunk = (more: object) => ({ object: 'chat.completion.chunk', choices: [], ...more });
  for (const kind of ['openai_chat', 'azure_openai_chat', 'openai_compatible', 'openrouter_chat', 'litellm'] as const) {
    play(kind, [
      ['the tier of a whole response', { usage: chat(), service_tier: 'flex' }, 'in 100 out 20 flex'],
      [
        'the tier of a stream',
        {
          events: [
            chunk({ service_tier: 'priority', usage: null }),
            chunk({ service_tier: 'priority', usage: chat() }),
          ],
        },
        'in 100 out 20 priority',
      ],
    ]);
  }
  const agents = { inputTokens: 10, outputTokens: 5 };
  play('openai_agents_js', [
    [
      'details of two requests',
      { ...agents, inputTokensDetails: [{ cached_tokens: 2 }, { cached_tokens: 3 }] },
      'in 5 read 5 out 5',
    ],
    ['details of one', { ...agents, inputTokensDetails: { cached_tokens: 2 } }, 'in 8 read 2 out 5'],
    ['details that are none', { ...agents, inputTokensDetails: [7] }, 'usage_incomplete inputTokensDetails[0]'],
    [
      'reasoning above output',
      { ...agents, outputTokensDetails: [{ reasoning_tokens: 6 }] },
      'inconsistent_usage outputTokens',
    ],
    ['a total that is none', { ...agents, totalTokens: 16 }, 'inconsistent_usage totalTokens'],
  ]);
});

describe('those like OpenAI', () => {
  play('deepseek_chat', [
    ['hits alone', chat({ prompt_cache_hit_tokens: 30 }), 'in 70 read 30 out 20'],
    [
      'hits and misses that are not the prompt',
      chat({ prompt_cache_hit_tokens: 30, prompt_cache_miss_tokens: 71 }),
      'inconsistent_usage prompt_tokens',
    ],
    [
      'two counts of hits',
      chat({ prompt_cache_hit_tokens: 30, prompt_tokens_details: { cached_tokens: 29 } }),
      'inconsistent_usage usage',
    ],
  ]);
  play('mistral_chat', [
    [
      'cached in either place',
      chat({ prompt_tokens_details: { cached_tokens: 30 }, num_cached_tokens: 0 }),
      'in 70 read 30 out 20',
    ],
    [
      'cached in both',
      chat({ prompt_tokens_details: { cached_tokens: 30 }, num_cached_tokens: 31 }),
      'inconsistent_usage usage',
    ],
    ['audio by the second', chat({ prompt_audio_seconds: 3 }), 'unsupported_modality prompt_audio_seconds'],
    ['no seconds of audio', chat({ prompt_audio_seconds: 0 }), 'in 100 out 20'],
  ]);
  play('xai_chat', [
    ['reasoning beside without a total', output({ reasoning_tokens: 5 }), 'in 100 out 25'],
    [
      'reasoning inside by the total',
      chat({ total_tokens: 120, completion_tokens_details: { reasoning_tokens: 5 } }),
      'in 100 out 20',
    ],
    ['sources', chat({ num_sources_used: 1 }), 'unsupported_modality num_sources_used'],
  ]);
  const runs = (details: object, count = 3) => ({
    input_tokens: 10,
    output_tokens: 5,
    num_sources_used: 0,
    num_server_side_tools_used: count,
    server_side_tool_usage_details: { web_search_calls: 0, x_search_calls: 0, mcp_calls: 0, ...details },
  });
  play('xai_responses', [
    [
      'searches',
      runs({ web_search_calls: 2, file_search_calls: 1, document_search_calls: 1 }),
      'in 10 out 5 web 2 file 2',
    ],
    ['calls of foreign tools', runs({ mcp_calls: 3 }), 'in 10 out 5'],
    [
      'searches of its own network',
      runs({ x_search_calls: 3 }),
      'unsupported_modality server_side_tool_usage_details.x_search_calls',
    ],
    [
      'runs of nobody knows what',
      { input_tokens: 10, output_tokens: 5, num_server_side_tools_used: 1 },
      'unsupported_modality num_server_side_tools_used',
    ],
    ['the tier that served', { usage: runs({}, 0), service_tier: 'default' }, 'in 10 out 5 default'],
    ['sources', { input_tokens: 1, output_tokens: 1, num_sources_used: 2 }, 'unsupported_modality num_sources_used'],
  ]);
  play('openrouter_chat', [
    ['no cost', chat(), 'in 100 out 20'],
    ['a cost of nothing is no cost', chat({ cost: 0 }), 'in 100 out 20'],
    ['nor with is_byok false', chat({ cost: 0, is_byok: false }), 'in 100 out 20'],
    ['a small cost', chat({ cost: 1e-7 }), 'in 100 out 20 cost 1e-7'],
    [
      'a share and the upstream',
      chat({ cost: 0.00125, is_byok: true, cost_details: { upstream_inference_cost: 0.5 } }),
      'in 100 out 20 cost 50125e-5',
    ],
    [
      'an own key without the upstream',
      chat({ cost: 0, is_byok: true }),
      'usage_incomplete cost_details.upstream_inference_cost',
    ],
    ['a negative cost', chat({ cost: -1 }), 'invalid_count cost'],
    ['a text for a cost', chat({ cost: '1' }), 'invalid_count cost'],
    ['an endless cost', JSON.parse('{"prompt_tokens":1,"completion_tokens":1,"cost":1e400}'), 'invalid_count cost'],
    ['a cost that nobody pays', chat({ cost: 1_000_001 }), 'invalid_count cost'],
    ['a cost of too many places', chat({ cost: 5e-324 }), 'invalid_count cost'],
    ['a key that is maybe', chat({ cost: 1, is_byok: 'yes' }), 'usage_incomplete is_byok'],
    ['searches', chat({ server_tool_use: { web_search_requests: 2 } }), 'in 100 out 20 web 2'],
  ]);
  play('litellm', [
    [
      'split writes',
      chat({
        cache_creation_input_tokens: 30,
        prompt_tokens_details: {
          cache_creation_tokens: 30,
          cache_creation_token_details: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
        },
      }),
      'in 70 w5 10 w1h 20 out 20',
    ],
    [
      'a split that is not the total',
      chat({
        cache_creation_input_tokens: 30,
        prompt_tokens_details: { cache_creation_token_details: { ephemeral_5m_input_tokens: 10 } },
      }),
      'inconsistent_usage usage',
    ],
    [
      'writes of a life that was asked for',
      chat({ cache_creation_input_tokens: 30 }),
      'in 70 w1h 30 out 20',
      { cacheTtl: '1h' },
    ],
    [
      'two counts of reads',
      chat({ cache_read_input_tokens: 30, prompt_tokens_details: { cached_tokens: 20 } }),
      'inconsistent_usage usage',
    ],
    [
      'two counts of writes',
      chat({ cache_creation_input_tokens: 30, prompt_tokens_details: { cache_creation_tokens: 20 } }),
      'inconsistent_usage usage',
    ],
    [
      'cache beside the prompt, as old versions have it',
      chat({ cache_read_input_tokens: 101 }),
      'inconsistent_usage usage',
    ],
  ]);
});
