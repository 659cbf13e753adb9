import { describe, expect, it } from 'vitest';
import {
  type EstimateOptions,
  FRAMING_TOKENS,
  OUTPUT_TOKENS_DEFAULT,
  priceCall,
  TOOL_FRAMING_TOKENS,
} from '../../../src/pricing/estimate.ts';
import {
  CANDIDATES_MAX,
  CHOICES_MAX,
  MEDIA_MAX,
  type ModelCall,
  SERVER_TOOLS_MAX,
} from '../../../src/pricing/model-call.ts';
import type { PriceRow } from '../../../src/pricing/price-row.ts';
import { priceBook, priceRow, START_MS, unitRow } from '../../support/price-rows.ts';

const USD: EstimateOptions = { unit: 'USD', outputTokensDefault: OUTPUT_TOKENS_DEFAULT };
const candidates = [{ provider: 'openai', model: 'gpt-4o' }];
const vouched: ModelCall = { candidates, inputTokens: 1_000_000, outputTokensMax: 1_000_000 };

/** The estimate of a call to models with the given rows; a million tokens cost the micros of a rate. */
function estimate(
  rows: readonly Partial<PriceRow>[],
  call: Partial<ModelCall> = {},
  options: Partial<EstimateOptions> = {},
) {
  const book = priceBook({ rows: rows.map(priceRow), unitRows: [unitRow()] });
  return priceCall(book, { ...vouched, ...call }, START_MS, { ...USD, ...options });
}

const maxMicros = (...args: Parameters<typeof estimate>) => estimate(...args).price?.maxMicros;
const fields = (call: Partial<ModelCall>) => estimate([{}], call).problems?.map(({ field }) => field);

