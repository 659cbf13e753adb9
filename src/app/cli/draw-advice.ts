// What `advise` found, for people and for programs.
import { formatAmount, formatMicros } from './amount.ts';
import type { CostFigures } from './cost-figures.ts';
import { counted } from './counted.ts';
import type { ReplayedLimit } from './replay-limit.ts';
import { type Cell, type Column, drawTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** What a proposed limit would have done: to each run, or to the budget in its windows. */
export type ProposedLimit =
  | {
      readonly kind: 'run';
      readonly amountMicros: bigint;
      readonly count: number;
      /** Runs that cost more. */
      readonly refusedCount: number;
      /** What they cost above it. */
      readonly excessMicros: bigint;
    }
  | ({ readonly kind: 'window'; readonly amountMicros: bigint; readonly window: string } & ReplayedLimit);

/** Everything that `advise` says. */
export interface Advice {
  readonly budget: string;
  readonly unit: string;
  readonly runsAre: 'budgets' | 'reservations';
  /** Reservations that are live, and have not cost yet all that they will. */
  readonly liveCount: number;
  readonly runs: CostFigures;
  readonly timeZone: string;
  readonly days: CostFigures;
  readonly limit: ProposedLimit | undefined;
  /** There are reservations that were not read. */
  readonly truncated: boolean;
  /** Only reservations that name the budget, or one below it: those that charge it by "also" could not be looked for. */
  readonly namedOnly: boolean;
}

const COLUMNS: readonly Column[] = [
  { title: 'COST PER' },
  { title: 'COUNT', align: 'right' },
  { title: 'P50', align: 'amount' },
  { title: 'P95', align: 'amount' },
  { title: 'P99', align: 'amount' },
  { title: 'MAX', align: 'amount' },
  { title: 'TOTAL', align: 'amount' },
  { title: 'UNIT' },
];

/** Draws it. */
export function drawAdvice(advice: Advice, terminal: Terminal): string {
  const { runs, days, unit, runsAre, timeZone, liveCount, limit } = advice;
  if (runs.count === 0 && days.count === 0)
    return 'Nothing has been spent here yet: there is nothing to size limits from.';
  const row = (name: string, figures: CostFigures): Cell[] => [
    name,
    `${figures.count}`,
    ...[figures.p50Micros, figures.p95Micros, figures.p99Micros, figures.maxMicros].map(formatMicros),
    formatMicros(figures.totalMicros),
    unit,
  ];
  const run = runsAre === 'budgets' ? 'run (budget right below)' : 'run (reservation)';
  return [
    drawTable(COLUMNS, [row(run, runs), row(`day (${timeZone})`, days)], terminal),
    ...(liveCount > 0 ? [`${counted(liveCount, 'reservation')} still live: not all of their cost is known.`] : []),
    ...(limit === undefined ? [] : [drawLimit(limit, unit)]),
  ].join('\n\n');
}

function drawLimit(limit: ProposedLimit, unit: string): string {
  const amount = formatAmount(limit.amountMicros, unit);
  if (limit.kind === 'run') {
    const { count, refusedCount, excessMicros } = limit;
    const excess = refusedCount === 0 ? '' : `, by ${formatAmount(excessMicros, unit)} in all`;
    return `A limit of ${amount} a run: ${refusedCount} of ${counted(count, 'run')} went past it${excess}.`;
  }
  const { count, refusedCount, refusedMicros, firstRefusedMs, peakMicros, window } = limit;
  const peak = `the most at once was ${formatAmount(peakMicros, unit)}`;
  const first = firstRefusedMs === undefined ? '' : `, the first at ${new Date(firstRefusedMs).toISOString()}`;
  const cost = refusedCount === 0 ? '' : `, which cost ${formatAmount(refusedMicros, unit)}${first}`;
  return `A limit of ${amount}/${window}: ${refusedCount} of ${counted(count, 'reservation')} would have been refused${cost}; ${peak}.`;
}

/** The same for programs; amounts are strings of micro-units. */
export function adviceToJson(advice: Advice): string {
  const { limit, ...rest } = advice;
  const firstRefused =
    limit?.kind === 'window' && limit.firstRefusedMs !== undefined
      ? { firstRefusedTime: new Date(limit.firstRefusedMs).toISOString() }
      : {};
  const shown = limit && { ...limit, firstRefusedMs: undefined, ...firstRefused };
  const text = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);
  return JSON.stringify({ ...rest, limit: shown ?? null }, text, 2);
}
