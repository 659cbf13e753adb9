// The codec gives back the very entries it was given, whatever is in them, and refuses what it did not write.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Enqueued, Granted, Released } from '../../../src/kernel/entry.ts';
import { InvariantError } from '../../../src/kernel/invariant.ts';
import { decodeEntries, encodeEntries, rowHash } from '../../../src/store/entry-codec.ts';
import { amountOf, amountText, levelOf, levelText, quote } from '../../../src/store/json-text.ts';
import { labelsOf, labelsText } from '../../../src/store/labels-codec.ts';
import { CorruptJournalError } from '../../../src/store/port.ts';
import { arbitraryEntry, under } from '../../support/arbitrary-entries.ts';

const erased = () => undefined;

const anyBigint = fc.oneof(
  fc.constantFrom(2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, -(2n ** 63n), -(2n ** 63n) - 1n, 10n ** 19n - 1n, 10n ** 19n),
  fc.bigInt(-(2n ** 110n), 2n ** 110n),
  fc.bigInt(-(2n ** 64n), 2n ** 64n),
);
const anyNumber = fc.oneof(
  fc.constantFrom(2, -1, 2 ** 53 - 1, 2 ** 53, 8.64e19, 1e21, -1e21, 0.5, Number.NaN, Number.POSITIVE_INFINITY),
  fc.maxSafeInteger().map((value) => value + 0),
  fc.double({ noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
);

// What is in a call only pricing knows: it is carried, and not read.
const isCarried = (name: string): boolean => name === 'call';

/** The numbers of an entry, whole or bigint, in a fixed order. */
function numbersIn(value: unknown): (number | bigint)[] {
  if (typeof value === 'number' || typeof value === 'bigint') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => (isCarried(name) ? [] : numbersIn(each)));
}

/** The same entry with another number in the place of the one at `at`. Nothing of it is shared: texts are kept by identity. */
function withNumber<T>(entry: T, at: number, by: { readonly bigint: bigint; readonly number: number }): T {
  let left = at;
  const copy = (value: unknown): unknown => {
    if (typeof value === 'number' || typeof value === 'bigint') {
      left -= 1;
      return left === -1 ? (typeof value === 'bigint' ? by.bigint : by.number) : value;
    }
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(copy);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, isCarried(name) ? each : copy(each)]));
  };
  return copy(entry) as T;
}

