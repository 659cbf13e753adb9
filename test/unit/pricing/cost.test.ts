import { describe, expect, it } from 'vitest';
import { costAsReported, costByRow, hourWriteRate, SUM_PER_MICRO } from '../../../src/pricing/cost.ts';
import { priceCall } from '../../../src/pricing/estimate.ts';
import { ceilDiv, decimalOf, scaledTo } from '../../../src/pricing/exact.ts';
import { pinnedBook } from '../../../src/pricing/pinned-book.ts';
import type { PriceAlias } from '../../../src/pricing/price-book.ts';
import type { PricePins } from '../../../src/pricing/price-pins.ts';
import { FEE_NAMES, type PriceRow, RATE_NAMES } from '../../../src/pricing/price-row.ts';
import { priceUsage } from '../../../src/pricing/price-usage.ts';
import { MULTIPLIER_WHOLE, multiplierOf } from '../../../src/pricing/service-tier.ts';
import { inputTokensOf, outputTokensOf, type Usage } from '../../../src/pricing/usage/usage.ts';
import { priceBook, priceRow, START_MS, unitRow, usageOf } from '../../support/price-rows.ts';

const MILLION = 1_000_000n;
const every = {
  input: 1_000n,
  output: 2_000n,
  cacheRead: 300n,
  cacheWrite5m: 1_250n,
  cacheWrite1h: 2_100n,
  audioInput: 40_000n,
  audioCacheRead: 4_000n,
  audioOutput: 80_000n,
};
const cost = (row: Partial<PriceRow>, usage: Partial<Usage>, multiplier = MULTIPLIER_WHOLE) =>
  costByRow(priceRow(row), usageOf(usage), multiplier, undefined);

