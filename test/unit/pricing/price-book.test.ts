import { describe, expect, it } from 'vitest';
import { type PriceAlias, priceAliasProblems } from '../../../src/pricing/price-book.ts';
import { rowFor } from '../../../src/pricing/price-set.ts';
import { priceBook, priceRow, START_MS, unitRow } from '../../support/price-rows.ts';

const HOUR_MS = 3_600_000;
const input = (micros: bigint) => ({ input: micros, output: micros });
const alias = (changes: Partial<PriceAlias>): PriceAlias => ({
  provider: 'openai',
  alias: 'omni',
  form: 'exact',
  model: 'gpt-4o',
  origin: 'catalogue',
  addedBy: 'ops',
  addedMs: START_MS,
  ...changes,
});

/** The operator takes back what it said of a name. */
const withdrawal = (changes: Partial<PriceAlias>): PriceAlias => {
  const { model: _, ...named } = alias({ origin: 'operator', addedMs: START_MS + 5, ...changes });
  return named;
};

describe('a price book', () => {
  it('finds rows by exact names only', () => {
    const book = priceBook({ rows: [priceRow()], aliases: [alias({})] });
    const found = (provider: string, model: string) => book.priceSet(provider, model, START_MS)?.model;
    expect(found('openai', 'gpt-4o')).toBe('gpt-4o');
    expect(found('openai', 'omni')).toBe('gpt-4o');
    for (const model of [
      'gpt-4',
      'gpt-4o-mini',
      'gpt-4o-2026-09-01',
      'GPT-4o',
      'omni-2',
      '',
      '__proto__',
      'constructor',
    ]) {
      expect(found('openai', model)).toBeUndefined();
    }
    for (const provider of ['azure', 'OpenAI', '', '__proto__']) expect(found(provider, 'gpt-4o')).toBeUndefined();
  });

  it('takes a new row from its first millisecond on, and leaves the old one as it was', () => {
    const old = priceRow();
    const next = priceRow({ effectiveFromMs: START_MS + 10, rates: input(1_000n) });
    const book = priceBook({ rows: [next, old] });
    const at = (atMs: number) => book.priceSet('openai', 'gpt-4o', atMs)?.hashes;
    expect(at(START_MS - 1)).toBeUndefined();
    expect(at(START_MS)).toEqual([old.hash]);
    expect(at(START_MS + 9)).toEqual([old.hash]);
    expect(at(START_MS + 10)).toEqual([next.hash]);
    expect(book.row(old.hash)).toBe(old);
  });

  it('lets an operator win over the whole list of the catalogue, however old the row is', () => {
    const own = priceRow({ origin: 'operator', rates: input(1_000n) });
    const listed = [
      priceRow({ effectiveFromMs: START_MS + 10 }),
      priceRow({ effectiveFromMs: START_MS + 10, aboveInputTokens: 200_000 }),
    ];
    const book = priceBook({ rows: [...listed, own] });
    expect(book.priceSet('openai', 'gpt-4o', START_MS + 20)?.hashes).toEqual([own.hash]);
  });

  it('gives a retired row back to the catalogue, and never what the row replaced', () => {
    const first = priceRow({ origin: 'operator', rates: input(1_000n) });
    const second = priceRow({ origin: 'operator', effectiveFromMs: START_MS + 10, rates: input(2_000n) });
    const listed = priceRow();
    const retired = { rowHash: second.hash, origin: 'operator', retiredBy: 'ops', retiredMs: START_MS } as const;
    const book = priceBook({
      rows: [first, second, listed],
      retirements: [
        { ...retired, fromMs: START_MS + 30 },
        { ...retired, fromMs: START_MS + 20 },
      ],
    });
    const at = (atMs: number) => book.priceSet('openai', 'gpt-4o', atMs)?.hashes;
    expect(at(START_MS + 9)).toEqual([first.hash]);
    expect(at(START_MS + 19)).toEqual([second.hash]);
    expect(at(START_MS + 20)).toEqual([listed.hash]);
  });

  it('lets a row end by itself, with no price after it', () => {
    const book = priceBook({ rows: [priceRow({ effectiveUntilMs: START_MS + 5 })] });
    expect(book.priceSet('openai', 'gpt-4o', START_MS + 4)).toBeDefined();
    expect(book.priceSet('openai', 'gpt-4o', START_MS + 5)).toBeUndefined();
    expect(book.resolve('openai', 'gpt-4o')).toEqual({ provider: 'openai', model: 'gpt-4o' });
  });

  it('takes of rows that begin together the one added last, whatever the order', () => {
    const first = priceRow();
    const second = priceRow({ rates: input(1_000n), addedMs: START_MS + 1 });
    for (const rows of [
      [first, second],
      [second, first],
    ]) {
      expect(priceBook({ rows }).priceSet('openai', 'gpt-4o', START_MS)?.hashes).toEqual([second.hash]);
    }
  });

  it('counts a row that is given twice once', () => {
    expect(priceBook({ rows: [priceRow(), priceRow({ addedBy: 'maya' })] }).rows).toHaveLength(1);
  });
});

