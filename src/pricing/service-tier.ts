// What a provider's service tiers and places of inference do to a price, and how they rank. The rows know neither: a tier
// multiplies all token rates of a row. What is not in the tables has no price, rather than that of the standard tier: but where it is a
// response alone that says it, and it can't be a dearer one, it changes nothing.

import { larger } from './exact.ts';
import { UNREADABLE_WORD } from './usage/usage.ts';

/** How dear and how fast, the cheapest first: a budget's `max_tier` names the last that it allows. */
export const TIER_CLASSES = ['flex', 'standard', 'priority'] as const;

/**
 * `flex`: cheaper and slower or later (flex, batch). `standard`: the listed price. `priority`: dearer and faster (priority, fast).
 */
export type TierClass = (typeof TIER_CLASSES)[number];

/** What a tier costs. */
interface TierPrice {
  /** Percent of the listed token rates. */
  readonly percent: bigint;
  /** Percent above LONG_PROMPT_TOKENS of input, where another. */
  readonly longPercent?: bigint;
}

/** One tier of a provider: at one price for all its models, or for those that have it each its own. */
type ServiceTier = { readonly tierClass: TierClass } & (
  | (TierPrice & { readonly byModel?: never })
  | { readonly byModel: ReadonlyMap<string, TierPrice> }
);

const STANDARD: ServiceTier = { tierClass: 'standard', percent: 100n };
const HALF: ServiceTier = { tierClass: 'flex', percent: 50n };

// OpenAI's project setting decides what "auto" is, so it counts as the dearest. Priority is listed at up to twice the rates,
// by model; twice bounds them all. Sources: openai-node `service_tier`; offpeak-ai/offpeak v0.2.1.
const OPENAI = {
  auto: { tierClass: 'priority', percent: 200n },
  scale: STANDARD,
  flex: HALF,
  batch: HALF,
  priority: { tierClass: 'priority', percent: 200n },
  fast: { tierClass: 'priority', percent: 200n },
} as const satisfies Readonly<Record<string, ServiceTier>>;

// Fast mode has a price for each model, caches included. It began at six times the list, and twelve above 200,000 tokens of input; later
// models have one price for all sizes, twice the list for these. Sources: platform.claude.com, fast mode; openrouter.ai,
// anthropic/claude-opus-5-fast; BerriAI/litellm pull request 38378.
const FAST: ReadonlyMap<string, TierPrice> = new Map<string, TierPrice>([
  ['claude-opus-4-6', { percent: 600n, longPercent: 1_200n }],
  ['claude-opus-4-8', { percent: 200n }],
  ['claude-opus-5', { percent: 200n }],
]);

// "priority" is capacity that is paid for ahead; a token in it costs no more than the list. Source: anthropic-sdk-typescript
// `service_tier`, `speed`.
const ANTHROPIC = {
  auto: STANDARD,
  standard_only: STANDARD,
  priority: STANDARD,
  batch: HALF,
  fast: { tierClass: 'priority', byModel: FAST },
} as const satisfies Readonly<Record<string, ServiceTier>>;

// Vertex says the same in other words; its provisioned throughput is capacity that is paid for ahead. Priority is listed at 75 to 100
// percent above the rates, by model; twice bounds them all.
// Sources: ai.google.dev/gemini-api/docs/pricing and /priority-inference; js-genai `TrafficType`.
const GOOGLE = {
  on_demand: STANDARD,
  provisioned_throughput: STANDARD,
  flex: HALF,
  batch: HALF,
  on_demand_flex: HALF,
  priority: { tierClass: 'priority', percent: 200n },
  on_demand_priority: { tierClass: 'priority', percent: 200n },
} as const satisfies Readonly<Record<string, ServiceTier>>;

// A token costs the listed rate in flex, and "performance" is capacity that is paid for ahead; "auto" is the best of them that one has.
// Source: console.groq.com/docs, service tiers, flex processing, performance tier.
const GROQ = {
  auto: STANDARD,
  on_demand: STANDARD,
  performance: STANDARD,
  flex: { tierClass: 'flex', percent: 100n },
} as const satisfies Readonly<Record<string, ServiceTier>>;

/** What everybody has, whatever else. */
const PLAIN = { default: STANDARD, standard: STANDARD } as const satisfies Readonly<Record<string, ServiceTier>>;

const TIERS: ReadonlyMap<string, ReadonlyMap<string, ServiceTier>> = new Map([
  ['openai', new Map<string, ServiceTier>(Object.entries(OPENAI))],
  ['azure', new Map<string, ServiceTier>(Object.entries(OPENAI))],
  ['anthropic', new Map<string, ServiceTier>(Object.entries(ANTHROPIC))],
  ['google', new Map<string, ServiceTier>(Object.entries(GOOGLE))],
  ['groq', new Map<string, ServiceTier>(Object.entries(GROQ))],
]);
const PLAIN_TIERS: ReadonlyMap<string, ServiceTier> = new Map(Object.entries(PLAIN));

/**
 * Providers that sell a tier above the listed price, and of those behind which others may: xAI and Bedrock have "priority" at a premium
 * that they list by model, OpenRouter passes on what served. Sources: docs.x.ai, priority processing; aws.amazon.com/bedrock/service-tiers;
 * openrouter.ai/docs, service tiers.
 */