describe('a cost', () => {
  it.each<[keyof Usage, bigint]>([
    ['uncachedInput', every.input],
    ['cacheRead', every.cacheRead],
    ['cacheWrite5m', every.cacheWrite5m],
    ['cacheWrite1h', every.cacheWrite1h],
    ['output', every.output],
    ['audioInput', every.audioInput],
    ['audioCacheRead', every.audioCacheRead],
    ['audioOutput', every.audioOutput],
  ])('takes %s at its own rate', (bucket, rate) => {
    expect(cost({ rates: every }, { [bucket]: MILLION })).toEqual({ micros: rate });
  });

  it.each<[string, Partial<PriceRow>, Partial<Usage>, bigint | string]>([
    ['reads without a rate as input', {}, { cacheRead: MILLION }, 2_500_000n],
    [
      'audio reads without a rate as audio',
      { rates: { input: 0n, audioInput: 900n } },
      { audioCacheRead: MILLION },
      900n,
    ],
    ['writes without a rate', {}, { cacheWrite5m: 1n }, 'cacheWrite5m'],
    ['writes for an hour without any rate', {}, { cacheWrite1h: 1n }, 'cacheWrite1h'],
    ['writes for an hour', { rates: { input: 1_000n, cacheWrite5m: 1_250n } }, { cacheWrite1h: MILLION }, 2_000n],
    [
      'writes with a rate for an hour only',
      { rates: { input: 1_000n, cacheWrite1h: 2_000n } },
      { cacheWrite5m: 1n },
      'cacheWrite5m',
    ],
    [
      'writes below input, on top of it',
      { rates: { input: 1_000n, cacheWrite5m: 250n } },
      { cacheWrite5m: MILLION },
      1_250n,
    ],
    ['writes for nothing, as input', { rates: { input: 1_000n, cacheWrite5m: 0n } }, { cacheWrite5m: MILLION }, 1_000n],
    ['writes at input', { rates: { input: 1_000n, cacheWrite5m: 1_000n } }, { cacheWrite5m: MILLION }, 1_000n],
    [
      'writes for an hour below input',
      { rates: { input: 1_000n, cacheWrite1h: 250n } },
      { cacheWrite1h: MILLION },
      1_250n,
    ],
    [
      'writes for an hour, of a row of five minutes below input',
      { rates: { input: 1_000n, cacheWrite5m: 250n } },
      { cacheWrite1h: MILLION },
      2_000n,
    ],
    ['output of an embedding', { rates: { input: 1_000n } }, { output: 1n }, 'output'],
    ['audio without a rate', {}, { audioInput: 1n }, 'audioInput'],
    ['audio reads without a rate for audio', {}, { audioCacheRead: 1n }, 'audioCacheRead'],
    ['audio that comes back without a rate', {}, { audioOutput: 1n }, 'audioOutput'],
    ['searches without a fee', {}, { webSearches: 1n }, 'webSearches'],
    ['searches of files without a fee', { fees: { webSearch: 1n } }, { fileSearches: 1n }, 'fileSearches'],
    ['fees', { fees: { request: 5n, webSearch: 10n, fileSearch: 100n } }, { webSearches: 2n, fileSearches: 3n }, 325n],
    ['anything at a seat', { rates: { input: 0n }, mark: 'seat' }, { output: 1n, webSearches: 1n }, 0n],
  ])('%s', (_, row, usage, expected) => {
    const result = cost(row, usage);
    if (typeof expected === 'bigint') expect(result).toEqual({ micros: expected });
    else expect(result.problem).toMatchObject({ code: 'unknown_price', field: expected });
  });

  it('rounds the whole sum up, once, whatever multiplies it', () => {
    // A third of a micro in each of three buckets is one micro, not three.
    const thirds = { rates: { input: 333_333n, output: 333_333n, cacheRead: 333_334n } };
    const one = { uncachedInput: 1n, output: 1n, cacheRead: 1n };
    expect(cost(thirds, one)).toEqual({ micros: 1n });
    expect(cost(thirds, one, MULTIPLIER_WHOLE / 2n)).toEqual({ micros: 1n });
    expect(cost(thirds, one, 2n * MULTIPLIER_WHOLE)).toEqual({ micros: 2n });
    // A third of a micro-dollar is 28.04 micro-rupees; rounded before, it would be 84.1234.
    const third = costByRow(priceRow(thirds), usageOf({ uncachedInput: 1n }), MULTIPLIER_WHOLE, unitRow());
    expect(third).toEqual({ micros: 29n });
  });

  it('is refused past what an amount can hold', () => {
    const most = { rates: { input: 10_000_000_000n } };
    expect(cost(most, { uncachedInput: 922_337_203_685_477n })).toEqual({ micros: 9_223_372_036_854_770_000n });
    expect(cost(most, { uncachedInput: 922_337_203_685_478n }).problem?.code).toBe('invalid_count');
  });

  it('is as reported, exactly, rounded up', () => {
    expect(costAsReported({ scaled: 360_795n, places: 7 }, undefined)).toEqual({ micros: 36_080n });
    expect(costAsReported({ scaled: 1n, places: 300 }, undefined)).toEqual({ micros: 1n });
    expect(costAsReported({ scaled: 0n, places: 0 }, undefined)).toEqual({ micros: 0n });
    expect(costAsReported({ scaled: 1n, places: 6 }, unitRow())).toEqual({ micros: 85n });
  });

  it('knows all rates and fees, and each token once', () => {
    expect(Object.keys(every).sort()).toEqual([...RATE_NAMES].sort());
    expect(FEE_NAMES).toEqual(['request', 'webSearch', 'fileSearch']);
    const ones = Object.fromEntries(Object.keys(usageOf({})).map((bucket) => [bucket, 1n]));
    expect(inputTokensOf(usageOf(ones))).toBe(6n);
    expect(outputTokensOf(usageOf(ones))).toBe(2n);
    expect(SUM_PER_MICRO).toBe(MILLION * MULTIPLIER_WHOLE);
    expect(hourWriteRate(priceRow())).toBeUndefined();
  });
});

