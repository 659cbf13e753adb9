// The price book for people: rows, names and units as tables, one row as facts.
import {
  type LeftOut,
  type LeftOutCount,
  type PriceAlias,
  PriceAliasForm,
  type PriceFees,
  PriceFlag,
  PriceMark,
  PriceOrigin,
  type PriceRates,
  type PriceRow,
  type PriceStatus,
  type TimeBand,
  type UnitPrice,
} from '../../../gen/budgetd/v1/price_pb.ts';
import { formatMicros } from '../amount.ts';
import { unknownText } from '../diagnose.ts';
import { durationToMs, formatDurationMs } from '../duration.ts';
import { drawFacts, type Fact } from '../facts.ts';
import { formatInstant } from '../instant.ts';
import { type Cell, type Column, drawTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';

/** Enough of a hash to tell rows apart, and to name one. */
export const HASH_CHARS = 12;

const ORIGINS: Readonly<Record<number, string>> = {
  [PriceOrigin.OPERATOR]: 'operator',
  [PriceOrigin.CATALOGUE]: 'catalogue',
};

const MARKS: Readonly<Record<number, string>> = { [PriceMark.FREE]: 'free', [PriceMark.SEAT]: 'seat' };

const FLAGS: Readonly<Record<number, string>> = {
  [PriceFlag.INHERITED]: 'listed for another provider',
  [PriceFlag.ROUNDED]: 'rounded up',
};

const FORMS: Readonly<Record<number, string>> = {
  [PriceAliasForm.DATED]: '-YYYY-MM-DD',
  [PriceAliasForm.DATED_COMPACT]: '-YYYYMMDD',
};

const usd = (micros: bigint | undefined): string => (micros === undefined ? '' : formatMicros(micros));

/** Rows; rates in USD per million tokens. */
export function drawRows(rows: readonly PriceRow[], terminal: Terminal): string {
  const columns: Column[] = [
    { title: 'MODEL', shrinkTo: 24 },
    { title: 'ABOVE', align: 'right' },
    { title: 'INPUT', align: 'amount' },
    { title: 'OUTPUT', align: 'amount' },
    { title: 'CACHED', align: 'amount' },
    { title: 'WRITES', align: 'amount' },
    { title: '' },
    { title: 'FROM' },
    { title: 'BY', shrinkTo: 9 },
    { title: 'ROW' },
  ];
  const cells = rows.map((row): Cell[] => [
    `${row.provider}/${row.model}`,
    row.aboveInputTokens === 0n ? '' : String(row.aboveInputTokens),
    usd(row.rates?.input),
    usd(row.rates?.output),
    usd(row.rates?.cacheRead),
    usd(row.rates?.cacheWrite5m),
    [MARKS[row.mark], row.band && bandText(row.band), row.retireTime && 'retired'].filter(Boolean).join(', '),
    formatInstant(row.effectiveFromTime) ?? '',
    row.origin === PriceOrigin.OPERATOR ? row.addedBy : (ORIGINS[row.origin] ?? ''),
    row.rowHash.slice(0, HASH_CHARS),
  ]);
  return `${drawTable(columns, cells, terminal)}\n\nUSD per million tokens`;
}

/** One row, with all that it says. */
export function drawRow(row: PriceRow, terminal: Terminal): string {
  const rates: Partial<PriceRates> = row.rates ?? {};
  const fees: Partial<PriceFees> = row.fees ?? {};
  const rate = (name: string, micros: bigint | undefined): Fact => [
    name,
    micros === undefined ? undefined : `${formatMicros(micros)} USD per million tokens`,
  ];
  const fee = (name: string, micros: bigint | undefined): Fact => [
    name,
    micros === undefined ? undefined : `${formatMicros(micros)} USD each`,
  ];
  const retired = row.retireTime && `${formatInstant(row.retireTime)} by ${row.retiredBy}`;
  return drawFacts(
    [
      ['row', row.rowHash],
      ['model', `${row.provider}/${row.model}`],
      ['above', row.aboveInputTokens === 0n ? undefined : `${row.aboveInputTokens} input tokens`],
      ['band', row.band && `${bandText(row.band)} UTC`],
      ['mark', MARKS[row.mark]],
      rate('input', rates.input),
      rate('output', rates.output),
      rate('cache read', rates.cacheRead),
      rate('cache write 5m', rates.cacheWrite5m),
      rate('cache write 1h', rates.cacheWrite1h),
      rate('audio input', rates.audioInput),
      rate('audio cached', rates.audioCacheRead),
      rate('audio output', rates.audioOutput),
      fee('request', fees.request),
      fee('web search', fees.webSearch),
      fee('file search', fees.fileSearch),
      ['from', formatInstant(row.effectiveFromTime)],
      ['until', formatInstant(row.effectiveUntilTime)],
      ['retired', retired],
      ['source', row.source],
      ['flags', row.flags.map((flag) => FLAGS[flag] ?? `number ${flag}`).join(', ')],
      ['added', `${formatInstant(row.addTime)} by ${row.addedBy}`],
    ],
    terminal,
  );
}

function bandText({ start, end }: TimeBand): string {
  const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 16);
  return `${clock(durationToMs(start))}..${clock(durationToMs(end))}`;
}