describe('an alias', () => {
  const other = priceRow({ model: 'gpt-4o-mini' });
  const rows = [priceRow(), other, priceRow({ provider: 'azure' })];

  it.each<[string, readonly PriceAlias[], string, string | undefined]>([
    ['leads to the model', [alias({})], 'omni', 'openai/gpt-4o'],
    ['may lead to another provider', [alias({ targetProvider: 'azure' })], 'omni', 'azure/gpt-4o'],
    ['never hides a model of that name', [alias({ alias: 'gpt-4o-mini' })], 'gpt-4o-mini', 'openai/gpt-4o-mini'],
    ['never leads to another alias', [alias({}), alias({ alias: 'o', model: 'omni' })], 'o', undefined],
    ['to nothing leads nowhere', [alias({ model: 'gpt-5' })], 'omni', undefined],
    [
      'of the operator wins',
      [alias({ model: 'gpt-4o-mini', origin: 'operator' }), alias({ addedMs: START_MS + 1 })],
      'omni',
      'openai/gpt-4o-mini',
    ],
    [
      'that is newer wins',
      [alias({ model: 'gpt-4o-mini', addedMs: START_MS + 1 }), alias({})],
      'omni',
      'openai/gpt-4o-mini',
    ],
    ['that is withdrawn leads nowhere', [alias({ origin: 'operator' }), withdrawal({})], 'omni', undefined],
    [
      'that is withdrawn leads where the catalogue says',
      [alias({ model: 'gpt-4o-mini', origin: 'operator' }), alias({}), withdrawal({})],
      'omni',
      'openai/gpt-4o',
    ],
    [
      'that is withdrawn and said again leads to the model',
      [alias({ origin: 'operator' }), withdrawal({}), alias({ origin: 'operator', addedMs: START_MS + 6 })],
      'omni',
      'openai/gpt-4o',
    ],
    [
      'that is withdrawn leaves those of another form',
      [
        alias({ alias: 'gpt-4o-2026-09-01', model: 'gpt-4o-mini', origin: 'operator' }),
        alias({ form: 'dated', alias: 'gpt-4o' }),
        withdrawal({ alias: 'gpt-4o-2026-09-01' }),
        withdrawal({ form: 'dated_compact', alias: 'gpt-4o' }),
      ],
      'gpt-4o-2026-09-01',
      'openai/gpt-4o',
    ],
    [
      'with a date that is withdrawn leads nowhere',
      [alias({ form: 'dated', alias: 'gpt-4o', origin: 'operator' }), withdrawal({ form: 'dated', alias: 'gpt-4o' })],
      'gpt-4o-2026-09-01',
      undefined,
    ],
    ['with a date', [alias({ form: 'dated', alias: 'gpt-4o' })], 'gpt-4o-2026-09-01', 'openai/gpt-4o'],
    ['with no such date', [alias({ form: 'dated', alias: 'gpt-4o' })], 'gpt-4o-2026-13-01', undefined],
    ['with more than a date', [alias({ form: 'dated', alias: 'gpt-4o' })], 'gpt-4o-2026-09-01-hyper', undefined],
    ['with a date of the other form', [alias({ form: 'dated', alias: 'gpt-4o' })], 'gpt-4o-20260901', undefined],
    ['with a compact date', [alias({ form: 'dated_compact', alias: 'gpt-4o' })], 'gpt-4o-20260901', 'openai/gpt-4o'],
    ['with a date alone', [alias({ form: 'dated', alias: 'gpt-4o' })], '-2026-09-01', undefined],
  ])('%s', (_, aliases, model, expected) => {
    const found = priceBook({ rows, aliases }).resolve('openai', model);
    expect(found === undefined ? undefined : `${found.provider}/${found.model}`).toBe(expected);
    const reversed = priceBook({ rows, aliases: [...aliases].reverse() }).resolve('openai', model);
    expect(reversed).toEqual(found);
  });
});

