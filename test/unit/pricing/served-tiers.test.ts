// What a tier that a response names beside its usage does to the cost: what the provider of the row sells it for, and where that is not
// known, nothing, unless it may be dearer. Each kind that reads one, by providers and by words.
import { describe, expect, it } from 'vitest';
import type { HashedPriceRow, PriceRow } from '../../../src/pricing/price-row.ts';
import { priceUsage } from '../../../src/pricing/price-usage.ts';
import { dearerTiersOf, multiplierBound, tierClassOf } from '../../../src/pricing/service-tier.ts';
import type { UsageKind } from '../../../src/pricing/usage/normalise-usage.ts';
import { rawReport } from '../../../src/pricing/usage/usage-report.ts';
import { priceBook, priceRow, START_MS } from '../../support/price-rows.ts';
import { reportsInside } from '../../support/reports-of-kinds.ts';

const chat = { prompt_tokens: 100_000, completion_tokens: 0 };
const responses = { input_tokens: 100_000, output_tokens: 0 };

/** A whole response of each kind that reads its tier, which is `tier`. */
const WHOLE: Partial<Record<UsageKind, (tier: unknown) => object>> = {
  openai_chat: (tier) => ({ usage: chat, service_tier: tier }),
  azure_openai_chat: (tier) => ({ usage: chat, service_tier: tier }),
  openai_compatible: (tier) => ({ usage: chat, service_tier: tier }),
  litellm: (tier) => ({ usage: chat, service_tier: tier }),
  openrouter_chat: (tier) => ({ usage: chat, service_tier: tier }),
  xai_chat: (tier) => ({ usage: chat, service_tier: tier }),
  openai_responses: (tier) => ({ usage: responses, service_tier: tier }),
  azure_openai_responses: (tier) => ({ usage: responses, service_tier: tier }),
  xai_responses: (tier) => ({ usage: responses, service_tier: tier }),
  bedrock_converse: (tier) => ({ usage: { inputTokens: 100_000, outputTokens: 0 }, serviceTier: tier }),
};
const KINDS = Object.keys(WHOLE) as readonly UsageKind[];

/** Micro-dollars of 100,000 tokens at 2.50 for a million, or why there are none. */
function costOf(
  kind: UsageKind,
  provider: string,
  tier: unknown,
  caller?: string,
  asked?: string,
  changes: Partial<PriceRow> = {},
): bigint | string {
  const row = priceRow({ provider, ...changes });
  const context = caller === undefined ? {} : { serviceTier: caller };
  const { report, problem } = rawReport(kind, WHOLE[kind]?.(tier), undefined, context);
  if (report === undefined) return `${problem.code} ${problem.field}`;
  const pins = { rowHashes: [row.hash], ...(asked !== undefined && { serviceTier: asked }) };
  const result = priceUsage(priceBook({ rows: [row] }), pins, undefined, report.usage, START_MS);
  return result.cost?.micros ?? `${result.problem?.code} ${result.problem?.field}`;
}

const LISTED = 250_000n;
const HALF = 125_000n;
const TWICE = 500_000n;
/** Refused, where a word of the caller's for the tier would help, and where none does. */
const REFUSED = 'unknown_price service_tier';
const HELPLESS = 'unknown_price usage';

const CASES: readonly [provider: string, word: unknown, expected: bigint | string][] = [
  ['groq', 'on_demand', LISTED],
  ['groq', 'flex', LISTED],
  ['groq', 'performance', LISTED],
  ['groq', 'auto', LISTED],
  ['groq', 'new', LISTED],
  ['deepseek', 'auto', LISTED],
  ['deepseek', 'priority', HELPLESS],
  ['fireworks', 'priority', HELPLESS],
  ['our-own', 'turbo', HELPLESS],
  ['deepseek', 'flex', LISTED],
  ['deepseek', '__proto__', LISTED],
  ['our-own', 'on_demand', LISTED],
  ['openai', 'default', LISTED],
  ['openai', 'flex', HALF],
  ['openai', 'priority', TWICE],
  ['openai', 'auto', TWICE],
  ['openai', 'on_demand', LISTED],
  ['openai', 'ultrafast', REFUSED],
  ['azure', 'priority', TWICE],
  ['azure', 'new', REFUSED],
  ['google', 'default', LISTED],
  ['anthropic', 'default', LISTED],
  ['anthropic', 'standard', LISTED],
  ['google', 'priority', 500_000n],
  ['anthropic', 'priority', LISTED],
  ['anthropic', 'new', HELPLESS],
  ['x-ai', 'default', LISTED],
  ['x-ai', 'flex', LISTED],
  ['x-ai', 'priority', HELPLESS],
  ['aws', 'flex', LISTED],
  ['aws', 'priority', HELPLESS],
  ['openrouter', 'default', LISTED],
  ['openrouter', 'priority', HELPLESS],
  // In another case, with blanks, or within another word.
  ['fireworks', 'Priority', HELPLESS],
  ['fireworks', 'PRIORITY', HELPLESS],
  ['fireworks', 'priority ', HELPLESS],
  ['our-own', 'on_demand_priority', HELPLESS],
  ['our-own', 'ultrafast', HELPLESS],
  ['our-own', 'Turbo-2', HELPLESS],
  ['openai', 'PRIORITY', TWICE],
  ['openai', ' Flex', HALF],
  ['openai', 'Default', LISTED],
  ['google', 'PRIORITY', 500_000n],
  ['x-ai', 'Default', LISTED],
  ['groq', 'On_Demand', LISTED],
  // In a form that no interface has.
  ['groq', { type: 'on_demand' }, LISTED],
  ['groq', '', LISTED],
  // What can't be read may be a dearer one anywhere.
  ['groq', {}, HELPLESS],
  ['groq', 7, HELPLESS],
  ['groq', 'x'.repeat(65), HELPLESS],
  ['fireworks', ['priority'], HELPLESS],
  ['fireworks', { name: 'priority' }, HELPLESS],
  ['openai', { type: 'priority' }, TWICE],
  ['openai', { type: ['priority'] }, REFUSED],
  ['openai', ['priority'], REFUSED],
  ['openai', '', REFUSED],
  ['openai', null, LISTED],
];