describe('entries', () => {
  it('come back as they were, personal fields from the side table', () => {
    fc.assert(
      fc.property(fc.array(arbitraryEntry, { maxLength: 4 }), (drawn) => {
        const entries = drawn.map((entry, i) => under(entry, { seq: i + 1 }));
        const personalOf = (seq: number) => {
          const personal = entries[seq - 1]?.personal;
          return personal?.salt === undefined ? undefined : { ...personal, salt: personal.salt };
        };
        const text = encodeEntries(entries);
        expect(decodeEntries(text, personalOf)).toStrictEqual(entries);
        // One line, so that rows can be sent joined by newlines; and the same bytes every time.
        expect(text).not.toContain('\n');
        expect(encodeEntries(decodeEntries(text, personalOf))).toBe(text);
      }),
    );
  });

  it('hold no personal field in their bytes, only the commitment', () => {
    fc.assert(
      fc.property(arbitraryEntry, (drawn) => {
        const personal = {
          commitment: 'the-commitment',
          salt: 'the-salt-itself',
          actingFor: 'somebody@example.org',
          labels: [['label-key', 'label-value']] as const,
        };
        const text = encodeEntries([under(drawn, { personal })]);
        expect(text).toContain('the-commitment');
        for (const secret of ['the-salt-itself', 'somebody@', 'label-key', 'label-value']) {
          expect(text).not.toContain(secret);
        }
        expect(decodeEntries(text, erased)[0]?.personal).toStrictEqual({
          commitment: 'the-commitment',
          salt: undefined,
          actingFor: '',
          labels: [],
        });
      }),
    );
  });

  const good = '{"v":1,"seq":1,"at":5,"type":"Renewed","by":"a","moves":[]}';

  it('are read in the format that is written down', () => {
    expect(decodeEntries(`[${good}]`, erased)).toStrictEqual([
      { type: 'Renewed', seq: 1, atMs: 5, actor: 'a', key: undefined, personal: undefined, moves: [], refused: [] },
    ]);
  });

  it('of a usual grant are as short as before there were windows, rates, further budgets, priorities and modes', () => {
    const figures = '["ACTIVE",5,5,5,0,0,0,0,0,65000,70000,60000]';
    const text =
      '[{"v":1,"seq":1,"at":5,"type":"Granted","by":"a","id":"r000000001","budgetNo":1,"budget":"t","unit":"USD",' +
      `"accounts":[1,0,0],"fig":${figures},"min":5,"rev":[1,1],"room":[null,"",""],"fx":[[5,0,0,1]]}]`;
    const entries = decodeEntries(text, erased);
    expect(entries[0]).toMatchObject({ rateMoves: [], reservation: { also: [], priority: 'normal' } });
    expect(encodeEntries(entries)).toBe(text);
  });

  it('on the same accounts share one list of them, also where lists take turns', () => {
    const [ordinary, rolling] = ['[1,0,0,1,1,0]', '[1,2,0]'];
    const text = [1, 2, 3].map(
      (seq) =>
        `{"v":1,"seq":${seq},"at":5,"type":"Released","by":"a","id":"r000000001",` +
        `"fig":["ACTIVE",5,5,5,0,0,0,0,0,65000,70000,60000],"room":[null,"",""],` +
        `"fx":[[-5,0,0,-1,${ordinary}],[-5,0,0,0,${rolling}]]}`,
    );
    const effects = decodeEntries(`[${text.join(',')}]`, erased).map((entry) => (entry as Released).effects);
    const [first] = effects;
    for (const each of effects) {
      expect(each[0]?.accounts).toBe(first?.[0]?.accounts);
      expect(each[1]?.accounts).toBe(first?.[1]?.accounts);
    }
    expect(first?.[0]?.accounts).toHaveLength(2);
  });

  it('of a grant out of the ordinary say so', () => {
    const special = fc
      .sample(arbitraryEntry, { numRuns: 200, seed: 1 })
      .find(({ type }) => type === 'Granted') as Granted;
    const shadow = { mode: 'warn', reason: 'CAPACITY_HELD', budget: 'acme' } as const;
    const reservation = { ...special.reservation, priority: 'critical' as const, alternative: 'small', shadow };
    const text = encodeEntries([{ ...special, reservation }]);
    expect(text).toContain('"priority":"critical","alternative":"small","shadow":["warn","CAPACITY_HELD","acme"]');
    for (const [good, bad] of [
      ['"critical"', '"vital"'],
      ['["warn"', '["mild"'],
      ['"alternative":"small"', '"alternative":1'],
    ] as const) {
      expect(() => decodeEntries(text.replace(good, bad), erased)).toThrow(CorruptJournalError);
    }
  });

  it('of a wait refuse to be written under another entry than their own', () => {
    const drawn = fc
      .sample(arbitraryEntry, { numRuns: 200, seed: 1 })
      .find(({ type }) => type === 'Enqueued') as Enqueued;
    expect(() => encodeEntries([{ ...drawn, seq: drawn.seq + 1 }])).toThrow(InvariantError);
    expect(() => encodeEntries([{ ...drawn, actor: `${drawn.actor}!` }])).toThrow(InvariantError);
  });

  it.each([
    ['no JSON', '[{'],
    ['no array', '{}'],
    ['no object', '[1]'],
    ['a later version', `[${good.replace('"v":1', '"v":2')}]`],
    ['no version', `[${good.replace('"v":1,', '')}]`],
    ['an unknown type', `[${good.replace('Renewed', 'Teleported')}]`],
    ['a missing field', `[${good.replace(',"moves":[]', '')}]`],
    ['a refused renewal that is too short', `[${good.replace('[]', '[],"refused":[["id","LEASE_EXPIRED"]]')}]`],
    ['a sequence that is no integer', `[${good.replace('"seq":1', '"seq":1.5')}]`],
    ['figures that are too short', `[${good.replace('[]', '[["id",["ACTIVE"],[null,"",""]]]')}]`],
  ])('are refused where there is %s', (_, text) => {
    expect(() => decodeEntries(text, erased)).toThrow(CorruptJournalError);
  });
});