describe('usage of a reservation', () => {
  const rows = [
    priceRow(),
    priceRow({ aboveInputTokens: 200_000, rates: { input: 5_000_000n, output: 15_000_000n } }),
    priceRow({ model: 'gpt-4o-mini', rates: { input: 150_000n, output: 600_000n } }),
  ];
  const dearer = priceRow({ effectiveFromMs: START_MS + 5, rates: { input: 9_000_000n, output: 9_000_000n } });
  const book = priceBook({
    rows: [...rows, dearer],
    unitRows: [unitRow()],
    aliases: [
      {
        provider: 'openai',
        alias: 'gpt-4o-x',
        form: 'exact',
        model: 'gpt-4o',
        origin: 'catalogue',
        addedBy: 'ops',
        addedMs: 1,
      },
    ],
  });
  const pins: PricePins = { rowHashes: rows.map(({ hash }) => hash) };
  const price = (more: Partial<PricePins>, model: string | undefined, usage: Partial<Usage>, atMs = START_MS) =>
    priceUsage(
      book,
      { ...pins, ...more },
      model === undefined ? undefined : { provider: 'openai', model },
      usageOf(usage),
      atMs,
    );
  const input = { uncachedInput: MILLION };

  it('is priced by the pinned row of the model that served, whatever was added since', () => {
    for (const atMs of [START_MS, START_MS + 5]) {
      expect(price({}, 'gpt-4o', { uncachedInput: 100_000n }, atMs).cost).toEqual({
        micros: 250_000n,
        source: 'row',
        rowHash: rows[0]?.hash,
      });
      expect(price({}, 'gpt-4o', input, atMs).cost?.micros).toBe(5_000_000n);
      expect(price({}, 'gpt-4o-x', input, atMs).cost?.micros).toBe(5_000_000n);
      expect(price({}, 'gpt-4o-mini', input, atMs).cost?.micros).toBe(150_000n);
    }
  });

  it('counts input of every kind towards the tier', () => {
    expect(price({}, 'gpt-4o', { uncachedInput: 1n, cacheRead: 200_000n }).cost?.rowHash).toBe(rows[1]?.hash);
    expect(price({}, 'gpt-4o', { cacheRead: 200_000n, output: 10n }).cost?.rowHash).toBe(rows[0]?.hash);
  });

  it('needs no name where there was one model, and one where there were more', () => {
    const one = { rowHashes: [rows[0]?.hash ?? '', rows[1]?.hash ?? ''] };
    expect(price(one, undefined, input).cost?.micros).toBe(5_000_000n);
    expect(price({}, undefined, input).problem).toMatchObject({ code: 'usage_incomplete', field: 'served' });
  });

  it('is refused for a model that was no candidate, and for pins that the book lacks', () => {
    const refused = (more: Partial<PricePins>, model: string) => price(more, model, input).problem;
    expect(refused({}, 'o3')).toEqual({
      code: 'unknown_price',
      field: 'served',
      text: 'must be one of those that were reserved for (openai/gpt-4o, openai/gpt-4o-mini), or a name that stands for one in the price book',
    });
    expect(refused({ rowHashes: ['gone'] }, 'gpt-4o')).toMatchObject({ code: 'unknown_price', field: 'pins' });
    expect(refused({ rowHashes: [] }, 'gpt-4o')).toMatchObject({ code: 'unknown_price', field: 'pins' });
    expect(refused({ unitRowHash: 'gone' }, 'gpt-4o')).toMatchObject({ code: 'unknown_price', field: 'pins' });
    const upper = { rowHashes: [rows[1]?.hash ?? ''] };
    expect(refused(upper, 'gpt-4o')).toMatchObject({ code: 'unknown_price', field: 'served' });
  });

  it('is priced by what an alias stood for then, whatever it stands for now', () => {
    const named = { provider: 'openai', model: 'gpt-4o-x' };
    const call = { candidates: [named], inputTokens: 100_000, outputTokensMax: 0 };
    const { price: estimate } = priceCall(book, call, START_MS, { unit: 'USD', outputTokensDefault: 1 });
    expect(estimate?.pins.aliases).toEqual([{ ...named, target: { provider: 'openai', model: 'gpt-4o' } }]);
    const aliases: readonly PriceAlias[] = [
      ...book.aliases,
      {
        provider: 'openai',
        alias: 'gpt-4o-x',
        form: 'exact',
        model: 'gpt-4o-mini',
        origin: 'operator',
        addedBy: 'ops',
        addedMs: 2,
      },
    ];
    const later = priceBook({ rows: book.rows, aliases });
    expect(later.resolve('openai', 'gpt-4o-x')?.model).toBe('gpt-4o-mini');
    if (estimate === undefined) throw new Error('no price');
    const usage = usageOf({ uncachedInput: 100_000n });
    for (const served of [named, { provider: 'openai', model: 'gpt-4o' }, undefined]) {
      expect(priceUsage(later, estimate.pins, served, usage, START_MS).cost?.micros).toBe(250_000n);
    }
  });

  it('may name the model by what stands for it only since', () => {
    const served = { provider: 'openai', model: 'gpt-4o-2026-09-01' };
    const usage = usageOf({ uncachedInput: 100_000n });
    expect(priceUsage(book, pins, served, usage, START_MS).problem).toMatchObject({ field: 'served' });
    const dated = { provider: 'openai', alias: 'gpt-4o', form: 'dated', model: 'gpt-4o', origin: 'operator' } as const;
    const later = priceBook({ rows, aliases: [{ ...dated, addedBy: 'ops', addedMs: 1 }] });
    expect(priceUsage(later, pins, served, usage, START_MS).cost?.micros).toBe(250_000n);
  });

  it('names some of many that were reserved for', () => {
    const many = [1, 2, 3, 4, 5, 6].map((no) => priceRow({ model: `m${no}` }));
    const wide = { rowHashes: many.map(({ hash }) => hash) };
    const usage = usageOf({ uncachedInput: 1n });
    const { problem } = priceUsage(
      priceBook({ rows: many }),
      wide,
      { provider: 'openai', model: 'o3' },
      usage,
      START_MS,
    );
    expect(problem?.text).toContain('(openai/m1, openai/m2, openai/m3, openai/m4 and 2 more)');
  });

  it('and a further call are priced by what an alias stood for, once it stands for nothing', () => {
    const named = { provider: 'openai', model: 'our-chat' };
    const said = { provider: 'openai', alias: 'our-chat', form: 'exact', origin: 'operator', addedBy: 'ops' } as const;
    const alias = { ...said, model: 'gpt-4o', addedMs: 1 };
    const call = { candidates: [named], inputTokens: 100_000, outputTokensMax: 0 };
    const options = { unit: 'USD', outputTokensDefault: 1 };
    const { price } = priceCall(priceBook({ rows: book.rows, aliases: [alias] }), call, START_MS, options);
    if (price === undefined) throw new Error('no price');
    const withdrawn = priceBook({ rows: book.rows, aliases: [alias, { ...said, addedMs: 2 }] });
    expect(priceCall(withdrawn, call, START_MS, options).unknown).toMatchObject({ why: 'no_row' });
    expect(priceCall(pinnedBook(withdrawn, price.pins), call, START_MS, options).price).toEqual(price);
    const usage = usageOf({ uncachedInput: 100_000n });
    expect(priceUsage(withdrawn, price.pins, named, usage, START_MS).cost?.micros).toBe(price.maxMicros);
  });

  it('is priced in the unit that was pinned', () => {
    const inr = { unitRowHash: unitRow().hash };
    expect(price(inr, 'gpt-4o-mini', input).cost?.micros).toBe(12_618_510n);
  });

  it.each<[string | undefined, string | undefined, bigint | undefined]>([
    [undefined, undefined, 150_000n],
    ['flex', undefined, 150_000n],
    ['flex', 'flex', 75_000n],
    ['priority', undefined, 300_000n],
    ['priority', 'default', 150_000n],
    [undefined, 'priority', 300_000n],
    [undefined, 'platinum', undefined],
  ])('asked for tier %s and served by %s', (asked, served, expected) => {
    const usage = served === undefined ? input : { ...input, serviceTiers: [served] };
    const result = price(asked === undefined ? {} : { serviceTier: asked }, 'gpt-4o-mini', usage);
    expect(result.cost?.micros).toBe(expected);
    if (expected === undefined) expect(result.problem).toMatchObject({ code: 'unknown_price', field: 'service_tier' });
  });

  it('is as the provider reports it, where it does', () => {
    const reportedCost = { scaled: 29n, places: 5 };
    expect(price({}, 'gpt-4o', { ...input, reportedCost }).cost).toMatchObject({ micros: 290n, source: 'reported' });
  });

  it('knows places of inference at Anthropic only', () => {
    const at = (provider: string, geo: string) => multiplierOf({ provider, model: 'm' }, undefined, geo, 0n);
    expect(at('anthropic', 'us')).toBe(11_000n);
    expect(at('anthropic', ' US')).toBe(11_000n);
    expect(at('aws', 'us')).toBeUndefined();
    expect(at('aws', 'not_available')).toBe(MULTIPLIER_WHOLE);
    expect(at('anthropic', 'moon')).toBeUndefined();
  });
});