describe('an estimate', () => {
  it('is a million of input and of output at their rates', () => {
    expect(maxMicros([{}])).toBe(12_500_000n);
  });

  it('bounds the tokens of a request by its bytes and framing, more of it with tools', () => {
    const bytes = { inputTokens: undefined, requestBytes: 1_000, outputTokensMax: 0 } as unknown as Partial<ModelCall>;
    const tokens = (call: Partial<ModelCall>) => estimate([{}], { ...bytes, ...call }).price?.inputTokensMax;
    expect(tokens({})).toBe(1_000n + FRAMING_TOKENS);
    expect(tokens({ hasTools: true })).toBe(1_000n + FRAMING_TOKENS + TOOL_FRAMING_TOKENS);
    const searches = [{ kind: 'other', usesMax: 1, inputTokensMax: 50 }] as const;
    expect(tokens({ serverTools: searches })).toBe(1_050n + FRAMING_TOKENS + TOOL_FRAMING_TOKENS);
    expect(tokens({ media: [{ kind: 'image', inputTokensMax: 8_512 }] })).toBe(9_512n + FRAMING_TOKENS);
    expect(estimate([{}], { hasTools: true }).price?.inputTokensMax).toBe(1_000_000n);
  });

  const MOST = Number.MAX_SAFE_INTEGER;
  const free = { mark: 'free', rates: { input: 0n, output: 0n } } as const;

  it.each<[string, Partial<ModelCall>]>([
    [
      'media',
      { inputTokens: 0, media: Array.from({ length: 1_000 }, () => ({ kind: 'image', inputTokensMax: MOST })) },
    ],
    ['bytes and their framing', { inputTokens: undefined, requestBytes: MOST } as unknown as Partial<ModelCall>],
    ['audio', { inputTokens: 1, media: [{ kind: 'audio', inputTokensMax: MOST }] }],
    ['server tools', { inputTokens: MOST, serverTools: [{ kind: 'other', usesMax: 1, inputTokensMax: 1 }] }],
    ['choices', { outputTokensMax: MOST, choices: 2 }],
    ['searches', { serverTools: [MOST, 1].map((usesMax) => ({ kind: 'web_search', usesMax, inputTokensMax: 0 })) }],
  ])('is not given where sums of counts pass 2^53-1, free or not: %s', (_, call) => {
    for (const row of [{}, free]) {
      expect(estimate([row], call).problems).toEqual([{ field: 'call', text: expect.stringContaining(String(MOST)) }]);
    }
  });

  it('counts sums of 2^53-1', () => {
    const call = {
      inputTokens: MOST - 1,
      media: [{ kind: 'image', inputTokensMax: 1 }],
      outputTokensMax: MOST,
    } as const;
    expect(estimate([free], call).price).toMatchObject({ maxMicros: 0n, inputTokensMax: BigInt(MOST) });
  });

  it('pays for a default of output and says that it does', () => {
    const { outputTokensMax: _, ...open } = vouched;
    const book = priceBook({ rows: [priceRow()] });
    expect(priceCall(book, { ...open, choices: 2 }, START_MS, USD).price).toMatchObject({
      maxMicros: 2_500_000n + 81_920n,
      outputTokensMax: 4_096,
      outputIsDefault: true,
      choices: 2,
    });
    expect(estimate([{}]).price).toMatchObject({ outputTokensMax: 1_000_000, outputIsDefault: false, choices: 1 });
  });

  it('multiplies output by choices', () => {
    expect(maxMicros([{}], { choices: 128 })).toBe(2_500_000n + 128n * 10_000_000n);
  });

  it.each<[string, PriceRow['rates'], Partial<ModelCall>, bigint]>([
    ['a read rate above input', { input: 10_000n, cacheRead: 30_000n, output: 0n }, {}, 30_000n],
    ['a write rate', { input: 10_000n, cacheWrite5m: 12_500n, output: 0n }, {}, 12_500n],
    [
      'a write rate for five minutes',
      { input: 10_000n, cacheWrite5m: 12_500n, output: 0n },
      { cacheTtl: '5m' },
      12_500n,
    ],
    ['a write rate below input', { input: 10_000n, cacheWrite5m: 800n, output: 0n }, {}, 10_800n],
    ['an hour', { input: 10_000n, cacheWrite5m: 12_500n, output: 0n }, { cacheTtl: '1h' }, 20_000n],
    ['an hour with its rate', { input: 10_000n, cacheWrite1h: 25_000n, output: 0n }, { cacheTtl: '1h' }, 25_000n],
    ['an hour with a rate too low', { input: 10_000n, cacheWrite1h: 15_000n, output: 0n }, { cacheTtl: '1h' }, 20_000n],
    ['a life nobody knows', { input: 10_000n, cacheWrite5m: 12_500n, output: 0n }, { cacheTtl: 'unknown' }, 20_000n],
    ['a life where writes are not billed', { input: 10_000n, output: 0n }, { cacheTtl: '24h' }, 10_000n],
  ])('takes input at its dearest: %s', (_, rates, call, expected) => {
    expect(maxMicros([{ rates }], call)).toBe(expected);
  });

  it('takes input and output at the dearest of all candidates, each by itself', () => {
    const rows = [
      { rates: { input: 9_000n, output: 1_000n } },
      { provider: 'azure', rates: { input: 1_000n, output: 8_000n } },
    ];
    const both = { candidates: [...candidates, { provider: 'azure', model: 'gpt-4o' }] };
    expect(maxMicros(rows, both)).toBe(17_000n);
    expect(estimate(rows, both).price?.pins.rowHashes).toHaveLength(2);
  });

  it('takes the dearest tier that the input can reach, and no other', () => {
    const rows = [{}, { aboveInputTokens: 200_000, rates: { input: 5_000_000n, output: 15_000_000n } }];
    const at = (inputTokens: number) => maxMicros(rows, { inputTokens, outputTokensMax: 0 });
    expect(at(200_000)).toBe(500_000n);
    expect(at(200_001)).toBe(1_000_005n);
    // A tier may also be cheaper than the one below, which a smaller request than the bound would reach.
    const falling = [{}, { aboveInputTokens: 10, rates: { input: 1_000n, output: 1_000n } }];
    expect(maxMicros(falling)).toBe(12_500_000n);
  });

  it('takes the dearest time of day and pins every row', () => {
    const band = { startMs: 0, endMs: 3_600_000 };
    const rows = [{}, { band, rates: { input: 1_000n, output: 20_000_000n } }];
    expect(maxMicros(rows)).toBe(22_500_000n);
    expect(estimate(rows).price?.pins.rowHashes).toHaveLength(2);
  });

  it.each([
    [undefined, 12_500_000n],
    ['default', 12_500_000n],
    // What is asked for cheaper may be served at the listed price.
    ['flex', 12_500_000n],
    ['priority', 25_000_000n],
    ['auto', 25_000_000n],
    ['Priority', 25_000_000n],
  ])('with the service tier %s', (serviceTier, expected) => {
    expect(maxMicros([{}], serviceTier === undefined ? {} : { serviceTier })).toBe(expected);
  });

  it.each(['free', 'seat'] as const)('of a model that is %s is nothing, whatever is asked for', (mark) => {
    const rates = { input: 0n, output: 0n };
    for (const serviceTier of ['priority', 'platinum', 'fast']) {
      expect(maxMicros([{ mark, rates }], { serviceTier, inferenceGeo: 'moon' })).toBe(0n);
    }
    // Of several rows the one that costs something asks.
    const long = { aboveInputTokens: 500_000 };
    expect(estimate([{ mark, rates }, long], { serviceTier: 'platinum' }).unknown).toMatchObject({
      why: 'service_tier',
    });
    expect(maxMicros([{ mark, rates }, long], { serviceTier: 'platinum', inputTokens: 500_000 })).toBe(0n);
  });

  it('knows what fast mode and a place of inference cost at Anthropic', () => {
    const row = { provider: 'anthropic', model: 'claude-opus-4-6', rates: { input: 5_000_000n, output: 25_000_000n } };
    const call = { candidates: [row], outputTokensMax: 0 };
    const cost = (more: Partial<ModelCall>) => maxMicros([row], { ...call, ...more });
    expect(cost({ inputTokens: 200_000, serviceTier: 'fast' })).toBe(6_000_000n);
    expect(cost({ inputTokens: 400_000, serviceTier: 'fast' })).toBe(24_000_000n);
    expect(cost({ inferenceGeo: 'us' })).toBe(5_500_000n);
    expect(cost({ inputTokens: 100_000, inferenceGeo: 'us', serviceTier: 'fast' })).toBe(3_300_000n);
  });

  it.each<[model: string, inputTokens: number, expected: bigint | undefined]>([
    ['claude-opus-4-8', 200_000, 2_000_000n],
    ['claude-opus-4-8', 400_000, 4_000_000n],
    ['claude-opus-5', 200_000, 2_000_000n],
    ['claude-opus-5', 400_000, 4_000_000n],
    // Listed without a price that is known here, or not sold at all.
    ['claude-opus-5-5', 200_000, undefined],
    ['claude-sonnet-5', 200_000, undefined],
  ])('knows fast mode of %s for %i tokens', (model, inputTokens, expected) => {
    const row = { provider: 'anthropic', model, rates: { input: 5_000_000n, output: 25_000_000n } };
    const call = { candidates: [row], inputTokens, outputTokensMax: 0, serviceTier: 'fast' };
    const { price, unknown } = estimate([row], call);
    expect(price?.maxMicros).toBe(expected);
    if (expected === undefined) expect(unknown).toMatchObject({ model, why: 'service_tier' });
  });

  it('charges fees as often as they can fall due, untouched by the tier', () => {
    const rows = [{ fees: { request: 12_000n, webSearch: 10_000n, fileSearch: 2_500n } }];
    const serverTools = [
      { kind: 'web_search', usesMax: 3, inputTokensMax: 0 },
      { kind: 'file_search', usesMax: 2, inputTokensMax: 0 },
    ] as const;
    const call = { inputTokens: 0, outputTokensMax: 0, serverTools };
    expect(maxMicros(rows, call)).toBe(12_000n + 30_000n + 5_000n);
    expect(maxMicros(rows, { ...call, serviceTier: 'priority' })).toBe(47_000n);
  });

  it('takes audio at its own rates', () => {
    const rates = { input: 1_000n, output: 2_000n, audioInput: 40_000n, audioOutput: 80_000n };
    const call = { inputTokens: 0, media: [{ kind: 'audio', inputTokensMax: 1_000_000 }] } as const;
    expect(maxMicros([{ rates }], call)).toBe(42_000n);
    expect(maxMicros([{ rates }], { ...call, audioOutput: true })).toBe(120_000n);
  });

  it('is nothing for a model that is free or a seat', () => {
    const rates = { input: 0n, output: 0n };
    expect(maxMicros([{ rates, mark: 'free' }])).toBe(0n);
    expect(maxMicros([{ rates, mark: 'seat' }])).toBe(0n);
  });

  it('rounds once, up, in the unit of the tree', () => {
    const tiny = { inputTokens: 1, outputTokensMax: 1 };
    // 2.5 + 10 micros; 12.5 x 84.1234 is 1051.5425.
    expect(maxMicros([{}], tiny)).toBe(13n);
    expect(maxMicros([{}], tiny, { unit: 'INR' })).toBe(1_052n);
    expect(estimate([{}], tiny, { unit: 'INR' }).price?.pins.unitRowHash).toBe(unitRow().hash);
    expect(estimate([{}], tiny).price?.pins).not.toHaveProperty('unitRowHash');
  });

  it('pins what the call asked for', () => {
    const asked = { serviceTier: 'flex', cacheTtl: '1h' };
    expect(estimate([{}], asked).price?.pins).toEqual({ rowHashes: [priceRow().hash], ...asked });
  });
});

