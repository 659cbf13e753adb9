// What a tier that a response names beside its usage does to the cost: what the provider of the row sells it for, and where that is not
// known, nothing, unless it may be dearer. Each kind that reads one, by providers and by words.
import { describe, expect, it } from 'vitest';
import type { PriceRow } from '../../../src/pricing/price-row.ts';
import { priceUsage } from '../../../src/pricing/price-usage.ts';
import type { UsageKind } from '../../../src/pricing/usage/normalise-usage.ts';
import { rawReport } from '../../../src/pricing/usage/usage-report.ts';
import { priceBook, priceRow, START_MS } from '../../support/price-rows.ts';

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
const REFUSED = 'unknown_price service_tier';

const CASES: readonly [provider: string, word: unknown, expected: bigint | string][] = [
  ['groq', 'on_demand', LISTED],
  ['groq', 'flex', LISTED],
  ['groq', 'performance', LISTED],
  ['groq', 'auto', LISTED],
  ['groq', 'new', LISTED],
  ['deepseek', 'auto', LISTED],
  ['deepseek', 'priority', REFUSED],
  ['fireworks', 'priority', REFUSED],
  ['our-own', 'turbo', REFUSED],
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
  ['google', 'priority', 450_000n],
  ['anthropic', 'priority', LISTED],
  ['anthropic', 'new', REFUSED],
  ['x-ai', 'default', LISTED],
  ['x-ai', 'flex', LISTED],
  ['x-ai', 'priority', REFUSED],
  ['aws', 'flex', LISTED],
  ['aws', 'priority', REFUSED],
  ['openrouter', 'default', LISTED],
  ['openrouter', 'priority', REFUSED],
  // In another case, with blanks, or within another word.
  ['fireworks', 'Priority', REFUSED],
  ['fireworks', 'PRIORITY', REFUSED],
  ['fireworks', 'priority ', REFUSED],
  ['our-own', 'on_demand_priority', REFUSED],
  ['our-own', 'ultrafast', REFUSED],
  ['our-own', 'Turbo-2', REFUSED],
  ['openai', 'PRIORITY', TWICE],
  ['openai', ' Flex', HALF],
  ['openai', 'Default', LISTED],
  ['google', 'PRIORITY', 450_000n],
  ['x-ai', 'Default', LISTED],
  ['groq', 'On_Demand', LISTED],
  // In a form that no interface has.
  ['groq', { type: 'on_demand' }, LISTED],
  ['groq', {}, LISTED],
  ['groq', 7, LISTED],
  ['groq', 'x'.repeat(65), LISTED],
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
    ['openai', 'ultrafast', 'priority', TWICE],
    ['openai', 'ultrafast', 'default', REFUSED],
    ['x-ai', 'priority', 'default', REFUSED],
    ['deepseek', 'on_demand', 'standard', LISTED],
    ['deepseek', 'on_demand', 'platinum', REFUSED],
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
