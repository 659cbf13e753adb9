// What `invoice estimates` found, for people and for programs.
import {
  ESTIMATE_PERMILLE_MAX,
  type EstimateVerdict,
  type JudgedEstimates,
} from '../../../pricing/invoice/judge-estimates.ts';
import { formatMicros } from '../amount.ts';
import { type Cell, type Column, drawTable } from '../table.ts';
import type { Terminal, Tone } from '../terminal.ts';

/** Everything that `invoice estimates` says. */
export interface EstimatesReport {
  readonly judged: readonly JudgedEstimates[];
  readonly fromMs: number;
  readonly untilMs: number;
}

const COLUMNS: readonly Column[] = [
  { title: 'PROVIDER' },
  { title: 'MODEL', shrinkTo: 16 },
  { title: 'COUNT', align: 'right' },
  { title: 'ESTIMATED', align: 'amount' },
  { title: 'COST', align: 'amount' },
  { title: 'UNIT' },
  { title: 'P50', align: 'right' },
  { title: 'P95', align: 'right' },
  { title: 'P99', align: 'right' },
  { title: 'OVERRUN', align: 'right' },
  { title: 'SAYS' },
];

const TONES: Readonly<Record<EstimateVerdict, Tone>> = { passed: 'bad', wide: 'warning', fits: 'plain' };

/** Draws it. */
export function drawEstimates({ judged, fromMs, untilMs }: EstimatesReport, terminal: Terminal): string {
  const range = `from ${instant(fromMs)} to ${instant(untilMs)}`;
  if (judged.length === 0) return `No model call was settled by usage ${range}.`;
  const rows = judged.map((each): Cell[] => [
    each.provider,
    each.model,
    each.count.toString(),
    formatMicros(each.estimateMicros),
    formatMicros(each.actualMicros),
    each.unit,
    ...[each.permille.p50, each.permille.p95, each.permille.p99].map(formatPermille),
    each.overrunCount.toString(),
    { text: saysOf(each), tone: TONES[each.verdict] },
  ]);
  return [
    drawTable(COLUMNS, rows, terminal),
    `Settled ${range}. P50, P95 and P99 are the cost as a share of the estimate: of so many per cent of the calls it was no more.`,
  ].join('\n\n');
}

/** The same as JSON, amounts and counts as strings. */
export function estimatesToJson({ judged, fromMs, untilMs }: EstimatesReport): string {
  const value = { from: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString(), models: judged };
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? each.toString() : each), 2);
}

function saysOf({ verdict, passedCount, wideCount, count }: JudgedEstimates): string {
  switch (verdict) {
    case 'passed':
      return `too low in ${passedCount} of ${count}`;
    case 'wide':
      return `above 10 times the cost in ${wideCount} of ${count}`;
    default:
      return 'fits';
  }
}

/** `41.2 %`; a decimal point is enough, since thousandths are what there is. */
function formatPermille(permille: bigint): string {
  const text = `${permille / 10n}.${permille % 10n} %`;
  return permille >= ESTIMATE_PERMILLE_MAX ? `≥ ${text}` : text;
}

const instant = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');
