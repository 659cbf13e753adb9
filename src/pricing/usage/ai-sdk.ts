// The Vercel AI SDK. Version 5 passes on what each provider means by its fields; 6 and 7 put everything inside two totals, but lose
// what `raw` still has: Google's tool prompts, and the life of Anthropic's caches. Source: vercel/ai, convert-*-usage.ts.
import type { UsageAdapter } from './adapter.ts';
import { MESSAGES_COUNTS, messagesUsage } from './anthropic-messages.ts';
import { eitherCount, NO_USAGE, splitInput, splitWrites } from './buckets.ts';
import { GEMINI_COUNTS, geminiUsage } from './gemini.ts';
import { child, count, countOrZero, fault, field, isFields, need, type Report, require } from './report.ts';
import { inputTokensOf, outputTokensOf, type Usage, type UsageContext } from './usage.ts';

type Family = 'anthropic' | 'bedrock' | 'google' | 'other';

/** Whose habits a provider of the SDK has, by its name there: "anthropic.messages", "google.vertex.chat", "amazon-bedrock". */
function familyOf(provider: string): Family {
  if (provider.includes('anthropic')) return 'anthropic';
  if (provider.includes('bedrock')) return 'bedrock';
  return provider.includes('google') || provider.includes('vertex') ? 'google' : 'other';
}

/** The same by what the provider added, where its name does not tell: a gateway's, or none. */
function familyIn(metadata: Report | undefined): Family {
  return FAMILIES.find(([name]) => isFields(field(metadata, name)))?.[1] ?? 'other';
}

function familyBy(provider: string | undefined, metadata: Report | undefined): Family {
  const named = familyOf(provider ?? '');
  return named === 'other' ? familyIn(metadata) : named;
}

const FAMILIES: readonly (readonly [name: string, family: Family])[] = [
  ['anthropic', 'anthropic'],
  ['bedrock', 'bedrock'],
  ['google', 'google'],
  ['vertex', 'google'],
];

/** Counts that version 5 has, and that 6 and 7 still fill. */
const V5_COUNTS: readonly string[] = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cachedInputTokens',
  'reasoningTokens',
  'providerMetadata.anthropic.cacheCreationInputTokens',
  'providerMetadata.anthropic.usage.cache_creation_input_tokens',
  'providerMetadata.anthropic.usage.cache_creation.ephemeral_5m_input_tokens',
  'providerMetadata.anthropic.usage.cache_creation.ephemeral_1h_input_tokens',
  'providerMetadata.bedrock.usage.cacheWriteInputTokens',
  // The totals once more, where whoever stands between put the provider's own report beside them.
  ...['input_tokens', 'output_tokens', 'promptTokenCount', 'candidatesTokenCount', 'totalTokenCount'].map(
    (name) => `raw.${name}`,
  ),
];

/**
 * Whether totals hold the cache and the reasoning, as far as a name tells or what the provider added: of those that are known to count
 * so, and of whoever speaks one of OpenAI's interfaces ("ours.chat"). A gateway's own name tells nothing.
 */
function isInside(provider: string, metadata: Report | undefined): boolean {
  const names = [provider, ...Object.keys(metadata?.fields ?? {})];
  return OPENAI_INTERFACE.test(provider) || names.some((name) => INSIDE.some((known) => name.includes(known)));
}

const OPENAI_INTERFACE = /.\.(chat|completion|responses)$/;

const INSIDE = [
  'openai',
  'azure',
  'openrouter',
  'xai',
  'groq',
  'mistral',
  'deepseek',
  'cohere',
  'fireworks',
  'togetherai',
  'perplexity',
  'cerebras',
  'deepinfra',
] as const;