describe('an alias that is added', () => {
  it.each<[Partial<PriceAlias>, readonly string[]]>([
    [{}, []],
    [{ targetProvider: 'azure' }, []],
    [{ provider: 'Open AI', targetProvider: 'A/B' }, ['provider', 'targetProvider']],
    [{ alias: '', model: 'gpt 4o' }, ['alias', 'model']],
    [{ addedBy: '', addedMs: 0.5 }, ['addedBy', 'addedMs']],
  ])('%j', (changes, fields) => {
    expect(priceAliasProblems(alias(changes)).map(({ field }) => field)).toEqual(fields);
  });

  it.each<[Partial<PriceAlias>, readonly string[]]>([
    [{}, []],
    [{ origin: 'catalogue' }, ['model']],
    [{ targetProvider: 'azure' }, ['targetProvider']],
  ])('without a model, %j', (changes, fields) => {
    expect(priceAliasProblems(withdrawal(changes)).map(({ field }) => field)).toEqual(fields);
  });
});

describe('a unit row', () => {
  it('counts from its instant on, until a newer one', () => {
    const first = unitRow();
    const second = unitRow({ effectiveFromMs: START_MS + 10, unitMicros: 85_000_000n });
    const book = priceBook({ unitRows: [first, second] });
    expect(book.unitRow('INR', START_MS - 1)).toBeUndefined();
    expect(book.unitRow('INR', START_MS + 9)).toBe(first);
    expect(book.unitRow('INR', START_MS + 10)).toBe(second);
    expect(book.unitRow('credits', START_MS)).toBeUndefined();
    expect(book.unitRowByHash(first.hash)).toBe(first);
  });
});

describe('a set of rows', () => {
  const night = { startMs: 22 * HOUR_MS, endMs: 2 * HOUR_MS };
  const morning = { startMs: 6 * HOUR_MS, endMs: 10 * HOUR_MS };
  const setOf = (...changes: Parameters<typeof priceRow>[0][]) => {
    const set = priceBook({ rows: changes.map(priceRow) }).priceSet('openai', 'gpt-4o', START_MS);
    if (set === undefined) throw new Error('no set');
    return set;
  };

  it('prices by the highest tier that the input is above, and by the band it falls into', () => {
    const set = setOf(
      {},
      { aboveInputTokens: 200_000, rates: input(5_000n) },
      { band: night, rates: input(1_000n) },
      { band: morning, rates: input(2_000n) },
    );
    const at = (tokens: bigint, hour: number) => rowFor(set, tokens, START_MS + hour * HOUR_MS)?.rates.input;
    expect(at(0n, 12)).toBe(2_500_000n);
    expect(at(200_000n, 12)).toBe(2_500_000n);
    expect(at(200_001n, 12)).toBe(5_000n);
    expect([0, 1, 2, 5, 6, 9, 10, 21, 22, 23].map((hour) => at(1n, hour))).toEqual([
      1_000n,
      1_000n,
      2_500_000n,
      2_500_000n,
      2_000n,
      2_000n,
      2_500_000n,
      2_500_000n,
      1_000n,
      1_000n,
    ]);
    // The higher tier has no bands: it costs the same all day.
    expect(at(300_000n, 23)).toBe(5_000n);
  });

  it.each([
    ['no_base_tier', [{ aboveInputTokens: 200_000 }]],
    ['no_row_outside_bands', [{ band: night }]],
    ['no_row_outside_bands', [{}, { aboveInputTokens: 200_000, band: night }]],
    ['bands_overlap', [{}, { band: night }, { band: { startMs: HOUR_MS, endMs: 3 * HOUR_MS } }]],
    ['bands_overlap', [{}, { band: morning }, { band: { startMs: 7 * HOUR_MS, endMs: 8 * HOUR_MS } }]],
    [undefined, [{}, { band: morning }, { band: { startMs: 10 * HOUR_MS, endMs: 11 * HOUR_MS } }]],
  ])('has the flaw %s', (flaw, changes) => {
    const set = setOf(...changes);
    expect(set.flaw).toBe(flaw);
    if (flaw !== undefined) expect(rowFor(set, 300_000n, START_MS)).toBeUndefined();
  });
});
