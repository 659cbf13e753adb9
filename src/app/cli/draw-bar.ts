// The bar of one limit: what is settled, held, available, and out of reach. Stands alone because its rounding has rules:
// the parts always fill the bar exactly, and nothing that exists is rounded away.
import { atLeastZero, minMicros } from '../../kernel/money.ts';
import type { Span } from './table.ts';
import type { Tone } from './terminal.ts';

/** Cells of a bar: wide enough to see 5 %, narrow enough to leave room for the figures on 80 columns. */
export const BAR_WIDTH = 20;

/** The figures of a bar, in micro-units, none below 0. */
export interface BarFigures {
  readonly amountMicros: bigint;
  readonly settledMicros: bigint;
  readonly heldMicros: bigint;
  readonly overrunMicros: bigint;
  /** What may still be reserved here, with all ancestors counted. */
  readonly availableMicros: bigint;
}

/** What the characters mean. */
export const BAR_LEGEND = '█ settled  ▓ held  ░ available  · out of reach (held back by a budget above)';

const PARTS: readonly { readonly character: string; readonly tone: Tone }[] = [
  { character: '█', tone: 'settled' },
  { character: '▓', tone: 'held' },
  { character: '░', tone: 'plain' },
  { character: '·', tone: 'faint' },
];

/** Draws a bar of `width` cells. Overrun counts as settled and may make the whole longer than the amount. */
export function drawBar(figures: BarFigures, width: number = BAR_WIDTH): Span[] {
  const spent = figures.settledMicros + figures.overrunMicros;
  const used = spent + figures.heldMicros;
  const free = atLeastZero(figures.amountMicros - used);
  const available = minMicros(figures.availableMicros, free);
  const cells = shareCells([spent, figures.heldMicros, available, free - available], width);
  return PARTS.flatMap(({ character, tone }, index) => {
    const count = cells[index] ?? 0;
    return count === 0 ? [] : [{ text: character.repeat(count), tone }];
  });
}

// Largest remainders: each part gets its share rounded down, but at least one cell if it is there at all; cells left over
// go to the parts that lost most by rounding, and what the single cells took too much comes from the largest part.
function shareCells(parts: readonly bigint[], width: number): number[] {
  const whole = parts.reduce((sum, part) => sum + part, 0n);
  if (whole === 0n) return parts.map((_, index) => (index === parts.length - 1 ? width : 0));
  const exact = parts.map((part, index) => ({ index, part, scaled: part * BigInt(width) }));
  const cells = exact.map(({ part, scaled }) => (part === 0n ? 0 : Math.max(1, Number(scaled / whole))));
  const missing = width - cells.reduce((sum, count) => sum + count, 0);
  if (missing < 0) {
    const largest = exact.reduce((most, next) => (next.part > most.part ? next : most));
    cells[largest.index] = (cells[largest.index] ?? 0) + missing;
  }
  const byLoss = exact
    .filter(({ scaled }) => scaled >= whole)
    .sort((a, b) => Number((b.scaled % whole) - (a.scaled % whole)));
  for (const { index } of byLoss.slice(0, Math.max(0, missing))) cells[index] = (cells[index] ?? 0) + 1;
  return cells;
}
