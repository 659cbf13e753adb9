import { describe, expect, it } from 'vitest';
import { type CatalogueOptions, importCatalogue } from '../../../src/pricing/catalogue.ts';
import type { PriceBookParts, Retirement } from '../../../src/pricing/price-book.ts';
import { type HashedPriceRow, hashPriceRow } from '../../../src/pricing/price-row.ts';
import { hashOf, priceBook, START_MS } from '../../support/price-rows.ts';

const NOTHING: PriceBookParts = { rows: [], aliases: [], unitRows: [], retirements: [] };
const HOUR_MS = 3_600_000;

interface Model {
  readonly id: string;
  readonly prices: unknown;
  readonly match?: unknown;
}

const provider = (id: string, models: readonly Model[], fallbacks?: readonly string[]) => ({
  id,
  models: models.map((model) => ({ match: { equals: model.id }, ...model })),
  ...(fallbacks === undefined ? {} : { fallback_model_providers: fallbacks }),
});

const importOf = (data: unknown, changes: Partial<CatalogueOptions> = {}) =>
  importCatalogue(data, { source: 'list 1', importedMs: START_MS, addedBy: 'ops', known: NOTHING, ...changes });

/** The rows and notes of one model of openai with such prices. */
function importModel(prices: unknown, changes: Partial<CatalogueOptions> = {}) {
  const { rows, notes } = importOf([provider('openai', [{ id: 'm', prices }])], changes);
  return { rows, notes: notes.map(({ reason, detail }) => `${reason} ${detail}`.trim()) };
}

describe('a record', () => {
  it('becomes a row, exactly, from the import on', () => {
    const prices = {
      input_mtok: 0.15,
      output_mtok: 0.6,
      cache_read_mtok: 0.0028,
      cache_write_mtok: 18.75,
      cache_write_1h_mtok: 30,
      input_audio_mtok: 40,
      cache_audio_read_mtok: 2.5,
      output_audio_mtok: 80,
      requests_kcount: 12,
      web_searches_kcount: 10,
      storage_searches_kcount: 2.5,
    };
    expect(importModel(prices)).toEqual({
      rows: [
        {
          provider: 'openai',
          model: 'm',
          effectiveFromMs: START_MS,
          aboveInputTokens: 0,
          rates: {
            input: 150_000n,
            output: 600_000n,
            cacheRead: 2_800n,
            cacheWrite5m: 18_750_000n,
            cacheWrite1h: 30_000_000n,
            audioInput: 40_000_000n,
            audioCacheRead: 2_500_000n,
            audioOutput: 80_000_000n,
          },
          fees: { request: 12_000n, webSearch: 10_000n, fileSearch: 2_500n },
          mark: 'priced',
          unit: 'USD',
          source: 'list 1',
          addedBy: 'ops',
          addedMs: START_MS,
          origin: 'catalogue',
          flags: [],
        },
      ],
      notes: [],
    });
  });

  it.each<[string, unknown, readonly string[]]>([
    ['that is empty', {}, ['empty_record']],
    ['without input', { output_mtok: 1 }, ['no_input_rate output_mtok']],
    ['with a key that no row has', { input_mtok: 1, output_image_mtok: 30 }, ['unsupported_keys output_image_mtok']],
    ['of zeros', { input_mtok: 0, output_mtok: 0 }, ['out_of_bounds mark']],
    ['of a price that is none', { input_mtok: '1' }, ['invalid_rate input_mtok']],
    ['of a negative price', { input_mtok: 1, output_mtok: -1 }, ['invalid_rate output_mtok']],
    ['of an endless price', { input_mtok: Number.POSITIVE_INFINITY }, ['invalid_rate input_mtok']],
    ['in another unit', { input_mtok: 0.000_000_15 }, ['out_of_bounds rates.input']],
    ['in micros', { input_mtok: 150_000 }, ['out_of_bounds rates.input']],
    ['of tiers without a list', { input_mtok: { base: 1 } }, ['invalid_rate input_mtok']],
    ['of tiers without a base', { input_mtok: { tiers: [] } }, ['invalid_rate input_mtok']],
    [
      'of a tier from half a token',
      { input_mtok: { base: 1, tiers: [{ start: 0.5, price: 2 }] } },
      ['invalid_rate input_mtok'],
    ],
    ['that is no record', 7, ['invalid_rate']],
    ['that is null', null, ['invalid_rate']],
  ])('%s gives no row and a note', (_, prices, notes) => {
    expect(importModel(prices)).toEqual({ rows: [], notes });
  });

  it('goes up where it has more digits than a row, and says so', () => {
    const [row] = importModel({ input_mtok: 0.3, cache_write_mtok: 0.08333333333333334 }).rows;
    expect(row).toMatchObject({ rates: { input: 300_000n, cacheWrite5m: 83_334n }, flags: ['rounded'] });
  });

  it('has a row for each tier, with what the tier does not change', () => {
    const prices = {
      input_mtok: {
        base: 1,
        tiers: [
          { start: 200_000, price: 3 },
          { start: 100_000, price: 2 },
        ],
      },
      output_mtok: { base: 5, tiers: [{ start: 100_000, price: 7 }] },
      cache_read_mtok: 0.5,
    };
    expect(importModel(prices).rows.map(({ aboveInputTokens, rates }) => [aboveInputTokens, rates])).toEqual([
      [0, { input: 1_000_000n, output: 5_000_000n, cacheRead: 500_000n }],
      [100_000, { input: 2_000_000n, output: 7_000_000n, cacheRead: 500_000n }],
      [200_000, { input: 3_000_000n, output: 7_000_000n, cacheRead: 500_000n }],
    ]);
  });
});

