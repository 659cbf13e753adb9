// A record that does not say what this program wrote refuses the book. What comes back as it was is a property.
import { describe, expect, it } from 'vitest';
import { compareVersions } from '../../../src/lane/catalogue-import.ts';
import {
  CorruptPriceError,
  decodePrices,
  encodePrices,
  hashedRow,
  hashedUnitRow,
  NO_PRICE_RECORDS,
  priceHash,
} from '../../../src/lane/price-records.ts';

describe('a record is refused', () => {
  const stored = encodePrices({
    ...NO_PRICE_RECORDS,
    rows: [
      hashedRow({
        provider: 'openai',
        model: 'gpt-4o',
        effectiveFromMs: 1,
        aboveInputTokens: 0,
        rates: { input: 2_500_000n },
        fees: {},
        mark: 'priced',
        unit: 'USD',
        source: 's',
        addedBy: 'ops',
        addedMs: 1,
        origin: 'operator',
        flags: [],
      }),
    ],
    aliases: [
      {
        provider: 'openai',
        alias: 'a',
        form: 'exact',
        model: 'gpt-4o',
        origin: 'operator',
        addedBy: 'ops',
        addedMs: 1,
      },
    ],
    unitRows: [
      hashedUnitRow({
        unit: 'INR',
        effectiveFromMs: 1,
        unitMicros: 85n,
        usdMicros: 1n,
        source: 's',
        addedBy: 'ops',
        addedMs: 1,
      }),
    ],
    retirements: [{ rowHash: 'x', fromMs: 9, origin: 'operator', retiredBy: 'ops', retiredMs: 1 }],
    versions: [{ name: 'list', version: '1', importedMs: 1 }],
  });

  it.each([
    ['price-row-1', 'price-row-2'],
    ['"2500000"', '2500000'],
    ['"2500000"', '"99999999999"'],
    ['"priced"', '"free"'],
    ['"USD"', '"EUR"'],
    ['[]]', '["guessed"]]'],
    ['"operator","openai","gpt', '"neighbour","openai","gpt'],
    ['"operator","openai","a', '"neighbour","openai","a'],
    ['"operator","x', '"neighbour","x'],
    ['price-alias-1', 'price-alias-2'],
    ['"exact"', '"likeness"'],
    ['"85"', '"8.5"'],
    ['"x",9', '"x","9"'],
    ['price-import-1', 'price-import-2'],
    ['"list"', '7'],
    ['["price-import', '["price-import"'],
    [/^.*price-import.*$/, '{}'],
  ])('with %s as %s', (good, bad) => {
    expect(() => decodePrices(stored)).not.toThrow();
    const changed = stored.map((record) => {
      const body = record.body.replace(good, bad);
      return body === record.body ? record : { ...record, body, hash: priceHash(body) };
    });
    expect(changed).not.toEqual(stored);
    expect(() => decodePrices(changed)).toThrow(CorruptPriceError);
  });

  it('under the hash of another text', () => {
    const [first, ...rest] = stored;
    if (first === undefined) throw new TypeError('nothing stored');
    expect(() => decodePrices([{ ...first, hash: priceHash('other') }, ...rest])).toThrow(CorruptPriceError);
  });
});

it.each([
  ['0.1.9', '0.1.10', -1],
  ['0.2.0', '0.1.10', 1],
  ['1.0.0', '1.0.0', 0],
  ['1.0.0-rc.1', '1.0.0', -1],
  ['1.0', '1.0.1', -1],
  ['1.0.0-alpha', '1.0.0-beta', -1],
])('version %s against %s', (a, b, sign) => {
  expect(Math.sign(compareVersions(a, b))).toBe(sign);
  expect(Math.sign(compareVersions(b, a))).toBe(sign === 0 ? 0 : -sign);
});
