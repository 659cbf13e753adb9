// Invoices: sums are exact whatever order and form the lines come in, and the rule of gaps holds on both sides of its edge. Also the
// whole way from the bytes of a file, cut anywhere.
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readInvoice } from '../../src/app/cli/invoice/read-invoice-file.ts';
import { isGap } from '../../src/pricing/invoice/compare-invoice.ts';
import { invoiceCostOf } from '../../src/pricing/invoice/invoice-cost.ts';

const places = fc.integer({ min: 0, max: 30 });
const decimal = fc.record({ digits: fc.bigInt({ min: -(10n ** 11n), max: 10n ** 11n }), places });

/** Written out, or with an exponent. */
function decimalText({ digits, places: count }: { digits: bigint; places: number }, withExponent: boolean): string {
  if (withExponent) return `${digits}e-${count}`;
  const text = `${digits < 0n ? -digits : digits}`.padStart(count + 1, '0');
  const cut = text.length - count;
  return `${digits < 0n ? '-' : ''}${text.slice(0, cut)}${count === 0 ? '' : `.${text.slice(cut)}`}`;
}

it('a cost is the number that it writes, in either form', () => {
  fc.assert(
    fc.property(decimal, fc.boolean(), (value, withExponent) => {
      expect(invoiceCostOf(decimalText(value, withExponent))).toBe(value.digits * 10n ** BigInt(30 - value.places));
    }),
  );
});

it('a gap is above the larger of one dollar and a twentieth of the larger side, and nothing below', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 15n });
  fc.assert(
    fc.property(amount, (larger) => {
      const allowed = larger / 20n > 1_000_000n ? larger / 20n : 1_000_000n;
      if (allowed <= larger) {
        expect(isGap(larger, larger - allowed)).toBe(false);
        expect(isGap(larger - allowed, larger)).toBe(false);
      }
      if (allowed + 1n <= larger) {
        expect(isGap(larger, larger - allowed - 1n)).toBe(true);
        expect(isGap(larger - allowed - 1n, larger)).toBe(true);
      }
    }),
  );
});

const model = fc.constantFrom('gpt-4o', 'a "b", c', ' x', 'größer', 'two  words');
const line = fc.record({
  day: fc.constantFrom('2026-10-31', '2026-11-01', '2026-11-30T23:59:59Z'),
  model,
  tokens: fc.option(fc.bigInt({ min: 0n, max: 10n ** 12n }), { nil: undefined }),
  cost: decimal,
  withExponent: fc.boolean(),
  quoted: fc.boolean(),
});

const field = (text: string, quoted: boolean) =>
  quoted || /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

it('the sums of a file are those of its lines, however its bytes come', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 40 }),
      fc.array(fc.nat(), { maxLength: 5 }),
      fc.constantFrom('\n', '\r\n'),
      async (lines, cuts, end) => {
        const texts = lines.map((each) =>
          [
            field(each.day, each.quoted),
            field(each.model, each.quoted),
            each.tokens?.toString() ?? '',
            field(decimalText(each.cost, each.withExponent), each.quoted),
          ].join(','),
        );
        const bytes = Buffer.from(['\ufeffdate,model,input_tokens,cost', ...texts].join(end));
        const at = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length];
        const chunks = at.slice(1).map((to, index) => bytes.subarray(at[index], to));
        const file = await readInvoice(Readable.from(chunks.filter(({ length }) => length > 0)), {
          provider: 'openai',
          month: undefined,
        });
        expect(file).toMatchObject({ problems: [], problemCount: 0, lineCount: lines.length });
        const expected = new Map<string, { scaled: bigint; tokens: bigint | undefined; count: bigint }>();
        for (const each of lines) {
          const key = `${each.day.slice(0, 7)} ${each.model.trim()}`;
          const { scaled = 0n, tokens, count = 0n } = expected.get(key) ?? {};
          expected.set(key, {
            scaled: scaled + each.cost.digits * 10n ** BigInt(30 - each.cost.places),
            tokens: each.tokens === undefined ? tokens : (tokens ?? 0n) + each.tokens,
            count: count + 1n,
          });
        }
        expect(file.sums).toHaveLength(expected.size);
        for (const sum of file.sums) {
          const { scaled = 0n, tokens, count } = expected.get(`${sum.month} ${sum.model}`) ?? {};
          expect([sum.inputTokens, sum.outputTokens, sum.count]).toEqual([tokens, undefined, count]);
          // The least whole number of micro-dollars that is not below the exact sum.
          const unit = 10n ** 24n;
          expect(sum.micros * unit >= scaled && (sum.micros - 1n) * unit < scaled).toBe(true);
        }
      },
    ),
  );
});
