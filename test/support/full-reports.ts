// One call as its provider reports it, with tokens in each bucket that the kind has a count for: by itself, in its body as that says what
// it is, and in a stream. Totals are there, as all providers send them.
import type { UsageKind } from '../../src/pricing/usage/normalise-usage.ts';

/** Counts that no token is in twice. */
export interface FullCall {
  readonly input: number;
  readonly read: number;
  readonly written5m: number;
  readonly written1h: number;
  readonly audio: number;
  readonly audioRead: number;
  readonly output: number;
  readonly reasoning: number;
  readonly audioOutput: number;
  readonly webSearches: number;
  readonly fileSearches: number;
}

/** A report, and what surrounds it. */
interface FullReport {
  readonly usage: object;
  readonly alone: unknown;
  readonly body: unknown;
  readonly stream: unknown;
  /** The library's name of the provider, for kinds that need one. */
  readonly provider?: string;
}

type Reporter = (call: FullCall) => FullReport;

/** What of the input was text, read from a cache or written: audio is not reported beside writes. */
function inputOf(call: FullCall) {
  const written = call.written5m + call.written1h;
  const audio = written > 0 ? 0 : call.audio;
  const audioRead = written > 0 ? 0 : call.audioRead;
  return { written, audio: audio + audioRead, audioRead, text: call.input + call.read + audio + audioRead };
}

const outputOf = (call: FullCall): number => call.output + call.reasoning + call.audioOutput;

function chatUsage(call: FullCall, written: number, reasoning: 'inside' | 'beside') {
  const { audio, audioRead, text } = inputOf(call);
  const output = outputOf(call);
  return {
    prompt_tokens: text + written,
    completion_tokens: reasoning === 'inside' ? output : output - call.reasoning,
    total_tokens: text + written + output,
    prompt_tokens_details: {
      cached_tokens: call.read + audioRead,
      audio_tokens: audio,
      cached_tokens_details: { audio_tokens: audioRead },
    },
    completion_tokens_details: { reasoning_tokens: call.reasoning, audio_tokens: call.audioOutput },
  };
}

const chat = (usage: object): FullReport => ({
  usage,
  alone: usage,
  body: { object: 'chat.completion', choices: [], usage },
  stream: {
    events: [
      { object: 'chat.completion.chunk', choices: [] },
      { object: 'chat.completion.chunk', usage },
    ],
  },
});

function responses(call: FullCall, more: object, output: readonly object[]): FullReport {
  const { audio, audioRead, text, written } = inputOf(call);
  const usage = {
    input_tokens: text + written,
    input_tokens_details: {
      cached_tokens: call.read + audioRead,
      cache_write_tokens: written,
      audio_tokens: audio,
      cached_tokens_details: { audio_tokens: audioRead },
    },
    output_tokens: outputOf(call),
    output_tokens_details: { reasoning_tokens: call.reasoning, audio_tokens: call.audioOutput },
    total_tokens: text + written + outputOf(call),
    ...more,
  };
  const response = { object: 'response', output, usage };
  const stream = {
    events: [
      { type: 'response.created', response: {} },
      { type: 'response.completed', response },
    ],
  };
  return { usage, alone: usage, body: response, stream };
}

const openAiResponses: Reporter = (call) =>
  responses(call, {}, [
    ...Array.from({ length: call.webSearches }, () => ({ type: 'web_search_call' })),
    ...Array.from({ length: call.fileSearches }, () => ({ type: 'file_search_call' })),
  ]);

const anthropicUsage = (call: FullCall) => ({
  input_tokens: call.input,
  cache_read_input_tokens: call.read,
  cache_creation_input_tokens: call.written5m + call.written1h,
  cache_creation: { ephemeral_5m_input_tokens: call.written5m, ephemeral_1h_input_tokens: call.written1h },
  output_tokens: call.output + call.reasoning,
  output_tokens_details: { thinking_tokens: call.reasoning },
  server_tool_use: { web_search_requests: call.webSearches },
});

function anthropic(call: FullCall): FullReport {
  const usage = anthropicUsage(call);
  return {
    usage,
    alone: usage,
    body: { type: 'message', usage },
    stream: {
      events: [
        { type: 'message_start', message: { type: 'message', usage: { ...usage, output_tokens: 1 } } },
        { type: 'message_delta', usage },
      ],
    },
  };
}

function geminiUsage(call: FullCall) {
  const audio = call.audio + call.audioRead;
  const output = call.output + call.audioOutput;
  return {
    promptTokenCount: call.read + audio,
    toolUsePromptTokenCount: call.input,
    cachedContentTokenCount: call.read + call.audioRead,
    cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: call.audioRead }],
    promptTokensDetails: [{ modality: 'AUDIO', tokenCount: audio }],
    candidatesTokenCount: output,
    candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: call.audioOutput }],
    thoughtsTokenCount: call.reasoning,
    totalTokenCount: call.input + call.read + audio + output + call.reasoning,
  };
}

const gemini: Reporter = (call) => {
  const usage = geminiUsage(call);
  const body = { usageMetadata: usage };
  return { usage, alone: usage, body, stream: { events: [{}, body] } };
};

const sdk = (usage: object, provider: string, providerMetadata: object = {}): FullReport => ({
  usage,
  provider,
  alone: { ...usage, providerMetadata },
  body: { usage, providerMetadata },
  stream: { events: [{ type: 'start' }, { type: 'finish-step', usage, providerMetadata }] },
});

