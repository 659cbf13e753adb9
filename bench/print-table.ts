// Figures as a table for people.
import type { Figure } from './parts/part.ts';

/** One line a figure. */
export function printTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    figure.perSecond === undefined ? '' : `${Math.round(figure.perSecond).toLocaleString('en')}/s`,
    figure.ratio === undefined ? '' : `${figure.ratio.toFixed(2)} ×`,
    figure.p50Ms === undefined ? '' : `p50 ${figure.p50Ms.toFixed(2)} ms`,
    figure.p99Ms === undefined ? '' : `p99 ${figure.p99Ms.toFixed(2)} ms`,
    figure.note ?? '',
  ]);
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))) ?? [];
  return rows
    .map(
      (row) =>
        `  ${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