/** Version 5. `providerMetadata` is read where it stands beside the counts, or beside the usage. */
export const aiSdkV5: UsageAdapter = {
  paths: [['usage']],
  body: 'sdk',
  counts: V5_COUNTS,
  normalise: (report, { provider, cacheTtl }, around) => {
    const [input = 0n, output = 0n] = need(report, ['inputTokens', 'outputTokens']);
    const cacheRead = countOrZero(report, 'cachedInputTokens');
    const reasoning = countOrZero(report, 'reasoningTokens');
    const metadata = child(report, 'providerMetadata') ?? child(around, 'providerMetadata');
    const family = familyBy(provider, metadata);
    if (family === 'other' && (cacheRead > 0n || reasoning > 0n) && !isInside(provider ?? '', metadata)) {
      const text = 'must name whose model it was, not a gateway: it decides what the counts mean';
      fault(report.faults, 'usage_incomplete', 'provider', text);
    }
    if (family === 'anthropic' || family === 'bedrock') {
      const writes = writesOf(report, metadata, family, cacheTtl);
      return { ...NO_USAGE, uncachedInput: input, cacheRead, ...writes, output };
    }
    const allOutput = family === 'google' ? output + reasoning : output;
    require(report, family === 'google' || reasoning <= output, 'outputTokens', 'must hold the reasoning tokens');
    checkTotal(report, input + allOutput);
    return { ...NO_USAGE, ...plainInput(report, input, cacheRead, 0n, cacheTtl), output: allOutput };
  },
};

/** Versions 6 and 7. `raw` is read by its own shape: behind a gateway the name does not tell whose it is. */
export const aiSdkV6: UsageAdapter = {
  paths: [['usage']],
  body: 'sdk',
  counts: [
    ...V5_COUNTS,
    'inputTokenDetails.noCacheTokens',
    'inputTokenDetails.cacheReadTokens',
    'inputTokenDetails.cacheWriteTokens',
    'outputTokenDetails.textTokens',
    'outputTokenDetails.reasoningTokens',
    ...[...MESSAGES_COUNTS, ...GEMINI_COUNTS].map((path) => `raw.${path}`),
  ],
  normalise: (report, context, around) => {
    const raw = child(report, 'raw');
    const family = familyOf(context.provider ?? '');
    const usage = raw === undefined ? undefined : rawUsage(raw, family, context);
    if (usage !== undefined && isWhole(report, usage)) return usage;
    if (family === 'google') {
      const text = 'must be there, of all that the totals count: they leave out tool prompts';
      fault(report.faults, 'usage_incomplete', 'raw', text);
    }
    checkVersion(report, around, context);
    return totalsUsage(report, context);
  },
};

/**
 * The totals of 6 and 7 come with their details, and hold the cache and the reasoning. Where there are none and there is a cache or
 * reasoning, of a provider whose totals do not hold them in version 5, the report is of that version.
 */
function checkVersion(report: Report, around: Report | undefined, { provider, cacheTtl }: UsageContext): void {
  if (child(report, 'inputTokenDetails') !== undefined || child(report, 'outputTokenDetails') !== undefined) return;
  const metadata = child(report, 'providerMetadata') ?? child(around, 'providerMetadata');
  const family = familyBy(provider, metadata);
  if (family === 'other') return;
  let beside = countOrZero(report, 'cachedInputTokens') + countOrZero(report, 'reasoningTokens');
  if (family === 'anthropic' || family === 'bedrock') {
    const { cacheWrite5m, cacheWrite1h } = writesOf(report, metadata, family, cacheTtl);
    beside += cacheWrite5m + cacheWrite1h;
  }
  const text = 'must be there, as versions 6 and 7 have it: this looks like a result of version 5, kind ai_sdk_v5';
  if (beside > 0n) fault(report.faults, 'usage_incomplete', 'inputTokenDetails', text);
}

/** The provider's own report, where it says more than the totals; undefined where it is of another provider. */
function rawUsage(raw: Report, family: Family, context: UsageContext): Usage | undefined {
  if (family === 'google' || field(raw, 'promptTokenCount') !== undefined) return geminiUsage(raw);
  if (field(raw, 'input_tokens') === undefined) return undefined;
  return family === 'anthropic' || isMessages(raw) ? messagesUsage(raw, context) : undefined;
}

