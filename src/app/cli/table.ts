// Tables for people: columns as wide as their content, amounts aligned at the decimal point, and never wider than the
// terminal as far as shrinking the free-text columns can achieve. Own code, since what it needs is smaller than what a
// package would bring.
import { cutToWidth, printable, widthOf } from './printable-text.ts';
import type { Terminal, Tone } from './terminal.ts';

/** How a column is laid out. */
export interface Column {
  readonly title: string;
  /** `amount` aligns at the decimal point. Default: left. */
  readonly align?: 'left' | 'right' | 'amount';
  /** May be cut down to so many cells where the terminal is too narrow. Default: never cut. */
  readonly shrinkTo?: number;
}

/** A run of text in one tone. */
export interface Span {
  readonly text: string;
  readonly tone: Tone;
}

/** Plain text, text in a tone, or several runs (those are never cut). */
export type Cell = string | Span | readonly Span[];

const GAP = '  ';

/** Draws a table; every row has one cell a column. Returns lines without a final line end. */
export function drawTable(columns: readonly Column[], rows: readonly (readonly Cell[])[], terminal: Terminal): string {
  const cells = rows.map((row) => columns.map((_, index) => spansOf(row[index] ?? '')));
  for (const [index, column] of columns.entries()) {
    if (column.align === 'amount') alignPoints(cells.map((row) => row[index] ?? []));
  }
  const widths = columns.map((column, index) =>
    Math.max(widthOf(column.title), ...cells.map((row) => widthOfSpans(row[index] ?? []))),
  );
  shrink(columns, widths, terminal.columns);
  const heading = columns.map((column) => [{ text: column.title, tone: 'heading' as const }]);
  const rule = terminal.paint('faint', widths.map((width) => '─'.repeat(width)).join(GAP));
  const lines = [heading, ...cells].map((row) => drawRow(columns, widths, row, terminal));
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}

function spansOf(cell: Cell): Span[] {
  if (typeof cell === 'string') return [{ text: printable(cell), tone: 'plain' }];
  if ('text' in cell) return [{ text: printable(cell.text), tone: cell.tone }];
  return cell.map((span) => ({ text: printable(span.text), tone: span.tone }));
}

function widthOfSpans(spans: readonly Span[]): number {
  return spans.reduce((width, span) => width + widthOf(span.text), 0);
}

// Pads on the right so that, set flush right, all points stand in one line.
function alignPoints(column: readonly Span[][]): void {
  const fractionOf = (text: string): number => (/^-?[0-9]+(\.[0-9]+)?/.exec(text)?.[1] ?? '').length;
  const widest = Math.max(0, ...column.map((spans) => fractionOf(spans[0]?.text ?? '')));
  for (const spans of column) {
    const missing = widest - fractionOf(spans[0]?.text ?? '');
    if (missing > 0) spans.push({ text: ' '.repeat(missing), tone: 'plain' });
  }
}

// Takes cells away from the widest column that may shrink, one at a time, until the line fits or none may shrink.
function shrink(columns: readonly Column[], widths: number[], columnsMax: number | undefined): void {
  if (columnsMax === undefined) return;
  const total = (): number => widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
  while (total() > columnsMax) {
    let widest = -1;
    for (const [index, column] of columns.entries()) {
      const width = widths[index] ?? 0;
      if (column.shrinkTo === undefined || width <= column.shrinkTo) continue;
      if (widest === -1 || width > (widths[widest] ?? 0)) widest = index;
    }
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

function drawRow(
  columns: readonly Column[],
  widths: readonly number[],
  row: readonly (readonly Span[])[],
  terminal: Terminal,
): string {
  const drawn = columns.map((column, index) => {
    const width = widths[index] ?? 0;
    const cell = row[index] ?? [];
    const spans = cell.length === 1 ? cell.map((span) => ({ ...span, text: cutToWidth(span.text, width) })) : cell;
    const painted = spans.map((span) => terminal.paint(span.tone, span.text)).join('');
    const padding = ' '.repeat(Math.max(0, width - widthOfSpans(spans)));
    return (column.align ?? 'left') === 'left' ? painted + padding : padding + painted;
  });
  return drawn.join(GAP).trimEnd();
}