/** Other names of models. */
export function drawAliases(aliases: readonly PriceAlias[], terminal: Terminal): string {
  const columns: Column[] = [
    { title: 'NAME', shrinkTo: 20 },
    { title: 'STANDS FOR', shrinkTo: 20 },
    { title: 'ADDED' },
    { title: 'BY', shrinkTo: 9 },
  ];
  const cells = aliases.map((alias): Cell[] => [
    `${alias.provider}/${alias.alias}${FORMS[alias.form] ?? ''}`,
    alias.withdrawn ? '(withdrawn)' : `${alias.targetProvider}/${alias.model}`,
    formatInstant(alias.addTime) ?? '',
    alias.addedBy,
  ]);
  return drawTable(columns, cells, terminal);
}

/** What units are worth. */
export function drawUnits(units: readonly UnitPrice[], terminal: Terminal): string {
  const columns: Column[] = [
    { title: 'UNIT' },
    { title: 'WORTH' },
    { title: 'FROM' },
    { title: 'SOURCE', shrinkTo: 12 },
    { title: 'BY', shrinkTo: 9 },
  ];
  const cells = units.map((each): Cell[] => [
    each.unit,
    `${formatMicros(each.unitMicros)} ${each.unit} = ${formatMicros(each.usdMicros)} USD`,
    formatInstant(each.effectiveFromTime) ?? '',
    each.source,
    each.addedBy,
  ]);
  return drawTable(columns, cells, terminal);
}

/** How the book stands, and what of the catalogue was left out. */
export function drawCatalogue(
  status: PriceStatus | undefined,
  counts: readonly LeftOutCount[],
  leftOut: readonly LeftOut[],
  terminal: Terminal,
): string {
  const { catalogue = '', catalogueVersion, importTime, age, stale, unknownPrices = [] } = status ?? {};
  const ageText = `${formatDurationMs(durationToMs(age))} old${stale === true ? ': stale' : ''}`;
  const facts = drawFacts(
    [
      ['catalogue', catalogue === '' ? 'none was imported' : `${catalogue} ${catalogueVersion}, ${ageText}`],
      ['imported', formatInstant(importTime)],
      ['rows', `${status?.rowCount ?? 0n}, ${status?.retirementCount ?? 0n} retired`],
      ['other names', `${status?.aliasCount ?? 0n}`],
      ['units', `${status?.unitPriceCount ?? 0n}`],
      ['unknown', `${status?.unknownPriceCount ?? 0n} refused since its start`],
      ...unknownPrices.map((each): Fact => ['', unknownText(each)]),
      ...counts.map(({ reason, count }, at): Fact => [at === 0 ? 'left out' : '', `${count} ${reason}`]),
    ],
    terminal,
  );
  if (leftOut.length === 0) return facts;
  const columns: Column[] = [
    { title: 'LEFT OUT', shrinkTo: 24 },
    { title: 'REASON' },
    { title: 'ABOUT', shrinkTo: 12 },
  ];
  const cells = leftOut.map((each): Cell[] => [`${each.provider}/${each.model}`, each.reason, each.detail]);
  return `${facts}\n\n${drawTable(columns, cells, terminal)}`;
}