describe.each(KINDS)('%s', (kind) => {
  it.each(CASES)('of %s, served as %o', (provider, word, expected) => {
    expect(costOf(kind, provider, word)).toBe(expected);
  });

  it.each<[provider: string, word: string, caller: string, expected: bigint | string]>([
    ['openai', 'priority', 'flex', TWICE],
    ['openai', 'default', 'priority', LISTED],
    ['openai', 'default', 'flex', LISTED],
    ['openai', 'on_demand', 'flex', LISTED],
    ['openai', 'on_demand', 'priority', TWICE],
    ['google', 'default', 'flex', LISTED],
    ['google', 'default', 'batch', LISTED],
    ['anthropic', 'default', 'batch', LISTED],
    ['anthropic', 'on_demand', 'batch', LISTED],
    ['anthropic', 'batch', 'default', HALF],
    ['openai', 'ultrafast', 'priority', TWICE],
    ['openai', 'ultrafast', 'default', REFUSED],
    ['x-ai', 'priority', 'default', HELPLESS],
    ['deepseek', 'on_demand', 'standard', LISTED],
    ['deepseek', 'on_demand', 'platinum', LISTED],
  ])('of %s, served as %s, said to be %s', (provider, word, caller, expected) => {
    expect(costOf(kind, provider, word, caller)).toBe(expected);
  });

  it.each(['free', 'seat'] as const)('of a row that is %s costs nothing, however it was served', (mark) => {
    for (const provider of ['local', 'openai', 'anthropic']) {
      for (const tier of ['priority', 'ultrafast', 7, undefined]) {
        expect(costOf(kind, provider, tier, undefined, undefined, { mark, rates: { input: 0n } })).toBe(0n);
        expect(costOf(kind, provider, tier, 'platinum', 'fast', { mark, rates: { input: 0n } })).toBe(0n);
      }
    }
  });

  it('is as was asked for where the word is not known, and no cheaper than the list', () => {
    expect(costOf(kind, 'openai', 'on_demand', undefined, 'priority')).toBe(TWICE);
    expect(costOf(kind, 'openai', 'on_demand', undefined, 'flex')).toBe(LISTED);
  });
});