const sdkV6: Reporter = (call) => {
  const written = call.written5m + call.written1h;
  const input = call.input + call.read + written;
  const output = call.output + call.reasoning;
  const usage = {
    inputTokens: input,
    inputTokenDetails: { noCacheTokens: call.input, cacheReadTokens: call.read, cacheWriteTokens: written },
    outputTokens: output,
    outputTokenDetails: { textTokens: call.output, reasoningTokens: call.reasoning },
    totalTokens: input + output,
    cachedInputTokens: call.read,
    raw: anthropicUsage(call),
  };
  return sdk(usage, 'anthropic.messages');
};

const plain = (usage: object, body: object = { usage }): FullReport => ({
  usage,
  alone: usage,
  body,
  stream: { events: [{}, body] },
});

/** Each kind's report. Kinds of one interface have one reporter. */
export const FULL_REPORTS: Readonly<Record<UsageKind, Reporter>> = {
  openai_chat: openAiChat,
  azure_openai_chat: openAiChat,
  openai_compatible: (call) => chat(chatUsage(call, 0, 'beside')),
  openai_responses: openAiResponses,
  azure_openai_responses: openAiResponses,
  openai_agents_js: (call) => {
    const { written } = inputOf(call);
    const input = call.input + call.read + written;
    const output = call.output + call.reasoning;
    return plain({
      inputTokens: input,
      inputTokensDetails: [{ cached_tokens: call.read, cache_write_tokens: written }],
      outputTokens: output,
      outputTokensDetails: [{ reasoning_tokens: call.reasoning }],
      totalTokens: input + output,
    });
  },
  anthropic_messages: anthropic,
  gemini,
  vertex_gemini: gemini,
  bedrock_converse: (call) => {
    const written = call.written5m + call.written1h;
    const usage = {
      inputTokens: call.input,
      outputTokens: call.output,
      totalTokens: call.input + call.read + written + call.output,
      cacheReadInputTokens: call.read,
      cacheWriteInputTokens: written,
      cacheDetails: [
        { ttl: '5m', inputTokens: call.written5m },
        { ttl: '1h', inputTokens: call.written1h },
      ],
    };
    return plain(usage, { metadata: { usage } });
  },
  mistral_chat: (call) => {
    const noAudio = { ...call, audio: 0, audioRead: 0, audioOutput: 0 };
    const { prompt_tokens_details: _, ...usage } = chatUsage(noAudio, 0, 'inside');
    return chat({ ...usage, num_cached_tokens: call.read });
  },
  deepseek_chat: (call) => {
    const noAudio = { ...call, audio: 0, audioRead: 0, audioOutput: 0 };
    const { prompt_tokens_details: _, ...usage } = chatUsage(noAudio, 0, 'inside');
    return chat({ ...usage, prompt_cache_hit_tokens: call.read, prompt_cache_miss_tokens: call.input });
  },
  xai_chat: (call) => chat(chatUsage(call, 0, 'beside')),
  xai_responses: (call) =>
    responses(
      call,
      {
        num_server_side_tools_used: call.webSearches + call.fileSearches,
        server_side_tool_usage_details: { web_search_calls: call.webSearches, file_search_calls: call.fileSearches },
      },
      [],
    ),
  groq_chat: (call) => {
    const usage = chatUsage(call, 0, 'inside');
    return { ...chat(usage), stream: { events: [{ object: 'chat.completion.chunk', x_groq: { usage } }] } };
  },
  cohere_v2_chat: (call) => plain({ billed_units: { input_tokens: call.input, output_tokens: call.output } }),
  openrouter_chat: (call) => {
    const usage = openAiUsage(call);
    return chat({ ...usage, server_tool_use: { web_search_requests: call.webSearches } });
  },
  ai_sdk_v5: (call) =>
    sdk(
      {
        inputTokens: call.input,
        outputTokens: call.output,
        totalTokens: call.input + call.output,
        cachedInputTokens: call.read,
      },
      'anthropic.messages',
      { anthropic: { usage: { ...anthropicUsage(call), output_tokens: call.output } } },
    ),
  ai_sdk_v6: sdkV6,
  ai_sdk_v7: (call) => ({ ...sdk({ ...sdkGoogle(call), raw: geminiUsage(call) }, 'google.vertex.chat') }),
  litellm: (call) => {
    const { written } = inputOf(call);
    const usage = chatUsage(call, written, 'inside');
    const split = { ephemeral_5m_input_tokens: call.written5m, ephemeral_1h_input_tokens: call.written1h };
    const { cached_tokens } = usage.prompt_tokens_details;
    return chat({
      ...usage,
      prompt_tokens_details: {
        ...usage.prompt_tokens_details,
        cache_creation_tokens: written,
        cache_creation_token_details: split,
      },
      cache_read_input_tokens: cached_tokens,
      cache_creation_input_tokens: written,
      server_tool_use: { web_search_requests: call.webSearches },
    });
  },
};

function openAiUsage(call: FullCall) {
  const { written } = inputOf(call);
  const usage = chatUsage(call, written, 'inside');
  return { ...usage, prompt_tokens_details: { ...usage.prompt_tokens_details, cache_write_tokens: written } };
}

function openAiChat(call: FullCall): FullReport {
  return chat(openAiUsage(call));
}

/** What the SDK makes of Google's counts: without the tool prompts. */
function sdkGoogle(call: FullCall) {
  const input = call.read + call.audio + call.audioRead;
  const output = call.output + call.audioOutput;
  return {
    inputTokens: input,
    inputTokenDetails: { noCacheTokens: input - call.read, cacheReadTokens: call.read },
    outputTokens: output + call.reasoning,
    outputTokenDetails: { textTokens: output, reasoningTokens: call.reasoning },
  };
}
