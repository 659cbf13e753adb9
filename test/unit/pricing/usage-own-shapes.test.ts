// Reports of Anthropic, Google, Bedrock, Cohere and the AI SDK, beyond the vectors.
import { describe } from 'vitest';
import { play } from '../../support/play-usage.ts';

describe('Anthropic', () => {
  const message = (more: object = {}) => ({ input_tokens: 10, output_tokens: 5, ...more });
  const delta = { type: 'message_delta', usage: { output_tokens: 9 } };
  play('anthropic_messages', [
    [
      'a split',
      message({
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 3 },
      }),
      'in 10 w5 2 w1h 3 out 5',
    ],
    ['a split alone', message({ cache_creation: { ephemeral_1h_input_tokens: 3 } }), 'in 10 w1h 3 out 5'],
    [
      'a split of nulls',
      message({ cache_creation_input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: null } }),
      'in 10 w5 5 out 5',
    ],
    ['a life nobody knows', message({ cache_creation_input_tokens: 5 }), 'in 10 w1h 5 out 5', { cacheTtl: 'unknown' }],
    ['five minutes asked for', message({ cache_creation_input_tokens: 5 }), 'in 10 w5 5 out 5', { cacheTtl: '5m' }],
    [
      'thinking above output',
      message({ output_tokens_details: { thinking_tokens: 6 } }),
      'inconsistent_usage output_tokens',
    ],
    [
      'searches, and fetches that are free',
      message({ server_tool_use: { web_search_requests: 2, web_fetch_requests: 3 } }),
      'in 10 out 5 web 2',
    ],
    [
      'a tool that is billed elsewhere',
      message({ server_tool_use: { code_execution_requests: 1 } }),
      'unsupported_modality server_tool_use.other',
    ],
    [
      'a tool of no count',
      message({ server_tool_use: { [`x${'y'.repeat(999)}`]: 'z' } }),
      'unsupported_modality server_tool_use.other',
    ],
    ['one that did not run', message({ server_tool_use: { code_execution_requests: 0 } }), 'in 10 out 5'],
    ['a tier and a place', message({ service_tier: 'batch', inference_geo: 'us' }), 'in 10 out 5 batch us'],
    ['a speed and a tier', message({ service_tier: 'standard', speed: 'fast' }), 'in 10 out 5 standard fast'],
    ['the usual speed', message({ service_tier: 'batch', speed: 'standard' }), 'in 10 out 5 batch'],
    ['a speed that is new', message({ speed: 'ultrafast' }), 'in 10 out 5 ultrafast'],
    ['a tier that is no word', message({ service_tier: 5 }), 'in 10 out 5 (unreadable)'],
    [
      'a tier, and another from beside',
      message({ service_tier: 'batch' }),
      'in 10 out 5 batch said standard',
      { serviceTier: 'standard' },
    ],
    ['iterations that are the whole', message({ iterations: [{ type: 'message', ...message() }] }), 'in 10 out 5'],
    ['no iterations', message({ iterations: [] }), 'in 10 out 5'],
    [
      'iterations that are not the whole',
      message({ iterations: [{ type: 'message', ...message({ input_tokens: 9 }) }] }),
      'inconsistent_usage iterations',
    ],
    [
      'an advisor',
      message({
        iterations: [
          { type: 'message', ...message() },
          { type: 'advisor_message', ...message() },
        ],
      }),
      'unsupported_modality iterations[1].type',
    ],
    [
      'half an iteration',
      message({ iterations: [{ type: 'compaction', input_tokens: 1 }] }),
      'usage_incomplete iterations[0].output_tokens',
    ],
    ['iterations that are none', message({ iterations: 7 }), 'usage_incomplete iterations'],
    ['a response', { role: 'assistant', usage: message() }, 'in 10 out 5'],
    [
      'message_start alone',
      { events: [{ type: 'message_start', message: { usage: message() } }] },
      'usage_incomplete events',
    ],
    [
      'the whole stream',
      {
        events: [
          { type: 'message_start', message: { usage: message({ cache_read_input_tokens: 7 }) } },
          delta,
          { type: 'ping' },
        ],
      },
      'in 10 read 7 out 9',
    ],
    [
      'a delta that says more',
      {
        events: [
          { type: 'message_start', message: { usage: message() } },
          { type: 'message_delta', usage: { output_tokens: 9, input_tokens: 11 } },
        ],
      },
      'in 11 out 9',
    ],
    [
      'a delta that fills in zeros, which take nothing back',
      {
        events: [
          { type: 'message_start', message: { usage: message({ input_tokens: 25, cache_read_input_tokens: 9_000 }) } },
          { type: 'message_delta', usage: { output_tokens: 15, input_tokens: 0, cache_read_input_tokens: 0 } },
        ],
      },
      'in 25 read 9000 out 15',
    ],
    ['a delta alone', { events: [delta] }, 'usage_incomplete input_tokens'],
    ['events of nothing', { events: [{ type: 'ping' }, null] }, 'usage_missing usage'],
    ['usage that is none', { events: [{ usage: 5 }, delta] }, 'usage_incomplete usage'],
  ]);
});