describe('what is written', () => {
  it('can be read, whatever number is put in the place of another: else it is not written', () => {
    let written = 0;
    let refused = 0;
    fc.assert(
      fc.property(arbitraryEntry, fc.nat(), anyBigint, anyNumber, (drawn, pick, bigint, number) => {
        const count = numbersIn(drawn).length;
        const entry = withNumber(drawn, pick % Math.max(1, count), { bigint, number });
        const personal =
          drawn.personal?.salt === undefined ? undefined : { ...drawn.personal, salt: drawn.personal.salt };
        let text: string;
        try {
          text = encodeEntries([entry]);
        } catch (error) {
          expect(error).toBeInstanceOf(InvariantError);
          refused += 1;
          return;
        }
        written += 1;
        expect(decodeEntries(text, () => personal)).toStrictEqual([entry]);
      }),
      { numRuns: 1_000 },
    );
    expect(written).toBeGreaterThan(200);
    expect(refused).toBeGreaterThan(200);
  });

  it('is refused where a sum of tokens is past int64', () => {
    const drawn = fc
      .sample(arbitraryEntry, { numRuns: 300, seed: 1 })
      .find((entry) => entry.type === 'Granted' && entry.reservation.price !== undefined) as Granted;
    const { reservation } = drawn;
    const priced = (inputTokensMax: bigint): Granted => {
      const price = { ...(reservation.price as NonNullable<typeof reservation.price>), inputTokensMax };
      return { ...drawn, reservation: { ...reservation, price } };
    };
    expect(() => encodeEntries([priced(2n ** 63n - 1n)])).not.toThrow();
    for (const tokens of [2n ** 63n, 9_999_999_999_999_999_999n, 10n ** 19n, -(2n ** 63n) - 1n]) {
      expect(() => encodeEntries([priced(tokens)])).toThrow(InvariantError);
    }
  });
});

describe('amounts', () => {
  it('are exact at any size', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (micros) => {
        expect(amountOf(JSON.parse(amountText(micros)))).toBe(micros);
      }),
    );
  });

  it.each([[1.5], [2 ** 53], [''], [' 1'], ['1e3'], ['0x10'], [null], [true], [[1]]])('refuse %j', (value) => {
    expect(() => amountOf(value)).toThrow(CorruptJournalError);
  });
});

describe('levels of rates', () => {
  it.each([[-1n], [10n ** 32n]])('that cannot be read are not written: %d', (level) => {
    expect(() => levelText(level)).toThrow(InvariantError);
  });

  it('are exact at any size that a burst and a duration can make', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 106n), (level) => {
        expect(levelOf(JSON.parse(levelText(level)))).toBe(level);
      }),
    );
  });

  it.each([[1.5], [-1], ['-1'], ['1'.repeat(33)], [''], [null]])('refuse %j', (value) => {
    expect(() => levelOf(value)).toThrow(CorruptJournalError);
  });
});

describe('text', () => {
  it.each([['a\0b'], ['\ud800']])('that PostgreSQL cannot hold is refused: %j', (text) => {
    expect(() => quote(text)).toThrow(InvariantError);
  });

  it('is JSON whatever else is in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!text.includes('\0') && text.isWellFormed());
        expect(JSON.parse(quote(text))).toBe(text);
      }),
    );
  });
});

describe('labels', () => {
  it('keep the order of their keys, also of those that look like numbers', () => {
    const labels = [
      ['10', 'a'],
      ['9', 'b'],
      ['__proto__', 'c'],
      ['team', 'd'],
    ] as const;
    expect(labelsOf(JSON.parse(labelsText(labels)))).toStrictEqual(labels);
  });
});

describe('the hash of a row', () => {
  const row = { treeId: 'acme', firstSeq: 3, lastSeq: 4, atMs: 1_700_000_000_123, entriesText: '[{"é":1}]' };
  const before = 'ab'.repeat(32);

  it('is over the bytes that the documentation names', () => {
    const frame = Buffer.concat([
      Buffer.from(before, 'hex'),
      Buffer.from([0, 0, 0, 4]),
      Buffer.from('acme'),
      Buffer.from('0000000000000003', 'hex'),
      Buffer.from('0000000000000004', 'hex'),
      Buffer.from('0000018bcfe5687b', 'hex'),
      Buffer.from('[{"é":1}]', 'utf8'),
    ]);
    expect(rowHash(before, row)).toBe(createHash('sha256').update(frame).digest('hex'));
  });

  it.each([
    ['tree', { treeId: 'acmf' }],
    ['first sequence', { firstSeq: 2 }],
    ['last sequence', { lastSeq: 5 }],
    ['time', { atMs: 1_700_000_000_124 }],
    ['text', { entriesText: '[{"é":2}]' }],
  ])('changes with the %s', (_, change) => {
    expect(rowHash(before, { ...row, ...change })).not.toBe(rowHash(before, row));
  });

  it('changes with the hash before', () => {
    expect(rowHash('ac'.repeat(32), row)).not.toBe(rowHash(before, row));
  });
});