describe('dated records', () => {
  const at = (start_date: string, input: number) => ({
    constraint: { type: 'start_date', start_date },
    prices: { input_mtok: input },
  });
  const always = { prices: { input_mtok: 1 } };
  const band = (start_time: string, end_time: string, input = 9) => ({
    constraint: { type: 'time_of_date', start_time, end_time },
    prices: { input_mtok: input },
  });

  it.each<[string, readonly unknown[], number | undefined, readonly string[]]>([
    [
      'the newest that has begun counts',
      [always, at('2025-01-01', 2), at('2026-11-30', 3)],
      3,
      ['superseded', 'superseded 2025-01-01'],
    ],
    ['one begins at midnight UTC', [always, at('2026-12-01', 2)], 2, ['superseded']],
    ['one that begins later is left', [always, at('2026-12-02', 2)], 1, ['begins_in_future 2026-12-02']],
    ['none that has begun', [at('2027-01-01', 2)], undefined, ['no_base_record']],
    ['a date that is none', [always, at('2026-13-01', 2)], undefined, ['unknown_constraint', 'unknown_constraint']],
    [
      'a constraint that is not known',
      [always, { constraint: { moon: 'full' }, prices: {} }],
      undefined,
      ['unknown_constraint', 'unknown_constraint'],
    ],
    ['an entry that is none', [always, 5], undefined, ['unknown_constraint', 'unknown_constraint']],
    [
      'a band in another zone',
      [always, band('00:00:00+02:00', '01:00:00+02:00')],
      undefined,
      ['unknown_constraint', 'unknown_constraint'],
    ],
    ['a band before the price that counts', [band('00:00:00Z', '01:00:00Z'), always], 1, ['superseded']],
  ])('%s', (_, prices, input, notes) => {
    const result = importModel(prices);
    expect(result.rows.map(({ rates }) => rates.input)).toEqual(
      input === undefined ? [] : [BigInt(input) * 1_000_000n],
    );
    expect(result.notes).toEqual(notes);
  });

  it.each([
    ['1970-01-01', 0],
    ['2000-02-29', 951_782_400_000],
    ['2000-03-01', 951_868_800_000],
    ['2024-12-31', 1_735_603_200_000],
    ['2100-03-01', 4_107_542_400_000],
  ])('%s begins at %d', (date, beginsMs) => {
    const rows = (importedMs: number) => importModel([always, at(date, 2)], { importedMs }).rows;
    expect(Date.parse(date)).toBe(beginsMs);
    expect(rows(beginsMs)[0]?.rates.input).toBe(2_000_000n);
    if (beginsMs > 0) expect(rows(beginsMs - 1)[0]?.rates.input).toBe(1_000_000n);
  });

  it('become bands by the time of day', () => {
    const { rows } = importModel([always, band('22:30:00Z', '01:00:00Z'), band('06:00:00Z', '10:00:05Z', 8)]);
    expect(rows.map((row) => [row.band, row.rates.input])).toEqual([
      [undefined, 1_000_000n],
      [{ startMs: 22.5 * HOUR_MS, endMs: HOUR_MS }, 9_000_000n],
      [{ startMs: 6 * HOUR_MS, endMs: 10 * HOUR_MS + 5_000 }, 8_000_000n],
    ]);
  });

  it('leave a model out of which one record that counts can not be taken', () => {
    const { rows, notes } = importModel([always, { ...band('06:00:00Z', '10:00:00Z'), prices: {} }]);
    expect(rows).toEqual([]);
    expect(notes).toEqual(['incomplete_model', 'empty_record']);
  });
});

