// Amounts are read and written exactly, and what is not clearly an amount is refused.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAmount, formatMicros, parseAmount } from '../../../src/app/cli/amount.ts';
import { UsageError } from '../../../src/app/cli/usage-error.ts';
import { MICROS_MAX } from '../../../src/kernel/money.ts';

describe('parseAmount', () => {
  it.each([
    ['0', 0n, undefined],
    ['500', 500_000_000n, undefined],
    ['0.25', 250_000n, undefined],
    ['0.25 USD', 250_000n, 'USD'],
    ['0.25USD', 250_000n, 'USD'],
    [' 12  credits ', 12_000_000n, 'credits'],
    ['0.000001', 1n, undefined],
    ['1.100000', 1_100_000n, undefined],
    ['007', 7_000_000n, undefined],
    ['250000micros', 250_000n, undefined],
    ['250000 micros', 250_000n, undefined],
    ['250000u', 250_000n, undefined],
    // 0.1 + 0.2 and 2^53 + 1: both are wrong in floating point.
    ['0.3', 300_000n, undefined],
    ['9007199254740993u', 9_007_199_254_740_993n, undefined],
    ['9223372036854.775807', MICROS_MAX, undefined],
  ])('reads %j', (text, micros, unit) => {
    expect(parseAmount(text)).toEqual({ micros, unit });
  });

  it.each([
    '',
    'USD',
    '-1',
    '+1',
    '1e3',
    '1,000',
    '1_000',
    '.5',
    '5.',
    '0.0000001',
    '0.1000000',
    '1.5micros',
    '1 2',
    '0x10',
    'Infinity',
    '١٢',
    '$5',
    '9223372036854.775808',
    '9223372036854775808u',
  ])('refuses %j', (text) => {
    expect(() => parseAmount(text)).toThrow(UsageError);
  });
});

describe('formatMicros', () => {
  it.each([
    [0n, '0'],
    [1n, '0.000001'],
    [250_000n, '0.25'],
    [500_000_000n, '500'],
    [-1_500_000n, '-1.5'],
    [MICROS_MAX, '9223372036854.775807'],
  ])('writes %d as %s', (micros, text) => {
    expect(formatMicros(micros)).toBe(text);
  });

  it('gives back what parseAmount read, for every amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MICROS_MAX }), (micros) => {
        expect(parseAmount(formatMicros(micros)).micros).toBe(micros);
        expect(parseAmount(`${micros}u`).micros).toBe(micros);
      }),
    );
  });

  it('puts the unit behind, where there is one', () => {
    expect(formatAmount(250_000n, 'USD')).toBe('0.25 USD');
    expect(formatAmount(250_000n, '')).toBe('0.25');
  });
});