/** Whether it is of all that the totals count: a sum of several calls may have kept what one of them said. */
function isWhole(report: Report, usage: Usage): boolean {
  const input = count(report, 'inputTokens') ?? 0n;
  const output = count(report, 'outputTokens') ?? 0n;
  return inputTokensOf(usage) >= input && outputTokensOf(usage) >= output;
}

/**
 * Whether a report is of Anthropic's Messages, by its counts: OpenAI's Responses name the two alike, have none of the others, and take
 * the input apart in details. A word, such as a speed, may be in either.
 */
function isMessages(raw: Report): boolean {
  if (field(raw, 'output_tokens') === undefined || field(raw, 'input_tokens_details') !== undefined) return false;
  return OF_MESSAGES.some((name) => field(raw, name) !== undefined);
}

const OF_MESSAGES = [
  'cache_creation',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'iterations',
  'server_tool_use',
] as const;

function totalsUsage(report: Report, { cacheTtl }: UsageContext): Usage {
  const [input = 0n, output = 0n] = need(report, ['inputTokens', 'outputTokens']);
  const inputDetails = child(report, 'inputTokenDetails');
  const outputDetails = child(report, 'outputTokenDetails');
  const cacheRead = eitherRead(report, count(inputDetails, 'cacheReadTokens'));
  const cacheWrite = countOrZero(inputDetails, 'cacheWriteTokens');
  const noCache = count(inputDetails, 'noCacheTokens');
  const isInputSum = noCache === undefined || noCache + cacheRead + cacheWrite === input;
  require(report, isInputSum, 'inputTokens', 'must be the sum of its details');
  const text = count(outputDetails, 'textTokens');
  const reasoning = count(outputDetails, 'reasoningTokens') ?? countOrZero(report, 'reasoningTokens');
  require(report, (text ?? 0n) + reasoning <= output, 'outputTokens', 'must hold its details');
  checkTotal(report, input + output);
  return { ...NO_USAGE, ...plainInput(report, input, cacheRead, cacheWrite, cacheTtl), output };
}

/** Reads stand in the details; version 5's field is still filled and must not say otherwise. */
function eitherRead(report: Report, detail: bigint | undefined): bigint {
  const old = count(report, 'cachedInputTokens');
  require(report, detail === undefined ||
    old === undefined ||
    detail === old, 'cachedInputTokens', 'must equal its detail');
  return detail ?? old ?? 0n;
}

function plainInput(report: Report, total: bigint, cacheRead: bigint, written: bigint, cacheTtl: string | undefined) {
  const writes = splitWrites(report, written, undefined, undefined, cacheTtl);
  return splitInput(report, { total, cacheRead, ...writes, audio: 0n, audioCacheRead: undefined });
}

function checkTotal(report: Report, sum: bigint): void {
  const total = count(report, 'totalTokens');
  require(report, total === undefined || total === sum, 'totalTokens', 'must be the sum of its parts');
}

/** Version 5 gives cache writes only in what the provider adds: as a count of its own, or in the provider's own usage. */
function writesOf(
  report: Report,
  metadata: Report | undefined,
  family: 'anthropic' | 'bedrock',
  cacheTtl: string | undefined,
) {
  const added = child(metadata, family);
  const usage = child(added, 'usage');
  if (family === 'bedrock') {
    return splitWrites(report, countOrZero(usage, 'cacheWriteInputTokens'), undefined, undefined, cacheTtl);
  }
  const split = child(usage, 'cache_creation');
  const total = eitherCount(
    report,
    count(added, 'cacheCreationInputTokens'),
    count(usage, 'cache_creation_input_tokens'),
    'has two counts of cache writes',
  );
  const fiveMinutes = count(split, 'ephemeral_5m_input_tokens');
  return splitWrites(report, total, fiveMinutes, count(split, 'ephemeral_1h_input_tokens'), cacheTtl);
}
