import { describe, expect, test } from 'vitest';
import { invoiceCostOf, microsOfCost } from '../../../../src/pricing/invoice/invoice-cost.ts';

const USD = 10n ** 30n;

describe('a cost', () => {
  test.each<[string, bigint]>([
    ['0', 0n],
    ['-0', 0n],
    ['12.34', (1_234n * USD) / 100n],
    ['-0.5', -USD / 2n],
    ['007', 7n * USD],
    ['0.8958740000000000', (895_874n * USD) / 1_000_000n],
    ['0.000000000000000000000000000001', 1n],
    ['0.00000000000000000000000000000100000', 1n],
    ['1.25E-7', (125n * USD) / 1_000_000_000n],
    ['2e3', 2_000n * USD],
    ['2.5e+1', 25n * USD],
    ['120000000000e-11', (12n * USD) / 10n],
    ['0E-6176', 0n],
    ['0e99999', 0n],
    ['999999999999.999999', 10n ** 12n * USD - USD / 1_000_000n],
  ])('%s is read exactly', (text, cost) => {
    expect(invoiceCostOf(text)).toBe(cost);
  });

  test.each([
    ...[
      '',
      '.',
      '-',
      '.5',
      '5.',
      '+1',
      '1,5',
      '1 000',
      '1,234.56',
      '$1',
      '1 USD',
      '€1',
      '0x10',
      'NaN',
      'Infinity',
      '1e',
      '--1',
    ],
    // More than is kept, or a trillion dollars.
    ...['0.0000000000000000000000000000001', '1e-31', '1000000000000', '1e12', '1e99999', '1e-99999', '1e100000'],
    '１',
  ])('%j is refused', (text) => {
    expect(invoiceCostOf(text)).toBeUndefined();
  });
});

test.each<[string, bigint]>([
  ['1.25', 1_250_000n],
  ['0.0000001', 1n],
  ['0.0000010000001', 2n],
  ['-0.0000001', 0n],
  ['-1.0000005', -1_000_000n],
  ['0', 0n],
])('%s USD is rounded up to whole micro-dollars, once', (text, micros) => {
  expect(microsOfCost(invoiceCostOf(text) ?? -1n)).toBe(micros);
});
