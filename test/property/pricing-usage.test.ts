// Reports written from known buckets are read back as those buckets, in every shape that providers use: no token is lost and none
// is counted twice.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { normaliseUsage, type UsageKind } from '../../src/pricing/usage/normalise-usage.ts';
import { inputTokensOf, outputTokensOf, type UsageContext } from '../../src/pricing/usage/usage.ts';
import { usageOf } from '../support/price-rows.ts';

/** What truly happened. */
interface Truth {
  readonly plain: number;
  readonly read: number;
  readonly write: number;
  readonly hour: number;
  readonly spoken: number;
  readonly thought: number;
}

const count = fc.oneof(fc.nat({ max: 10 }), fc.nat({ max: 1_000_000 }));
const truth: fc.Arbitrary<Truth> = fc
  .record({ plain: count, read: count, write: count, hour: count, spoken: count, thought: count })
  .filter(({ plain, spoken }) => plain + spoken > 0);

/** A shape: how a truth is reported, and which of it the shape can tell. */
interface Shape {
  readonly kind: UsageKind;
  readonly context?: UsageContext;
  /** Parts of the truth that such reports don't have. */
  readonly lacks: readonly (keyof Truth)[];
  readonly report: (truth: Truth) => unknown;
}

const chat = ({ plain, read, write, spoken, thought }: Truth, isBeside = false) => ({
  prompt_tokens: plain + read + write,
  completion_tokens: isBeside ? spoken : spoken + thought,
  total_tokens: plain + read + write + spoken + thought,
  prompt_tokens_details: { cached_tokens: read, cache_write_tokens: write, text_tokens: plain },
  completion_tokens_details: { reasoning_tokens: thought },
});
const responses = ({ plain, read, write, spoken, thought }: Truth) => ({
  input_tokens: plain + read + write,
  input_tokens_details: { cached_tokens: read, cache_write_tokens: write },
  output_tokens: spoken + thought,
  output_tokens_details: { reasoning_tokens: thought },
  total_tokens: plain + read + write + spoken + thought,
});
const messages = ({ plain, read, write, hour, spoken, thought }: Truth) => ({
  input_tokens: plain,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: write + hour,
  cache_creation: { ephemeral_5m_input_tokens: write, ephemeral_1h_input_tokens: hour },
  output_tokens: spoken + thought,
  output_tokens_details: { thinking_tokens: thought },
});
const metadata = ({ plain, read, spoken, thought }: Truth, tools = 0) => ({
  promptTokenCount: plain + read - tools,
  toolUsePromptTokenCount: tools,
  cachedContentTokenCount: read,
  candidatesTokenCount: spoken,
  thoughtsTokenCount: thought,
  totalTokenCount: plain + read + spoken + thought,
});
const stream = (usage: Readonly<Record<string, unknown>>) => ({
  events: [
    { type: 'message_start', message: { usage: { ...usage, output_tokens: 1, output_tokens_details: null } } },
    {
      type: 'message_delta',
      usage: { output_tokens: usage['output_tokens'], output_tokens_details: usage['output_tokens_details'] },
    },
  ],
});