describe('Google', () => {
  const meta = (more: object = {}) => ({ promptTokenCount: 100, candidatesTokenCount: 20, ...more });
  const of = (modality: string, tokenCount: number) => ({ modality, tokenCount });
  play('gemini', [
    ['in a response', { usageMetadata: meta() }, 'in 100 out 20'],
    ['thoughts beside, without a total', meta({ thoughtsTokenCount: 5 }), 'in 100 out 25'],
    ['thoughts inside by the total', meta({ thoughtsTokenCount: 5, totalTokenCount: 120 }), 'in 100 out 20'],
    [
      'thoughts that can not be inside',
      meta({ thoughtsTokenCount: 21, totalTokenCount: 120 }),
      'inconsistent_usage candidatesTokenCount',
    ],
    [
      'a total that fits neither',
      meta({ thoughtsTokenCount: 5, totalTokenCount: 121 }),
      'inconsistent_usage totalTokenCount',
    ],
    ['no candidates', { promptTokenCount: 100, totalTokenCount: 100 }, 'in 100'],
    [
      'no candidates that the total knows',
      { promptTokenCount: 100, totalTokenCount: 120 },
      'inconsistent_usage totalTokenCount',
    ],
    ['no candidates and no total', { promptTokenCount: 100 }, 'usage_incomplete candidatesTokenCount'],
    ['no prompt', { candidatesTokenCount: 100 }, 'usage_missing usage'],
    ['cached above the prompt', meta({ cachedContentTokenCount: 101 }), 'inconsistent_usage usage'],
    ['audio', meta({ promptTokensDetails: [of('TEXT', 60), of('AUDIO', 40)] }), 'in 60 audio 40 out 20'],
    [
      'audio of a tool',
      meta({ toolUsePromptTokenCount: 50, toolUsePromptTokensDetails: [of('AUDIO', 50)] }),
      'in 100 audio 50 out 20',
    ],
    [
      'audio and a cache',
      meta({ promptTokensDetails: [of('AUDIO', 40)], cachedContentTokenCount: 10 }),
      'unsupported_modality usage',
    ],
    [
      'audio of which some was cached',
      meta({
        promptTokensDetails: [of('AUDIO', 40)],
        cachedContentTokenCount: 30,
        cacheTokensDetails: [of('AUDIO', 10), of('TEXT', 20)],
      }),
      'in 40 read 20 audio 30 audioRead 10 out 20',
    ],
    ['a kind of traffic', meta({ trafficType: 'ON_DEMAND_PRIORITY' }), 'in 100 out 20 ON_DEMAND_PRIORITY'],
    ['no kind of it', meta({ trafficType: 'TRAFFIC_TYPE_UNSPECIFIED' }), 'in 100 out 20'],
    ['images that go in', meta({ promptTokensDetails: [of('IMAGE', 40)] }), 'in 100 out 20'],
    [
      'images that come back',
      meta({ candidatesTokensDetails: [of('TEXT', 10), of('IMAGE', 10)] }),
      'unsupported_modality candidatesTokensDetails',
    ],
    ['audio that comes back', meta({ candidatesTokensDetails: [of('AUDIO', 15)] }), 'in 100 out 5 audioOut 15'],
    ['details that are none', meta({ promptTokensDetails: {} }), 'usage_incomplete promptTokensDetails'],
  ]);
});