describe('a call without a price', () => {
  const audio = { media: [{ kind: 'audio', inputTokensMax: 1 }] } as const;
  it.each<[string, readonly Partial<PriceRow>[], Partial<ModelCall>]>([
    ['no_row', [], {}],
    ['no_row', [{ effectiveFromMs: START_MS + 1 }], {}],
    ['no_base_tier', [{ aboveInputTokens: 5 }], {}],
    ['no_output_rate', [{ rates: { input: 1_000n } }], {}],
    ['no_audio_rate', [{}], audio],
    ['no_audio_rate', [{}], { audioOutput: true }],
    ['no_search_fee', [{}], { serverTools: [{ kind: 'web_search', usesMax: 1, inputTokensMax: 0 }] }],
    ['no_search_fee', [{}], { serverTools: [{ kind: 'file_search', usesMax: 1, inputTokensMax: 0 }] }],
    ['service_tier', [{}], { serviceTier: 'platinum' }],
    ['service_tier', [{}], { serviceTier: '__proto__' }],
    ['service_tier', [{}], { inferenceGeo: 'us' }],
  ])('%s', (why, rows, call) => {
    expect(estimate(rows, call).unknown).toEqual({ provider: 'openai', model: 'gpt-4o', why, moreCount: 0 });
  });

  it('names the first candidate and how many more', () => {
    const names = ['a', 'gpt-4o', 'b', 'c'].map((model) => ({ provider: 'openai', model }));
    expect(estimate([{}], { candidates: names }).unknown).toEqual({ ...names[0], why: 'no_row', moreCount: 2 });
  });

  it('names a unit that nothing is known about', () => {
    expect(estimate([{}], {}, { unit: 'credits' }).unknown).toEqual({ unit: 'credits' });
  });

  it('has one where an embedding says that nothing comes out', () => {
    expect(maxMicros([{ rates: { input: 20_000n } }], { outputTokensMax: 0 })).toBe(20_000n);
  });
});