describe('one call, through every kind', () => {
  const costIn = (row: HashedPriceRow, kind: UsageKind, raw: unknown) => {
    const { report } = rawReport(kind, raw, undefined, {});
    if (report === undefined) throw new Error('no report');
    return priceUsage(priceBook({ rows: [row] }), { rowHashes: [row.hash] }, undefined, report.usage, START_MS);
  };
  const opus = (model: string) =>
    priceRow({ provider: 'anthropic', model, rates: { input: 5_000_000n, output: 25_000_000n } });
  const call = { input: 100_000, output: 1_000, words: { speed: 'fast', inference_geo: 'us' } };

  it.each(reportsInside(call))('fast and in the US, of $kind $place', ({ kind, raw }) => {
    expect(costIn(opus('claude-opus-4-6'), kind, raw).cost?.micros).toBe(3_465_000n);
    expect(costIn(opus('claude-opus-5-5'), kind, raw).problem?.text).toContain('may cost more than the list');
    expect(costIn(opus('claude-opus-5'), kind, raw).cost?.micros).toBe(1_155_000n);
  });

  it.each([
    ['trafficType', 'ON_DEMAND', 500_000n],
    ['trafficType', 'ON_DEMAND_PRIORITY', 1_000_000n],
    ['trafficType', 'ON_DEMAND_FLEX', 250_000n],
    ['trafficType', 'PROVISIONED_THROUGHPUT', 500_000n],
    ['serviceTier', 'priority', 1_000_000n],
    ['service_tier', 'priority', 1_000_000n],
  ])('of Google, whose %s is %s', (name, word, expected) => {
    const row = priceRow({ provider: 'google', rates: { input: 5_000_000n, output: 0n } });
    for (const { kind, place, raw } of reportsInside({ input: 100_000, output: 1, words: { [name]: word } })) {
      expect([kind, place, costIn(row, kind, raw).cost?.micros]).toEqual([kind, place, expected]);
    }
  });

  it('of two words is the dearest, and a discount that one of them does not know is none', () => {
    const micros = (provider: string, inside: string, beside: string) => {
      const raw = { usage: { ...chat, service_tier: inside }, service_tier: beside };
      const { cost, problem } = costIn(priceRow({ provider }), 'openai_compatible', raw);
      return cost?.micros ?? problem?.field;
    };
    expect(micros('openai', 'default', 'priority')).toBe(TWICE);
    expect(micros('openai', 'priority', 'flex')).toBe(TWICE);
    expect(micros('openai', 'flex', 'flex')).toBe(HALF);
    expect(micros('openai', 'flex', 'on_demand')).toBe(LISTED);
    expect(micros('openai', 'flex', 'ultrafast')).toBe('service_tier');
    expect(micros('groq', 'on_demand', 'priority')).toBe('usage');
  });

  it('of more words than are kept loses none of them, and is refused', () => {
    const words = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'priority', 'h'];
    const openai = Object.fromEntries(words.map((word, at) => [`provider${at}`, { serviceTier: word }]));
    const outcome = (provider: string, serviceTier?: string) => {
      const raw = { inputTokens: 100_000, outputTokens: 1, providerMetadata: openai };
      const row = priceRow({ provider });
      const { report } = rawReport('ai_sdk_v6', raw, undefined, serviceTier === undefined ? {} : { serviceTier });
      if (report === undefined) throw new Error('no report');
      expect(report.usage.serviceTiers).toContain('priority');
      const { cost, problem } = priceUsage(
        priceBook({ rows: [row] }),
        { rowHashes: [row.hash] },
        undefined,
        report.usage,
        START_MS,
      );
      return cost?.micros ?? problem?.field;
    };
    expect(outcome('fireworks')).toBe('usage');
    expect(outcome('openai')).toBe('service_tier');
    expect(outcome('openai', 'flex')).toBe('service_tier');
    expect(outcome('openai', 'priority')).toBe(500_020n);
  });

  it('has no speed where that is a number', () => {
    const raw = { usage: { ...chat, speed: 85.2 } };
    expect(costIn(priceRow({ provider: 'openrouter' }), 'openrouter_chat', raw).cost?.micros).toBe(LISTED);
  });

  const stream = (...words: object[]) => words;
  it.each<[UsageKind, string, readonly object[], bigint | string]>([
    [
      'openai_responses',
      'openai',
      stream({ type: 'response.created', service_tier: 'flex' }, { usage: responses }),
      LISTED,
    ],
    [
      'openai_responses',
      'openai',
      stream({ response: { service_tier: 'flex' } }, { response: { usage: responses } }),
      LISTED,
    ],
    ['openai_chat', 'openai', stream({ service_tier: 'priority' }, { usage: chat }, { service_tier: 'flex' }), TWICE],
    ['openai_chat', 'openai', stream({ service_tier: 'flex' }, { usage: chat }, { service_tier: 'priority' }), TWICE],
    ['openai_chat', 'openai', stream({ service_tier: 'priority' }, { usage: chat, service_tier: 'flex' }), HALF],
    ['openai_chat', 'openai', stream({ service_tier: 'ultrafast' }, { usage: chat }), 'service_tier'],
    [
      'openai_chat',
      'openai',
      stream({ service_tier: 'ultrafast' }, { usage: { ...chat, service_tier: 'default' } }),
      LISTED,
    ],
    [
      'litellm',
      'anthropic',
      stream({ usage: { ...chat, speed: 'fast' } }, { usage: { ...chat, speed: 'standard' } }),
      LISTED,
    ],
    ['litellm', 'anthropic', stream({ usage: { ...chat, speed: 'fast' } }, { usage: chat }), TWICE],
    [
      'litellm',
      'anthropic',
      stream({ usage: { ...chat, speed: 'fast' } }, { usage: chat, service_tier: 'batch' }),
      TWICE,
    ],
    [
      'litellm',
      'anthropic',
      stream({ usage: { ...chat, speed: 'standard' } }, { usage: chat, service_tier: 'batch' }),
      HALF,
    ],
    [
      'bedrock_converse',
      'aws',
      stream(
        { performanceConfig: { latency: 'optimized' } },
        { metadata: { usage: { inputTokens: 1, outputTokens: 1 } } },
      ),
      'usage',
    ],
  ])('%s of %s, in the events %j', (kind, provider, events, expected) => {
    const { cost, problem } = costIn(priceRow({ provider, model: 'claude-opus-5' }), kind, { events });
    expect(cost?.micros ?? problem?.field).toBe(expected);
  });

  it('is refused where a faster machine of Bedrock served it', () => {
    const raw = { usage: { inputTokens: 1, outputTokens: 1 }, performanceConfig: { latency: 'optimized' } };
    const { problem } = costIn(priceRow({ provider: 'aws' }), 'bedrock_converse', raw);
    expect(problem).toMatchObject({ code: 'unknown_price', field: 'usage' });
  });
});