describe('Bedrock and Cohere', () => {
  const converse = (more: object = {}) => ({ inputTokens: 10, outputTokens: 5, ...more });
  play('bedrock_converse', [
    [
      'split writes',
      converse({
        cacheWriteInputTokens: 6,
        cacheDetails: [
          { ttl: '5m', inputTokens: 2 },
          { ttl: '1h', inputTokens: 4 },
        ],
      }),
      'in 10 w5 2 w1h 4 out 5',
    ],
    [
      'writes that come to more than a count holds',
      converse({
        cacheDetails: Array.from({ length: 1_900 }, () => ({ ttl: '1h', inputTokens: Number.MAX_SAFE_INTEGER })),
      }),
      'invalid_count usage',
    ],
    ['the tier that served', { usage: converse({}), serviceTier: { type: 'priority' } }, 'in 10 out 5 priority'],
    [
      'the tier of a stream',
      { events: [{ metadata: { usage: converse({}), serviceTier: { type: 'flex' } } }] },
      'in 10 out 5 flex',
    ],
    ['a faster machine', { usage: converse({}), performanceConfig: { latency: 'optimized' } }, 'in 10 out 5 optimized'],
    ['the usual one', { usage: converse({}), performanceConfig: { latency: 'standard' } }, 'in 10 out 5'],
    ['a life that is new', converse({ cacheDetails: [{ ttl: '24h', inputTokens: 4 }] }), 'in 10 w1h 4 out 5'],
    [
      'a split that is not the total',
      converse({ cacheWriteInputTokens: 7, cacheDetails: [{ ttl: '5m', inputTokens: 2 }] }),
      'inconsistent_usage usage',
    ],
    ['no split and an hour asked for', converse({ cacheWriteInputTokens: 7 }), 'in 10 w1h 7 out 5', { cacheTtl: '1h' }],
    ['an empty split', converse({ cacheWriteInputTokens: 7, cacheDetails: [] }), 'in 10 w5 7 out 5'],
  ]);
  play('cohere_v2_chat', [
    ['nothing billed', { tokens: { input_tokens: 5, output_tokens: 5 } }, 'usage_incomplete billed_units'],
    [
      'searches',
      { billed_units: { input_tokens: 5, output_tokens: 5, search_units: 1 } },
      'unsupported_modality billed_units.search_units',
    ],
    ['half', { billed_units: { input_tokens: 5 } }, 'usage_incomplete billed_units.output_tokens'],
  ]);
});