const noSplit = ['hour'] as const;
const noWrites = ['write', 'hour'] as const;
const SHAPES: readonly Shape[] = [
  { kind: 'openai_chat', lacks: noSplit, report: (t) => chat(t) },
  { kind: 'openai_chat', lacks: noSplit, report: (t) => ({ id: 'x', usage: chat(t) }) },
  {
    kind: 'openai_chat',
    lacks: noSplit,
    report: (t) => ({ events: [{ usage: null }, { choices: [], usage: chat(t) }] }),
  },
  { kind: 'azure_openai_chat', lacks: noSplit, report: (t) => chat(t) },
  { kind: 'openai_compatible', lacks: noSplit, report: (t) => chat(t) },
  { kind: 'openai_compatible', lacks: noSplit, report: (t) => chat(t, true) },
  { kind: 'openai_responses', lacks: noSplit, report: responses },
  { kind: 'azure_openai_responses', lacks: noSplit, report: responses },
  { kind: 'xai_chat', lacks: noSplit, report: (t) => chat(t, true) },
  { kind: 'xai_responses', lacks: noSplit, report: responses },
  { kind: 'groq_chat', lacks: noSplit, report: (t) => ({ x_groq: { usage: chat(t) } }) },
  {
    kind: 'deepseek_chat',
    lacks: noWrites,
    report: (t) => ({ ...chat(t), prompt_cache_hit_tokens: t.read, prompt_cache_miss_tokens: t.plain }),
  },
  {
    kind: 'mistral_chat',
    lacks: noWrites,
    report: (t) => ({ ...chat(t), prompt_tokens_details: null, num_cached_tokens: t.read }),
  },
  { kind: 'openrouter_chat', lacks: noSplit, report: (t) => chat(t) },
  {
    kind: 'litellm',
    lacks: [],
    report: (t) => ({
      ...chat({ ...t, write: t.write + t.hour }),
      prompt_tokens_details: {
        cached_tokens: t.read,
        cache_creation_tokens: t.write + t.hour,
        cache_creation_token_details: { ephemeral_5m_input_tokens: t.write, ephemeral_1h_input_tokens: t.hour },
      },
      cache_read_input_tokens: t.read,
      cache_creation_input_tokens: t.write + t.hour,
    }),
  },
  { kind: 'anthropic_messages', lacks: [], report: messages },
  { kind: 'anthropic_messages', lacks: [], report: (t) => stream(messages(t)) },
  {
    kind: 'anthropic_messages',
    lacks: ['write'],
    context: { cacheTtl: '1h' },
    report: (t) => ({ ...messages(t), cache_creation: null }),
  },
  { kind: 'gemini', lacks: noWrites, report: (t) => metadata(t) },
  { kind: 'vertex_gemini', lacks: noWrites, report: (t) => ({ events: [{ usageMetadata: metadata(t) }, {}] }) },
  {
    kind: 'gemini',
    lacks: noWrites,
    report: (t) => metadata(t, Math.min(t.plain, 7)),
  },
  {
    kind: 'bedrock_converse',
    lacks: [],
    report: (t) => ({
      inputTokens: t.plain,
      outputTokens: t.spoken + t.thought,
      cacheReadInputTokens: t.read,
      cacheWriteInputTokens: t.write + t.hour,
      cacheDetails: [
        { ttl: '5m', inputTokens: t.write },
        { ttl: '1h', inputTokens: t.hour },
      ],
    }),
  },
  {
    kind: 'ai_sdk_v5',
    context: { provider: 'anthropic' },
    lacks: noSplit,
    report: (t) => ({
      inputTokens: t.plain,
      outputTokens: t.spoken + t.thought,
      cachedInputTokens: t.read,
      providerMetadata: { anthropic: { cacheCreationInputTokens: t.write } },
    }),
  },
  {
    kind: 'ai_sdk_v5',
    context: { provider: 'google' },
    lacks: noWrites,
    report: (t) => ({
      inputTokens: t.plain + t.read,
      outputTokens: t.spoken,
      reasoningTokens: t.thought,
      cachedInputTokens: t.read,
      totalTokens: t.plain + t.read + t.spoken + t.thought,
    }),
  },
  ...(['ai_sdk_v6', 'ai_sdk_v7'] as const).map(
    (kind): Shape => ({
      kind,
      lacks: noSplit,
      report: (t) => ({
        inputTokens: t.plain + t.read + t.write,
        inputTokenDetails: { noCacheTokens: t.plain, cacheReadTokens: t.read, cacheWriteTokens: t.write },
        outputTokens: t.spoken + t.thought,
        outputTokenDetails: { textTokens: t.spoken, reasoningTokens: t.thought },
        totalTokens: t.plain + t.read + t.write + t.spoken + t.thought,
      }),
    }),
  ),
  { kind: 'ai_sdk_v7', context: { provider: 'google' }, lacks: noWrites, report: (t) => ({ raw: metadata(t) }) },
  {
    kind: 'openai_agents_js',
    lacks: noSplit,
    report: (t) => ({
      inputTokens: t.plain + t.read + t.write,
      outputTokens: t.spoken + t.thought,
      inputTokensDetails: [{ cached_tokens: t.read }, { cache_write_tokens: t.write }],
      outputTokensDetails: [{ reasoning_tokens: t.thought }],
    }),
  },
  {
    kind: 'cohere_v2_chat',
    lacks: ['read', 'write', 'hour'],
    report: (t) => ({
      billed_units: { input_tokens: t.plain, output_tokens: t.spoken + t.thought },
      tokens: { input_tokens: t.plain + 500, output_tokens: t.spoken + t.thought + 5 },
      cached_tokens: 448,
    }),
  },
];

it.each(SHAPES.map((shape, index) => [`${index} ${shape.kind}`, shape] as const))('%s', (_, shape) => {
  fc.assert(
    fc.property(truth, (whole) => {
      const told: Truth = { ...whole, ...Object.fromEntries(shape.lacks.map((name) => [name, 0])) };
      // What goes over the wire is text.
      const raw: unknown = JSON.parse(JSON.stringify(shape.report(told)));
      const { usage, problem } = normaliseUsage(shape.kind, raw, shape.context ?? {});
      if (told.plain + told.read + told.write + told.hour + told.spoken + told.thought === 0) {
        expect(problem?.code).toBe('usage_missing');
        return;
      }
      expect({ ...usage, untoldSearches: undefined }).toEqual(
        usageOf({
          uncachedInput: BigInt(told.plain),
          cacheRead: BigInt(told.read),
          cacheWrite5m: BigInt(told.write),
          cacheWrite1h: BigInt(told.hour),
          output: BigInt(told.spoken + told.thought),
        }),
      );
      if (usage === undefined) return;
      expect(inputTokensOf(usage)).toBe(BigInt(told.plain + told.read + told.write + told.hour));
      expect(outputTokensOf(usage)).toBe(BigInt(told.spoken + told.thought));
    }),
    { numRuns: 300 },
  );
});
