import { describe, expect, it } from 'vitest';
import { allowedModelProblem, type ModelRules, refuseModels } from '../../../src/pricing/allowed-models.ts';
import type { ModelCall } from '../../../src/pricing/model-call.ts';
import type { PriceBook } from '../../../src/pricing/price-book.ts';
import { TIER_CLASSES } from '../../../src/pricing/service-tier.ts';
import { priceBook, priceRow } from '../../support/price-rows.ts';

describe('what a budget allows', () => {
  const book = priceBook({
    rows: [
      priceRow(),
      priceRow({ model: 'gpt-4o-mini' }),
      priceRow({ provider: 'openrouter', model: 'openai/gpt-4o' }),
    ],
    aliases: [
      {
        provider: 'openai',
        alias: 'omni',
        form: 'exact',
        model: 'gpt-4o',
        origin: 'operator',
        addedBy: 'ops',
        addedMs: 1,
      },
    ],
  });
  const refusedBy = (known: PriceBook | undefined, rules: ModelRules, call: Partial<ModelCall>) => {
    const found = refuseModels(known, rules, { candidates: [], inputTokens: 1, ...call });
    return found === 'unknown' ? found : found?.rule;
  };
  const refused = (rules: ModelRules, model: string, serviceTier?: string, provider = 'openai') =>
    refusedBy(book, rules, {
      candidates: [{ provider, model }],
      ...(serviceTier === undefined ? {} : { serviceTier }),
    });

  it.each<[readonly string[] | undefined, string, boolean]>([
    [undefined, 'gpt-9', true],
    [[], 'gpt-4o', false],
    [['openai/gpt-4o'], 'gpt-4o', true],
    [['openai/gpt-4o'], 'gpt-4o-mini', false],
    [['openai/gpt-4'], 'gpt-4o', false],
    [['openai/gpt-4o'], 'omni', true],
    [['openai/omni'], 'gpt-4o', true],
    [['openai/omni'], 'omni', true],
    [['openai/gpt-9'], 'gpt-9', true],
    [['openrouter/openai/gpt-4o'], 'gpt-4o', false],
  ])('models %j: %s', (allowedModels, model, isAllowed) => {
    const rules = allowedModels === undefined ? {} : { allowedModels };
    expect(refused(rules, model)).toBe(isAllowed ? undefined : 'allowed_models');
  });

  it.each<[ModelRules, string, string | undefined]>([
    [{}, 'gpt-4o', undefined],
    [{ allowedModels: [] }, 'gpt-4o', 'allowed_models'],
    [{ allowedModels: ['openai/gpt-4o'] }, 'gpt-4o', undefined],
    [{ allowedModels: ['openai/omni'] }, 'gpt-4o', 'unknown'],
    [{ allowedModels: ['openai/gpt-9'] }, 'gpt-4o', 'unknown'],
    [{ maxTier: 'standard' }, 'gpt-4o', undefined],
    [{ maxTier: 'flex' }, 'gpt-4o', 'max_tier'],
    [{ allowedModels: ['openai/omni'], maxTier: 'flex' }, 'gpt-4o', 'max_tier'],
  ])('without a book %j: %s', (rules, model, said) => {
    const candidates = [{ provider: 'openai', model }];
    expect(refusedBy(undefined, rules, { candidates })).toBe(said);
    if (said !== 'unknown') expect(refusedBy(book, rules, { candidates })).toBe(said);
  });

  it('without a book knows nothing of a call of which one candidate alone is allowed', () => {
    const candidates = [
      { provider: 'openai', model: 'gpt-4o' },
      { provider: 'openai', model: 'omni' },
    ];
    const rules = { allowedModels: ['openai/gpt-4o'] };
    expect(refusedBy(undefined, rules, { candidates })).toBe('unknown');
    expect(refusedBy(book, rules, { candidates })).toBeUndefined();
  });

  describe('of a name that stands for a model of another provider', () => {
    const alias = { form: 'exact', origin: 'operator', addedBy: 'ops', addedMs: 1 } as const;
    const across = priceBook({
      rows: [priceRow(), priceRow({ provider: 'anthropic', model: 'claude' })],
      aliases: [
        { ...alias, provider: 'my-proxy', alias: 'chat', model: 'gpt-4o', targetProvider: 'openai' },
        { ...alias, provider: 'anthropic', alias: 'x', model: 'gpt-4o', targetProvider: 'openai' },
      ],
    });

    it.each<[provider: string, model: string, serviceTier: string, passing: readonly string[]]>([
      ['my-proxy', 'chat', 'flex', ['flex', 'standard', 'priority']],
      ['my-proxy', 'chat', 'default', ['standard', 'priority']],
      ['my-proxy', 'chat', 'priority', ['priority']],
      // Standard at Anthropic, twice the list at OpenAI.
      ['anthropic', 'x', 'priority', ['priority']],
      ['anthropic', 'claude', 'priority', ['standard', 'priority']],
      ['my-proxy', 'nothing', 'flex', []],
    ])('%s/%s asks for %s', (provider, model, serviceTier, passing) => {
      const call = { candidates: [{ provider, model }], serviceTier };
      const found = TIER_CLASSES.filter((maxTier) => refusedBy(across, { maxTier }, call) === undefined);
      expect(found).toEqual(passing);
      // Without a book nobody knows whose tier it is.
      expect(refusedBy(undefined, { maxTier: 'standard' }, call)).toBe('unknown');
    });
  });

  it('finds a model whose id has a slash', () => {
    const rules = { allowedModels: ['openrouter/openai/gpt-4o'] };
    expect(refused(rules, 'openai/gpt-4o', undefined, 'openrouter')).toBeUndefined();
  });

  it('orders the tiers, and lets no unknown one pass', () => {
    const passing = (serviceTier?: string) =>
      TIER_CLASSES.filter((maxTier) => refused({ maxTier }, 'gpt-4o', serviceTier) === undefined);
    expect(passing('flex')).toEqual(['flex', 'standard', 'priority']);
    expect(passing()).toEqual(['standard', 'priority']);
    expect(passing('priority')).toEqual(['priority']);
    expect(passing('PRIORITY ')).toEqual(['priority']);
    expect(passing('platinum')).toEqual([]);
    expect(refused({}, 'gpt-4o', 'platinum')).toBeUndefined();
  });

  it('checks entries', () => {
    expect(allowedModelProblem('openai/gpt-4o', 'x')).toBeUndefined();
    for (const entry of ['openai', '/gpt-4o', 'openai/', 'Open AI/gpt', 'openai/gpt 4o']) {
      expect(allowedModelProblem(entry, 'allowed_models[0]')).toMatchObject({ field: 'allowed_models[0]' });
    }
  });
});
