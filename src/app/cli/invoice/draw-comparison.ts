// What `invoice compare` found, for people and for programs.
import type { ComparedModel, InvoiceComparison } from '../../../pricing/invoice/compare-invoice.ts';
import type { ModelSum } from '../../../pricing/invoice/invoice-sums.ts';
import { formatAmount, formatMicros } from '../amount.ts';
import { type Cell, type Column, drawTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import type { SpendApart } from './journal-side.ts';

/** Everything that `invoice compare` says. */
export interface ComparisonReport {
  readonly comparison: InvoiceComparison;
  readonly apart: readonly SpendApart[];
  /** Lines of the invoice that count. */
  readonly lineCount: number;
  /** Lines of other months than the one asked for. */
  readonly otherMonthCount: number;
}

const COLUMNS: readonly Column[] = [
  { title: 'MONTH' },
  { title: 'PROVIDER' },
  { title: 'MODEL', shrinkTo: 16 },
  { title: 'INVOICE', align: 'amount' },
  { title: 'JOURNAL', align: 'amount' },
  { title: 'DIFFERENCE', align: 'amount' },
  { title: 'SAYS' },
];
const TOKEN_COLUMNS: readonly Column[] = [
  { title: 'TOKENS INVOICED', align: 'right' },
  { title: 'SETTLED', align: 'right' },
];

/** Draws it. */
export function drawComparison({ comparison, apart, ...lines }: ComparisonReport, terminal: Terminal): string {
  const { models, gapCount, invoiceMicros, journalMicros, otherProviders } = comparison;
  const withTokens = models.some(({ invoice }) => tokensOf(invoice) !== undefined);
  const rows = models.map((model): Cell[] => [
    model.month,
    model.provider,
    model.model,
    model.invoice === undefined ? '-' : formatMicros(model.invoice.micros),
    model.journal === undefined ? '-' : formatMicros(model.journal.micros),
    { text: formatMicros(model.differenceMicros), tone: model.isGap ? 'bad' : 'plain' },
    { text: saysOf(model), tone: model.isGap ? 'bad' : 'plain' },
    ...(withTokens ? [model.invoice, model.journal].map((side) => tokensOf(side)?.toString() ?? '-') : []),
  ]);
  const columns = withTokens ? [...COLUMNS.slice(0, -1), ...COLUMNS.slice(-1), ...TOKEN_COLUMNS] : COLUMNS;
  const total = `Invoice ${usd(invoiceMicros)}, journal ${usd(journalMicros)}.`;
  const verdict =
    gapCount === 0
      ? terminal.paint('good', '✓ no difference above 1 USD and above 5 %')
      : terminal.paint('bad', `✗ ${gapCount} above 1 USD and above 5 %`);
  return [
    drawTable(columns, rows, terminal),
    [
      total,
      ...apart.map(apartText),
      ...otherProviders.map(
        ({ provider, micros }) => `Of ${provider}, which the invoice does not name: ${usd(micros)}.`,
      ),
      ...(lines.otherMonthCount > 0 ? [`Lines of other months, left out: ${lines.otherMonthCount}.`] : []),
    ].join('\n'),
    verdict,
  ].join('\n\n');
}

/** The same as JSON, amounts and counts as strings. */
export function comparisonToJson({ comparison, apart, ...lines }: ComparisonReport): string {
  const { models, gapCount, invoiceMicros, journalMicros, otherProviders } = comparison;
  const value = {
    unit: 'USD',
    gapCount,
    invoiceMicros,
    journalMicros,
    models: models.map(({ month, provider, model, invoice, journal, differenceMicros, isGap }) => ({
      month,
      provider,
      model,
      invoice: sideToJson(invoice),
      journal: sideToJson(journal),
      differenceMicros,
      isGap,
    })),
    apart,
    otherProviders,
    ...lines,
  };
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? each.toString() : each), 2);
}

function sideToJson(side: ModelSum | undefined) {
  if (side === undefined) return null;
  const { micros, inputTokens = null, outputTokens = null, count } = side;
  return { micros, inputTokens, outputTokens, count };
}

function saysOf({ invoice, journal, isGap }: ComparedModel): string {
  const side = invoice === undefined ? 'journal only' : journal === undefined ? 'invoice only' : '';
  if (side !== '') return isGap ? `gap: ${side}` : side;
  return isGap ? 'gap' : 'agrees';
}

function tokensOf(side: ModelSum | undefined): bigint | undefined {
  if (side === undefined || (side.inputTokens === undefined && side.outputTokens === undefined)) return undefined;
  return (side.inputTokens ?? 0n) + (side.outputTokens ?? 0n);
}

function apartText({ unit, kind, count, micros }: SpendApart): string {
  const amount = `${formatAmount(micros, unit === '' ? 'of an unknown unit' : unit)} (${count})`;
  switch (kind) {
    case 'amount':
      return `Settled by amount, of no model: ${amount}.`;
    case 'estimate':
      return `Estimated, of no model: ${amount}.`;
    default:
      return `Settled by usage in another unit, not compared: ${amount}.`;
  }
}

const usd = (micros: bigint): string => formatAmount(micros, 'USD');
