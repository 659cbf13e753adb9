// A bar is always exactly full, and shows whatever exists with at least one cell.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawBar } from '../../../src/app/cli/draw-bar.ts';
import { MICROS_MAX } from '../../../src/kernel/money.ts';

const textOf = (spans: readonly { readonly text: string }[]): string => spans.map((span) => span.text).join('');

describe('drawBar', () => {
  it.each([
    ['nothing used', { amount: 1000n, settled: 0n, held: 0n, overrun: 0n, available: 1000n }, '░░░░░░░░░░'],
    [
      'half settled, some held',
      { amount: 1000n, settled: 500n, held: 200n, overrun: 0n, available: 300n },
      '█████▓▓░░░',
    ],
    ['bound by a budget above', { amount: 1000n, settled: 500n, held: 0n, overrun: 0n, available: 100n }, '█████░····'],
    ['a trace of each', { amount: 1_000_000n, settled: 1n, held: 1n, overrun: 0n, available: 999_998n }, '█▓░░░░░░░░'],
    ['overrun past the amount', { amount: 100n, settled: 100n, held: 0n, overrun: 100n, available: 0n }, '██████████'],
    ['a lowered limit', { amount: 10n, settled: 50n, held: 50n, overrun: 0n, available: 0n }, '█████▓▓▓▓▓'],
    ['a limit of zero', { amount: 0n, settled: 0n, held: 0n, overrun: 0n, available: 0n }, '··········'],
  ])('%s', (_, { amount, settled, held, overrun, available }, bar) => {
    const figures = {
      amountMicros: amount,
      settledMicros: settled,
      heldMicros: held,
      overrunMicros: overrun,
      availableMicros: available,
    };
    expect(textOf(drawBar(figures, 10))).toBe(bar);
  });

  it('fills its width for any figures, and hides none that is there', () => {
    const micros = fc.bigInt({ min: 0n, max: MICROS_MAX });
    fc.assert(
      fc.property(
        micros,
        micros,
        micros,
        micros,
        micros,
        (amountMicros, settledMicros, heldMicros, overrunMicros, availableMicros) => {
          const bar = textOf(drawBar({ amountMicros, settledMicros, heldMicros, overrunMicros, availableMicros }, 20));
          expect(bar).toHaveLength(20);
          expect(bar.includes('█')).toBe(settledMicros + overrunMicros > 0n);
          expect(bar.includes('▓')).toBe(heldMicros > 0n);
        },
      ),
    );
  });
});