describe('a call that is refused', () => {
  const set = (field: keyof ModelCall, value: unknown) => ({ [field]: value }) as Partial<ModelCall>;
  it.each<[string, Partial<ModelCall>, readonly string[]]>([
    ['no candidates', { candidates: [] }, ['candidates']],
    [
      'too many',
      { candidates: Array.from({ length: CANDIDATES_MAX + 1 }, () => candidates[0] ?? never()) },
      ['candidates'],
    ],
    [
      'a bad name',
      { candidates: [{ provider: 'Open AI', model: '' }] },
      ['candidates[0].provider', 'candidates[0].model'],
    ],
    ['bytes and tokens', { requestBytes: 5 }, ['requestBytes']],
    ['neither', set('inputTokens', undefined), ['requestBytes']],
    ['a fraction of a token', { inputTokens: 0.5 }, ['inputTokens']],
    ['too many tokens', { inputTokens: 2 ** 53 }, ['inputTokens']],
    ['fewer than none', { outputTokensMax: -1 }, ['outputTokensMax']],
    ['minus zero', { outputTokensMax: -0 }, ['outputTokensMax']],
    ['no choice', { choices: 0 }, ['choices']],
    ['too much choice', { choices: CHOICES_MAX + 1 }, ['choices']],
    ['an image of no size', { media: [{ kind: 'image' }] }, ['media[0].inputTokensMax']],
    ['audio of half a token', { media: [{ kind: 'audio', inputTokensMax: 0.5 }] }, ['media[0].inputTokensMax']],
    ['an album', { media: Array.from({ length: MEDIA_MAX + 1 }, () => ({ kind: 'image' as const })) }, ['media']],
    [
      'searches without end',
      { serverTools: [{ kind: 'web_search' }] },
      ['serverTools[0].usesMax', 'serverTools[0].inputTokensMax'],
    ],
    [
      'half a search',
      { serverTools: [{ kind: 'other', usesMax: 0.5, inputTokensMax: 1 }] },
      ['serverTools[0].usesMax'],
    ],
    [
      'a whole toolbox',
      { serverTools: Array.from({ length: SERVER_TOOLS_MAX + 1 }, () => ({ kind: 'other' as const })) },
      ['serverTools'],
    ],
    [
      'words of no length',
      { cacheTtl: '', serviceTier: '', inferenceGeo: '' },
      ['cacheTtl', 'serviceTier', 'inferenceGeo'],
    ],
    [
      'more than an amount holds',
      { inputTokens: Number.MAX_SAFE_INTEGER, outputTokensMax: Number.MAX_SAFE_INTEGER, choices: 128 },
      ['call'],
    ],
  ])('%s', (_, call, expected) => {
    expect(fields(call)).toEqual(expected);
  });
});

function never(): never {
  throw new Error('no candidate');
}
