import { describe, expect, test } from 'vitest';
import { compareInvoice, isGap } from '../../../../src/pricing/invoice/compare-invoice.ts';
import { createInvoiceSums, INVOICE_SUMS_MAX, type ModelSum } from '../../../../src/pricing/invoice/invoice-sums.ts';

describe('a gap', () => {
  test.each<[bigint, bigint, boolean]>([
    [0n, 0n, false],
    // Below 20 USD a dollar decides, above it one part in 20.
    [0n, 1_000_000n, false],
    [0n, 1_000_001n, true],
    [19_000_000n, 20_000_000n, false],
    [18_999_999n, 20_000_000n, true],
    [95_000_000n, 100_000_000n, false],
    [94_999_999n, 100_000_000n, true],
    [100_000_000n, 104_000_000n, false],
    // Five per cent of the larger side, which is more than five of the smaller.
    [100_000_000n, 105_200_000n, false],
    [100_000_000n, 105_263_157n, false],
    [100_000_000n, 105_263_158n, true],
    // Credits that pass the costs.
    [-2_000_000n, 0n, true],
    [-1_000_000n, 0n, false],
    [-2_000_000n, -1_500_000n, false],
  ])('of %s and %s: %s, from either side', (a, b, expected) => {
    expect([isGap(a, b), isGap(b, a)]).toEqual([expected, expected]);
  });
});

const sum = (name: string, micros: bigint, more: Partial<ModelSum> = {}): ModelSum => {
  const [month = '', provider = '', model = ''] = name.split(' ');
  return { month, provider, model, micros, inputTokens: undefined, outputTokens: undefined, count: 1n, ...more };
};

describe('a comparison', () => {
  test('puts both sides beside each other, gaps first within a month', () => {
    const invoice = [
      sum('2026-10 openai gpt-4o', 5_000_000n),
      sum('2026-11 openai gpt-4o', 50_000_000n),
      sum('2026-11 openai o3', 3_000_000n),
      sum('2026-11 openai tiny', 10n),
    ];
    const journal = [
      sum('2026-10 openai gpt-4o', 5_000_000n),
      sum('2026-11 openai gpt-4o', 49_000_000n),
      sum('2026-11 openai gpt-5', 2_000_000n),
      sum('2026-11 anthropic claude-sonnet-4', 7_000_000n),
      sum('2026-10 anthropic claude-sonnet-4', 1_000_000n),
    ];
    const { models, ...totals } = compareInvoice(invoice, journal);
    expect(totals).toEqual({
      gapCount: 2,
      invoiceMicros: 58_000_010n,
      journalMicros: 56_000_000n,
      otherProviders: [{ provider: 'anthropic', micros: 8_000_000n }],
    });
    expect(
      models.map((each) => [
        each.month,
        each.model,
        each.invoice?.micros,
        each.journal?.micros,
        each.differenceMicros,
        each.isGap,
      ]),
    ).toEqual([
      ['2026-10', 'gpt-4o', 5_000_000n, 5_000_000n, 0n, false],
      ['2026-11', 'gpt-5', undefined, 2_000_000n, -2_000_000n, true],
      ['2026-11', 'o3', 3_000_000n, undefined, 3_000_000n, true],
      ['2026-11', 'gpt-4o', 50_000_000n, 49_000_000n, 1_000_000n, false],
      ['2026-11', 'tiny', 10n, undefined, 10n, false],
    ]);
  });

  test('adds up what aliases bring to one name, on both sides, and follows them once', () => {
    const alias = (model: string, target: string) => ({
      provider: 'openai',
      model,
      target: { provider: 'openai', model: target },
    });
    const { models } = compareInvoice(
      [
        sum('2026-11 openai gpt-4o', 1n, { inputTokens: 5n }),
        sum('2026-11 openai gpt-4o-2024-08-06', 2n, { inputTokens: 6n, outputTokens: 1n, count: 3n }),
        sum('2026-11 openai a', 4n),
        sum('2026-11 openai b', 8n),
      ],
      [sum('2026-11 openai gpt-4o-2024-08-06', 3n)],
      [alias('gpt-4o-2024-08-06', 'gpt-4o'), alias('a', 'b'), alias('b', 'c')],
    );
    expect(models.map(({ model, invoice, journal }) => [model, invoice?.micros, journal?.micros])).toEqual([
      ['b', 4n, undefined],
      ['c', 8n, undefined],
      ['gpt-4o', 3n, 3n],
    ]);
    expect(models[2]?.invoice).toMatchObject({ inputTokens: 11n, outputTokens: 1n, count: 4n });
  });

  test('of nothing with nothing finds nothing', () => {
    expect(compareInvoice([], [])).toEqual({
      models: [],
      gapCount: 0,
      invoiceMicros: 0n,
      journalMicros: 0n,
      otherProviders: [],
    });
  });
});

describe('sums', () => {
  const line = { month: '2026-11', provider: 'openai', inputTokens: undefined, outputTokens: undefined };

  test('round once, after all lines', () => {
    const sums = createInvoiceSums();
    const tenth = 10n ** 23n;
    for (let count = 0; count < 10; count += 1) sums.add({ ...line, model: 'x', cost: tenth });
    sums.add({ ...line, model: 'y', cost: tenth, inputTokens: 3n });
    expect(sums.sums().map(({ model, micros, count, inputTokens }) => [model, micros, count, inputTokens])).toEqual([
      ['x', 1n, 10n, undefined],
      ['y', 1n, 1n, 3n],
    ]);
  });

  test('are bounded, and what is known goes on', () => {
    const sums = createInvoiceSums();
    const add = (model: number) => sums.add({ ...line, model: `${model}`, cost: 1n });
    for (let model = 0; model < INVOICE_SUMS_MAX; model += 1) expect(add(model)).toBe(true);
    expect([add(INVOICE_SUMS_MAX), add(0)]).toEqual([false, true]);
    expect(sums.sums()).toHaveLength(INVOICE_SUMS_MAX);
  });
});