describe('exact decimals', () => {
  it.each<[unknown, bigint | undefined, number]>([
    [0, 0n, 0],
    [3, 3n, 0],
    [0.15, 15n, 2],
    [1e-7, 1n, 7],
    [1.5e-10, 15n, 11],
    [5e21, 5_000_000_000_000_000_000_000n, 0],
    [1.25e21, 1_250_000_000_000_000_000_000n, 0],
    [0.08333333333333334, 8_333_333_333_333_334n, 17],
    [5e-324, 5n, 324],
    [-0, undefined, 0],
    [-1, undefined, 0],
    [Number.NaN, undefined, 0],
    [Number.POSITIVE_INFINITY, undefined, 0],
    ['0.15', undefined, 0],
    [null, undefined, 0],
    [10n, undefined, 0],
  ])('%s', (value, scaled, places) => {
    expect(decimalOf(value)).toEqual(scaled === undefined ? undefined : { scaled, places });
  });

  it('are scaled exactly, or up', () => {
    expect(scaledTo({ scaled: 15n, places: 2 }, 6)).toEqual({ value: 150_000n, rounded: false });
    expect(scaledTo({ scaled: 15n, places: 2 }, 1)).toEqual({ value: 2n, rounded: true });
    expect(scaledTo({ scaled: 8_333_333_333_333_334n, places: 17 }, 6)).toEqual({ value: 83_334n, rounded: true });
    expect([0n, 1n, 2n, 3n, 4n].map((n) => ceilDiv(n, 3n))).toEqual([0n, 1n, 1n, 1n, 2n]);
  });
});