describe('names', () => {
  it('become aliases of models that have rows', () => {
    const data = [
      provider('openai', [
        {
          id: 'a',
          prices: { input_mtok: 1 },
          match: { or: [{ equals: 'a' }, { equals: 'a-latest' }, { starts_with: 'a-' }] },
        },
        { id: 'b', prices: {}, match: { or: [{ equals: 'b' }, { equals: 'b-latest' }] } },
      ]),
    ];
    const { aliases, notes } = importOf(data);
    expect(aliases).toEqual([
      {
        provider: 'openai',
        alias: 'a-latest',
        form: 'exact',
        model: 'a',
        origin: 'catalogue',
        addedBy: 'ops',
        addedMs: START_MS,
      },
    ]);
    expect(notes.map(({ model, reason, detail }) => `${model} ${reason} ${detail}`)).toEqual([
      'a loose_patterns 1',
      'b empty_record ',
    ]);
  });
});

describe('a provider that falls back to others', () => {
  const prices = { input_mtok: 1 };
  const data = [
    provider('openai', [
      { id: 'o3', prices, match: { or: [{ equals: 'o3' }, { equals: 'o3-latest' }, { equals: 'o4' }] } },
      { id: 'own', prices },
      { id: 'gpt-x', prices },
      { id: 'empty', prices: {} },
    ]),
    provider(
      'azure',
      [
        { id: 'own', prices: { input_mtok: 2 } },
        { id: 'gpt', prices, match: { starts_with: 'gpt' } },
        { id: 'o4', prices },
      ],
      ['openai', 'xai'],
    ),
    provider('xai', [
      { id: 'o3', prices: { input_mtok: 3 } },
      { id: 'grok', prices: { input_mtok: 3 } },
    ]),
  ];

  it('has their models as rows of its own, but for those that its own names or patterns take', () => {
    const { rows, aliases, notes } = importOf(data);
    const azure = rows.filter((row) => row.provider === 'azure');
    expect(azure.map(({ model, rates, flags, source }) => [model, rates.input, flags.join(), source])).toEqual([
      ['own', 2_000_000n, '', 'list 1'],
      ['gpt', 1_000_000n, '', 'list 1'],
      ['o4', 1_000_000n, '', 'list 1'],
      ['o3', 1_000_000n, 'inherited', 'list 1, listed for openai'],
      ['grok', 3_000_000n, 'inherited', 'list 1, listed for xai'],
    ]);
    expect(aliases.filter((alias) => alias.provider === 'azure').map(({ alias }) => alias)).toEqual(['o3-latest']);
    expect(notes.filter(({ reason }) => reason === 'claimed_by_pattern')).toEqual([
      { provider: 'azure', model: 'gpt-x', reason: 'claimed_by_pattern', detail: 'openai' },
    ]);
  });
});