describe('the AI SDK', () => {
  const usage = (more: object = {}) => ({ inputTokens: 10, outputTokens: 5, ...more });
  play('ai_sdk_v5', [
    ['nothing that a provider decides', usage({ totalTokens: 15 }), 'in 10 out 5'],
    ['a cache of nobody', usage({ cachedInputTokens: 4 }), 'usage_incomplete provider'],
    ['reasoning of nobody', usage({ reasoningTokens: 4 }), 'usage_incomplete provider'],
    ['a cache of a gateway', usage({ cachedInputTokens: 4 }), 'usage_incomplete provider', { provider: 'gateway' }],
    [
      'reasoning of a gateway',
      usage({ reasoningTokens: 4, providerMetadata: { gateway: {} } }),
      'usage_incomplete provider',
      { provider: 'gateway' },
    ],
    [
      'a cache of a name that says nothing',
      usage({ cachedInputTokens: 4 }),
      'usage_incomplete provider',
      { provider: '' },
    ],
    [
      'Claude behind a gateway, by what it added',
      usage({ cachedInputTokens: 40, providerMetadata: { gateway: {}, anthropic: {} } }),
      'in 10 read 40 out 5',
      { provider: 'gateway' },
    ],
    [
      'OpenAI behind a gateway, by what it added',
      usage({ cachedInputTokens: 4, providerMetadata: { gateway: {}, openai: {} } }),
      'in 6 read 4 out 5',
      { provider: 'gateway' },
    ],
    ['nothing that a gateway decides', usage(), 'in 10 out 5', { provider: 'gateway' }],
    ['ours, as OpenAI', usage({ cachedInputTokens: 4 }), 'in 6 read 4 out 5', { provider: 'ours.chat' }],
    ['OpenAI', usage({ cachedInputTokens: 4, reasoningTokens: 5 }), 'in 6 read 4 out 5', { provider: 'openai.chat' }],
    [
      'OpenAI, reasoning above output',
      usage({ reasoningTokens: 6 }),
      'inconsistent_usage outputTokens',
      { provider: 'openai' },
    ],
    [
      'OpenAI, a total that is none',
      usage({ totalTokens: 16 }),
      'inconsistent_usage totalTokens',
      { provider: 'openai' },
    ],
    [
      'Claude on Vertex',
      usage({ cachedInputTokens: 40 }),
      'in 10 read 40 out 5',
      { provider: 'vertex.anthropic.messages' },
    ],
    [
      'Bedrock',
      usage({ cachedInputTokens: 40, providerMetadata: { bedrock: { usage: { cacheWriteInputTokens: 7 } } } }),
      'in 10 read 40 w5 7 out 5',
      { provider: 'amazon-bedrock' },
    ],
    [
      'Anthropic, by what it added alone',
      usage({
        cachedInputTokens: 40,
        providerMetadata: {
          anthropic: {
            cacheCreationInputTokens: 7,
            usage: { cache_creation_input_tokens: 7, cache_creation: { ephemeral_1h_input_tokens: 7 } },
          },
        },
      }),
      'in 10 read 40 w1h 7 out 5',
    ],
    [
      'Anthropic behind a gateway, in a whole result',
      { usage: usage(), providerMetadata: { anthropic: { usage: { cache_creation_input_tokens: 7 } } } },
      'in 10 w5 7 out 5',
      { provider: 'gateway' },
    ],
    [
      'Anthropic, with two counts of writes',
      usage({
        providerMetadata: { anthropic: { cacheCreationInputTokens: 6, usage: { cache_creation_input_tokens: 7 } } },
      }),
      'inconsistent_usage usage',
    ],
    ['Google, by what it added', usage({ reasoningTokens: 4, providerMetadata: { google: {} } }), 'in 10 out 9'],
    ['Vertex, by what it added', usage({ reasoningTokens: 4, providerMetadata: { vertex: {} } }), 'in 10 out 9'],
    [
      'Google, with a tool prompt that is lost',
      usage({ reasoningTokens: 4, totalTokens: 119 }),
      'inconsistent_usage totalTokens',
      { provider: 'google' },
    ],
  ]);
  const details = (read: number, write: number, noCache?: number) =>
    usage({ inputTokenDetails: { cacheReadTokens: read, cacheWriteTokens: write, noCacheTokens: noCache } });
  play('ai_sdk_v6', [
    ['no noCache', details(3, 2), 'in 5 read 3 w5 2 out 5'],
    ['an hour asked for', details(3, 2), 'in 5 read 3 w1h 2 out 5', { cacheTtl: '1h' }],
    ['a sum that is none', details(3, 2, 6), 'inconsistent_usage inputTokens'],
    ['parts above the whole', details(9, 2), 'inconsistent_usage usage'],
    ['the old field', usage({ cachedInputTokens: 4 }), 'in 6 read 4 out 5'],
    [
      'the old field says otherwise',
      { ...details(3, 0), cachedInputTokens: 4 },
      'inconsistent_usage cachedInputTokens',
    ],
    [
      'text and reasoning above output',
      usage({ outputTokenDetails: { textTokens: 3, reasoningTokens: 3 } }),
      'inconsistent_usage outputTokens',
    ],
    ['Google without raw', usage(), 'usage_incomplete raw', { provider: 'google.generative-ai' }],
    [
      'Anthropic with raw',
      usage({ raw: { input_tokens: 3, output_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 7 } } }),
      'in 3 w1h 7 out 5',
      { provider: 'anthropic.messages' },
    ],
    [
      'Anthropic behind a gateway',
      usage({ raw: { input_tokens: 3, output_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 7 } } }),
      'in 3 w1h 7 out 5',
      { provider: 'gateway' },
    ],
    [
      'Anthropic behind nobody knows what',
      usage({ raw: { input_tokens: 10, output_tokens: 5, speed: 'fast', inference_geo: 'us' } }),
      'in 10 out 5 fast us',
    ],
    [
      'a sum of calls, with what one of them said',
      usage({ raw: { input_tokens: 3, output_tokens: 5, speed: 'fast' } }),
      'in 10 out 5 fast',
      { provider: 'gateway' },
    ],
    [
      'the same by the name of Anthropic',
      usage({ raw: { input_tokens: 3, output_tokens: 5, speed: 'fast' } }),
      'in 10 out 5 fast',
      { provider: 'anthropic.messages' },
    ],
    [
      'the same of Google, whose totals leave out tool prompts',
      usage({ raw: { promptTokenCount: 3, candidatesTokenCount: 5 } }),
      'usage_incomplete raw',
      { provider: 'google.generative-ai' },
    ],
    [
      'OpenAI with a speed, and a cache inside its input',
      {
        ...details(4, 0),
        raw: { input_tokens: 10, output_tokens: 5, input_tokens_details: { cached_tokens: 4 }, speed: 'fast' },
      },
      'in 6 read 4 out 5 fast',
      { provider: 'gateway' },
    ],
    [
      'Google behind a gateway, with a tool prompt',
      usage({ raw: { promptTokenCount: 10, toolUsePromptTokenCount: 90, candidatesTokenCount: 5 } }),
      'in 100 out 5',
    ],
    [
      'OpenAI with raw of its own',
      usage({ raw: { input_tokens: 10, output_tokens: 5, input_tokens_details: { cached_tokens: 0 } } }),
      'in 10 out 5',
    ],
    ['Anthropic without it', details(3, 2, 5), 'in 5 read 3 w5 2 out 5', { provider: 'anthropic.messages' }],
  ]);
});