const SELLS_DEARER: ReadonlySet<string> = new Set([
  'openai',
  'azure',
  'anthropic',
  'google',
  'x-ai',
  'xai',
  'aws',
  'bedrock',
  'amazon-bedrock',
  'openrouter',
]);

/**
 * What is in the words that stand for more than the listed price wherever they are sold. Sources: docs.fireworks.ai, serverless; Bedrock
 * API reference, PerformanceConfiguration ("optimized" latency).
 */
const DEARER_PARTS = ['priority', 'fast', 'turbo', 'optimized'] as const;

/** Words that stand nowhere for more than the listed price. */
const NEVER_DEARER: ReadonlySet<string> = new Set([
  'default',
  'standard',
  'on_demand',
  'on_demand_flex',
  'provisioned_throughput',
  'flex',
  'batch',
]);

/** Input tokens above which the first fast mode of Anthropic's costs more still. */
const LONG_PROMPT_TOKENS = 200_000n;

/** Percent of the rates of Anthropic's own API by place of inference; elsewhere regions have rows. Source: data residency. */
const GEO_PERCENTS: ReadonlyMap<string, { readonly percent: bigint; readonly provider?: string }> = new Map([
  ['global', { percent: 100n }],
  ['not_available', { percent: 100n }],
  ['us', { percent: 110n, provider: 'anthropic' }],
]);

const GEO_UNSAID: { readonly percent: bigint; readonly provider?: string } = { percent: 100n };

/** The multiplier of the listed rates themselves: multipliers are parts of it. */
export const MULTIPLIER_WHOLE = 10_000n;

/** A word for a tier or a place as the tables have it: interfaces differ in case, and a word is the same with blanks around it. */
const plain = (word: string): string => word.trim().toLowerCase();

function tierOf(provider: string, serviceTier: string | undefined): ServiceTier | undefined {
  if (serviceTier === undefined) return STANDARD;
  const word = plain(serviceTier);
  return TIERS.get(provider)?.get(word) ?? PLAIN_TIERS.get(word);
}

/** The class of a provider's tier; undefined where it is not known. Absent is standard. */
export function tierClassOf(provider: string, serviceTier: string | undefined): TierClass | undefined {
  return tierOf(provider, serviceTier)?.tierClass;
}

/** Whether a tier that has no known price at a provider may cost more than the listed one there. */
export function mayBeDearer(provider: string, serviceTier: string): boolean {
  if (serviceTier === UNREADABLE_WORD) return true;
  const word = plain(serviceTier);
  if (NEVER_DEARER.has(word)) return false;
  return SELLS_DEARER.has(provider) || DEARER_PARTS.some((part) => word.includes(part));
}

/** The words for tiers above the listed price that have a price at a model, in the provider's words; none where none is known. */
export function dearerTiersOf({
  provider,
  model,
}: {
  readonly provider: string;
  readonly model: string;
}): readonly string[] {
  const words = [...(TIERS.get(provider)?.keys() ?? [])];
  const listed = multiplierOf({ provider, model }, undefined, undefined, 0n) ?? MULTIPLIER_WHOLE;
  return words.filter((word) => (multiplierOf({ provider, model }, word, undefined, 0n) ?? 0n) > listed);
}

/** Whether a class is no dearer than another. */
export function isWithinTier(tierClass: TierClass, maxTier: TierClass): boolean {
  return TIER_CLASSES.indexOf(tierClass) <= TIER_CLASSES.indexOf(maxTier);
}

/** What multiplies the token rates of a call that was served so, in MULTIPLIER_WHOLEs; undefined where it is not known. */
export function multiplierOf(
  { provider, model }: { readonly provider: string; readonly model: string },
  serviceTier: string | undefined,
  inferenceGeo: string | undefined,
  inputTokens: bigint,
): bigint | undefined {
  if (serviceTier === undefined && inferenceGeo === undefined) return MULTIPLIER_WHOLE;
  const tier = tierOf(provider, serviceTier);
  const price = tier?.byModel === undefined ? tier : tier.byModel.get(model);
  if (price === undefined) return undefined;
  const geo = inferenceGeo === undefined ? GEO_UNSAID : GEO_PERCENTS.get(plain(inferenceGeo));
  if (geo === undefined || (geo.provider !== undefined && geo.provider !== provider)) return undefined;
  const long = inputTokens > LONG_PROMPT_TOKENS ? price.longPercent : undefined;
  return (long ?? price.percent) * geo.percent;
}

/** The most that can multiply them when a call only asks for a tier: a provider may serve a cheaper one at the listed price. */
export function multiplierBound(
  name: { readonly provider: string; readonly model: string },
  serviceTier: string | undefined,
  inferenceGeo: string | undefined,
  inputTokens: bigint,
): bigint | undefined {
  const asked = multiplierOf(name, serviceTier, inferenceGeo, inputTokens);
  if (serviceTier === undefined) return asked;
  const listed = multiplierOf(name, undefined, inferenceGeo, inputTokens);
  if (asked === undefined || listed === undefined) return undefined;
  return larger(asked, listed);
}