describe('a second import', () => {
  const tiered = { input_mtok: { base: 1, tiers: [{ start: 200_000, price: 2 }] } };
  const listed = (prices: unknown) => [
    provider('openai', [{ id: 'm', prices, match: { or: [{ equals: 'm' }, { equals: 'n' }] } }]),
  ];
  const first = importOf(listed(tiered));
  const rows: readonly HashedPriceRow[] = first.rows.map((row) => hashPriceRow(row, hashOf));
  const known: PriceBookParts = { ...NOTHING, rows, aliases: first.aliases };
  const later = { importedMs: START_MS + 1_000, source: 'list 2', known };
  const [, upper] = rows;
  const retirement = (origin: Retirement['origin']): Retirement => ({
    rowHash: upper?.hash ?? '',
    fromMs: START_MS + 10,
    origin,
    retiredBy: 'ops',
    retiredMs: START_MS + 10,
  });

  it('of the same prices adds nothing', () => {
    expect(importOf(listed(tiered), later)).toEqual({
      rows: [],
      aliases: [],
      retirements: [],
      notes: [],
      recordCount: 1,
    });
  });

  it('says a name once more that went to another model and comes back', () => {
    const named = (owner: string) =>
      ['m', 'o'].map((id) => ({
        id,
        prices: { input_mtok: 1 },
        match: { or: [{ equals: id }, ...(id === owner ? [{ equals: 'n' }] : [])] },
      }));
    const nameIn = (owner: string, at: number, before: PriceBookParts['aliases']) =>
      importOf([provider('openai', named(owner))], {
        importedMs: START_MS + at,
        known: { ...NOTHING, aliases: before },
      }).aliases;
    const one = nameIn('m', 0, []);
    const two = [...one, ...nameIn('o', 1, one)];
    const three = [...two, ...nameIn('m', 2, two)];
    expect(three.map(({ model }) => model)).toEqual(['m', 'o', 'm']);
    expect(nameIn('m', 3, three)).toEqual([]);
  });

  it('adds what changed, and changes nothing of what was', () => {
    const changed = { input_mtok: { base: 1, tiers: [{ start: 200_000, price: 3 }] } };
    const { rows: added, retirements } = importOf(listed(changed), later);
    expect(added.map((row) => [row.aboveInputTokens, row.rates.input, row.effectiveFromMs])).toEqual([
      [200_000, 3_000_000n, START_MS + 1_000],
    ]);
    expect(retirements).toEqual([]);
    const book = priceBook({ rows: [...rows, ...added.map((row) => hashPriceRow(row, hashOf))] });
    const inputs = (atMs: number) => book.priceSet('openai', 'm', atMs)?.rows.map(({ rates }) => rates.input);
    expect(inputs(START_MS + 999)).toEqual([1_000_000n, 2_000_000n]);
    expect(inputs(START_MS + 1_000)).toEqual([1_000_000n, 3_000_000n]);
  });

  it('ends a tier that is no longer listed', () => {
    const { rows: added, retirements } = importOf(listed({ input_mtok: 1 }), later);
    expect(added).toEqual([]);
    expect(retirements).toEqual([
      {
        rowHash: upper?.hash,
        fromMs: START_MS + 1_000,
        origin: 'catalogue',
        retiredBy: 'ops',
        retiredMs: START_MS + 1_000,
      },
    ]);
    const book = priceBook({ rows, retirements });
    expect(book.priceSet('openai', 'm', START_MS + 1_000)?.rows).toHaveLength(1);
  });

  it('leaves a model alone that is no longer listed', () => {
    for (const data of [[provider('openai', [])], listed({})]) {
      expect(importOf(data, later)).toMatchObject({ rows: [], retirements: [] });
    }
  });

  it('brings back a tier that it ended, but none that an operator retired', () => {
    const again = (origin: Retirement['origin']) =>
      importOf(listed(tiered), { ...later, known: { ...known, retirements: [retirement(origin)] } });
    expect(again('catalogue').rows.map(({ aboveInputTokens }) => aboveInputTokens)).toEqual([200_000]);
    expect(again('operator').rows).toEqual([]);
    expect(again('operator').notes).toMatchObject([{ reason: 'retired', detail: upper?.hash }]);
    const dearer = { input_mtok: { base: 1, tiers: [{ start: 200_000, price: 3 }] } };
    const changed = importOf(listed(dearer), { ...later, known: { ...known, retirements: [retirement('operator')] } });
    expect(changed.rows).toHaveLength(1);
  });

  it('never looks at the rows of an operator', () => {
    const own = rows.map((row) => hashPriceRow({ ...row, origin: 'operator' }, hashOf));
    expect(importOf(listed(tiered), { ...later, known: { ...NOTHING, rows: own } }).rows).toHaveLength(2);
  });
});

it.each([
  [undefined],
  [null],
  [{}],
  [[null]],
  [[{ id: 5, models: [] }]],
  [[{ id: 'openai', models: {} }]],
  [[{ id: 'openai', models: [{ id: 'a b', prices: { input_mtok: 1 } }] }]],
  [[{ id: 'Open AI', models: [{ id: 'a', prices: { input_mtok: 1 } }] }]],
])('%j is no catalogue, and is said to be none', (data) => {
  const result = importOf(data);
  expect(result.rows).toEqual([]);
  expect(result.notes.map(({ reason }) => reason)).toEqual(['invalid_catalogue']);
});