it.each(['openai', 'azure', 'anthropic', 'google', 'groq', 'x-ai', 'our-own'])(
  '%s has what everybody has',
  (provider) => {
    for (const tier of ['default', 'standard', 'Default ']) {
      expect(tierClassOf(provider, tier)).toBe('standard');
      expect(multiplierBound({ provider, model: 'any' }, tier, undefined, 1n)).toBe(10_000n);
    }
  },
);

describe('a refusal says what is wrong and what helps', () => {
  const textOf = (provider: string, model: string, words: object, context: object = {}) => {
    const row = priceRow({ provider, model });
    const raw = { input_tokens: 10, output_tokens: 1, ...words };
    const { report } = rawReport('anthropic_messages', raw, undefined, context);
    if (report === undefined) throw new Error('no report');
    const { problem } = priceUsage(
      priceBook({ rows: [row] }),
      { rowHashes: [row.hash] },
      undefined,
      report.usage,
      START_MS,
    );
    return `${problem?.field} ${problem?.text}`;
  };
  const ultrafast = { service_tier: 'ultrafast' };

  it.each<[string, string, object, object, string]>([
    [
      'openai',
      'gpt-4o',
      ultrafast,
      {},
      'service_tier must be auto or priority or fast: the report names another tier that may cost more than the list at openai/gpt-4o, and what it costs is not known. Else settle with the cost as an amount',
    ],
    [
      'openai',
      'gpt-4o',
      ultrafast,
      { serviceTier: 'default' },
      'service_tier must be auto or priority or fast: the report names another tier that may cost more than the list at openai/gpt-4o, and what it costs is not known. Else settle with the cost as an amount',
    ],
    [
      'openai',
      'gpt-4o',
      {},
      { serviceTier: 'ultrafast' },
      'service_tier names a tier that may cost more than the list at openai/gpt-4o, and what it costs is not known: settle with the cost as an amount',
    ],
    [
      'x-ai',
      'grok-4',
      { service_tier: 'priority' },
      { serviceTier: 'priority' },
      'usage names a tier that may cost more than the list at x-ai/grok-4, and what it costs is not known: settle with the cost as an amount',
    ],
    [
      'anthropic',
      'claude-opus-5-5',
      { speed: 'fast' },
      { serviceTier: 'fast' },
      'usage names a tier that may cost more than the list at anthropic/claude-opus-5-5, and what it costs is not known: settle with the cost as an amount',
    ],
    [
      'anthropic',
      'claude-opus-5',
      { speed: 'faster still' },
      {},
      'service_tier must be fast: the report names another tier that may cost more than the list at anthropic/claude-opus-5, and what it costs is not known. Else settle with the cost as an amount',
    ],
    [
      'aws',
      'claude',
      { inference_geo: 'us' },
      { serviceTier: 'default' },
      'usage was served at a place of inference that has no known price at aws/claude: settle with the cost as an amount',
    ],
  ])('%s/%s, %j, said to be %j', (provider, model, words, context, expected) => {
    expect(textOf(provider, model, words, context)).toBe(expected);
  });

  it('each tier that it names is taken', () => {
    for (const [provider, model] of [
      ['openai', 'gpt-4o'],
      ['azure', 'gpt-4o'],
      ['google', 'gemini'],
      ['anthropic', 'claude-opus-4-6'],
    ] as const) {
      const tiers = dearerTiersOf({ provider, model });
      expect(tiers.length).toBeGreaterThan(0);
      for (const serviceTier of tiers) {
        expect(textOf(provider, model, ultrafast, { serviceTier })).toBe('undefined undefined');
      }
    }
  });
});
