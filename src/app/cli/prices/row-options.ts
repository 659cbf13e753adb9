// A price row as options of `prices add`. Rates are typed as providers list them: in USD per million tokens, fees in USD for one use.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import { PriceMark, type PriceRow, type PriceRowSchema } from '../../../gen/budgetd/v1/price_pb.ts';
import { type Amount, formatMicros, parseAmountOr } from '../amount.ts';
import { durationFromMs } from '../duration.ts';
import { parseInstant } from '../instant.ts';
import { parseCount } from '../options.ts';
import { UsageError } from '../usage-error.ts';

type RowInit = Exclude<MessageInitShape<typeof PriceRowSchema>, { readonly $typeName: string }>;

/** Options of rates, by their fields. */
const RATES = {
  input: 'input',
  output: 'output',
  'cache-read': 'cacheRead',
  'cache-write-5m': 'cacheWrite5m',
  'cache-write-1h': 'cacheWrite1h',
  'audio-input': 'audioInput',
  'audio-cache-read': 'audioCacheRead',
  'audio-output': 'audioOutput',
} as const;

/** Options of fees, by their fields. */
const FEES = { 'request-fee': 'request', 'web-search-fee': 'webSearch', 'file-search-fee': 'fileSearch' } as const;

const WHAT: Readonly<Record<keyof typeof RATES, string>> = {
  input: 'input, in USD per million tokens',
  output: 'output, reasoning included; without it a call that may give output has no price',
  'cache-read': 'input read from a cache; without it as input',
  'cache-write-5m': 'input written to a cache; without it writes have no price',
  'cache-write-1h': 'input written to a cache for an hour; without it twice the input',
  'audio-input': 'audio input; without it audio has no price',
  'audio-cache-read': 'audio input read from a cache; without it as audio input',
  'audio-output': 'audio output; without it audio that comes back has no price',
};

const FEE_WHAT: Readonly<Record<keyof typeof FEES, string>> = {
  'request-fee': 'for each request, in USD',
  'web-search-fee': 'for each web search that the provider runs; without it searches have no price',
  'file-search-fee': 'for each search of stored files; without it searches have no price',
};

/** Values of the options, as parsed. Rates and fees by the names that commander makes of their options. */
export interface RowOptions {
  readonly above?: number;
  readonly band?: NonNullable<RowInit['band']>;
  readonly from?: ReturnType<typeof parseInstant>;
  readonly until?: ReturnType<typeof parseInstant>;
  readonly free?: boolean;
  readonly seat?: boolean;
  readonly source: string;
}

/** Adds them. */
export function addRowOptions(command: Command): Command {
  for (const name of Object.keys(RATES) as (keyof typeof RATES)[]) {
    command.addOption(new Option(`--${name} <usd>`, WHAT[name]).argParser(parseUsd));
  }
  for (const name of Object.keys(FEES) as (keyof typeof FEES)[]) {
    command.addOption(new Option(`--${name} <usd>`, FEE_WHAT[name]).argParser(parseUsd));
  }
  return command
    .addOption(
      new Option(
        '--above <tokens>',
        'for requests with more input tokens than this, beside a row for all; default: all',
      ).argParser(parseCount),
    )
    .addOption(
      new Option(
        '--band <hh:mm..hh:mm>',
        'for this time of day alone, in UTC, beside a row without a band; default: always',
      ).argParser(parseBand),
    )
    .addOption(new Option('--from <time>', 'when it begins to count (default: now)').argParser(parseInstant))
    .addOption(new Option('--until <time>', 'when it ends (default: when another one begins)').argParser(parseInstant))
    .option('--free', 'the model costs nothing')
    .option('--seat', 'a flat rate elsewhere pays for it: a call adds nothing')
    .requiredOption('--source <text>', 'where the price was read: a contract, a web address');
}

/** The row that they describe, of a model. Throws UsageError. */
export function rowOf(name: { readonly provider: string; readonly model: string }, options: RowOptions): RowInit {
  if (options.free === true && options.seat === true) throw new UsageError('--free and --seat: one of them');
  const { above = 0, band, from, until, source } = options;
  const isNothing = options.free === true || options.seat === true;
  const rates = amountsOf(options, RATES);
  if (rates['input'] === undefined && !isNothing) throw new UsageError('say what input costs: --input 2.5');
  return {
    ...name,
    rates: isNothing ? { input: 0n, output: 0n, ...rates } : rates,
    fees: amountsOf(options, FEES),
    aboveInputTokens: BigInt(above),
    ...(band === undefined ? {} : { band }),
    ...(from === undefined ? {} : { effectiveFromTime: from }),
    ...(until === undefined ? {} : { effectiveUntilTime: until }),
    mark: options.free === true ? PriceMark.FREE : options.seat === true ? PriceMark.SEAT : PriceMark.PRICED,
    source,
  };
}

type Row = Pick<PriceRow, 'rates' | 'fees' | 'mark'>;

/** What is most likely not meant in a row that counts from now on instead of `before`, where there is one. */
export function rowWarnings(before: Row | undefined, { rates, fees, mark }: Row): string[] {
  if (mark !== PriceMark.PRICED) return [];
  const leftOut = [
    ...leftOutOf(RATES, before?.rates, rates).filter((option) => !option.startsWith('--output ')),
    ...leftOutOf(FEES, before?.fees, fees),
  ];
  return [
    ...(leftOut.length === 0
      ? []
      : [`the row before it had ${leftOut.join(', ')}, and this one has not: add it again with what still counts`]),
    ...(rates?.output === undefined ? ['it has no --output: a call that may give output has no price'] : []),
  ];
}

function leftOutOf(
  names: Readonly<Record<string, string>>,
  before: object | undefined,
  after: object | undefined,
): string[] {
  return Object.entries(names).flatMap(([option, field]) => {
    const [had, has] = [before, after].map(
      (amounts) => (amounts as Readonly<Record<string, unknown>> | undefined)?.[field],
    );
    return typeof had === 'bigint' && has === undefined ? [`--${option} ${formatMicros(had)}`] : [];
  });
}

function amountsOf(options: object, names: Readonly<Record<string, string>>): Readonly<Record<string, bigint>> {
  const amounts: Record<string, bigint> = {};
  for (const [option, field] of Object.entries(names)) {
    const property = option.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    const typed = (options as Readonly<Record<string, Amount | undefined>>)[property];
    if (typed !== undefined) amounts[field] = typed.micros;
  }
  return amounts;
}

/** Reads dollars. Throws UsageError. */
export function parseUsd(text: string): Amount {
  const amount = parseAmountOr(text, 'write 0.25 or "0.25 USD"', 'a price in USD');
  if (amount.unit === undefined || amount.unit === 'USD') return amount;
  throw new UsageError(`"${text}": prices are in USD`);
}

function parseBand(text: string): NonNullable<RowInit['band']> {
  const [start, end, ...more] = text.split('..').map(timeOfDayMs);
  if (start === undefined || end === undefined || more.length > 0) {
    throw new UsageError(`"${text}" is not hh:mm..hh:mm, each from 00:00 to 23:59`);
  }
  return { start: durationFromMs(start), end: durationFromMs(end) };
}

function timeOfDayMs(text: string): number | undefined {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  return hours === undefined ? undefined : (Number(hours) * 60 + Number(minutes)) * 60_000;
}
