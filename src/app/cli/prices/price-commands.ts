// `prices`: what models cost, as the service has it, and how an operator corrects it. Nothing here needs a key: the same again adds
// nothing.
import { create } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import {
  AddPriceAliasResponseSchema,
  AddPriceResponseSchema,
  AddUnitPriceResponseSchema,
  GetCatalogueResponseSchema,
  ListPriceAliasesResponseSchema,
  ListPricesResponseSchema,
  ListUnitPricesResponseSchema,
  type PriceAlias,
  PriceAliasForm,
  type PriceRow,
  PriceService,
  RetirePriceResponseSchema,
  type UnitPrice,
} from '../../../gen/budgetd/v1/price_pb.ts';
import { ServerInfoService } from '../../../gen/budgetd/v1/server_info_pb.ts';
import { type Amount, parseAmountOr } from '../amount.ts';
import { parseModelName } from '../call-options.ts';
import { wordOption } from '../closed-word.ts';
import { durationToMs } from '../duration.ts';
import { formatInstant, parseInstant } from '../instant.ts';
import { NotFoundError } from '../not-found-error.ts';
import { rowsMaxOption, withExample } from '../options.ts';
import { type Listing, readPages } from '../pages.ts';
import { type CommandContext, type Session, withSession } from '../session.ts';
import { UsageError } from '../usage-error.ts';
import { drawAliases, drawCatalogue, drawRow, drawRows, drawUnits } from './draw-prices.ts';
import { noPrice, requireProvider } from './known-names.ts';
import { addRowOptions, parseUsd, type RowOptions, rowOf, rowWarnings } from './row-options.ts';

const {
  addPrice,
  addPriceAlias,
  addUnitPrice,
  getCatalogue,
  listPriceAliases,
  listPrices,
  listUnitPrices,
  retirePrice,
} = PriceService.method;

const ROWS_MAX = 5_000;
const HASH_LENGTH = 43;

const FORMS = {
  exact: PriceAliasForm.EXACT,
  dated: PriceAliasForm.DATED,
  dated_compact: PriceAliasForm.DATED_COMPACT,
} as const;

type Instant = ReturnType<typeof parseInstant>;

interface ListOptions {
  readonly at?: Instant;
  readonly all?: boolean;
  readonly maxRows: number;
}

/** Adds `prices` with its commands to the program. */
export function addPriceCommands(program: Command, context: CommandContext): void {
  const prices = program.command('prices').description('what models cost: the price book, and how to correct it');
  addList(prices, context);
  addAdd(prices, context);
  addAlias(prices, context);
  addUnit(prices, context);
  addRetire(prices, context);
  addCatalogue(prices, context);
  withExample(
    prices,
    'prices openai/gpt-4o',
    'prices add openai/gpt-4o --input 2.25 --output 9 --source "contract 4711"',
    'prices alias azure/our-chat openai/gpt-4o',
    'prices unit INR --per-usd 84.1234 --source "central bank"',
    'prices catalogue',
  );
}

function addList(prices: Command, context: CommandContext): void {
  const command = prices
    .command('list [model]', { isDefault: true })
    .description('rows that count now, of a provider, of provider/model, or all')
    .addOption(new Option('--at <time>', 'those that count then').argParser(parseInstant))
    .option('--all', 'all rows that there ever were')
    .addOption(rowsMaxOption(ROWS_MAX))
    .action((name: string | undefined, options: ListOptions) =>
      withSession(context, command, (session) => list(session, name ?? '', options)),
    );
  withExample(command, 'prices list openai', 'prices list openai/gpt-4o --all', 'prices list --at 2026-12-01');
  const aliases = prices
    .command('aliases [provider]')
    .description('other names of models')
    .addOption(rowsMaxOption(ROWS_MAX))
    .action((provider: string | undefined, { maxRows }: ListOptions) =>
      withSession(context, aliases, async (session) => {
        const listing = await readPages<PriceAlias>(maxRows, '', async (pageSize, pageToken) => {
          const request = { provider: provider ?? '', pageSize, pageToken };
          const page = await session.connection.call(listPriceAliases, request);
          return { rows: page.aliases, nextPageToken: page.nextPageToken };
        });
        if (listing.rows.length === 0 && provider !== undefined) await requireProvider(session.connection, provider);
        const reply = { aliases: [...listing.rows], nextPageToken: listing.nextPageToken };
        session.show(ListPriceAliasesResponseSchema, create(ListPriceAliasesResponseSchema, reply), () =>
          listing.rows.length === 0 ? 'No other names.' : drawAliases(listing.rows, session.terminal),
        );
        warnOfMore(session, listing);
      }),
    );
  withExample(aliases, 'prices aliases azure');
  const units = prices
    .command('units')
    .description('what units are worth in USD')
    .addOption(rowsMaxOption(ROWS_MAX))
    .action(({ maxRows }: ListOptions) =>
      withSession(context, units, async (session) => {
        const listing = await readPages<UnitPrice>(maxRows, '', async (pageSize, pageToken) => {
          const page = await session.connection.call(listUnitPrices, { pageSize, pageToken });
          return { rows: page.unitPrices, nextPageToken: page.nextPageToken };
        });
        const reply = { unitPrices: [...listing.rows], nextPageToken: listing.nextPageToken };
        session.show(ListUnitPricesResponseSchema, create(ListUnitPricesResponseSchema, reply), () =>
          listing.rows.length === 0
            ? 'No units: only trees in USD have prices. Say what one is worth: budgetctl prices unit INR --per-usd 84.1234'
            : drawUnits(listing.rows, session.terminal),
        );
        warnOfMore(session, listing);
      }),
    );
  withExample(units, 'prices units');
}

async function list(session: Session, name: string, { at, all, maxRows }: ListOptions): Promise<void> {
  if (at !== undefined && all === true) throw new UsageError('--at and --all: one of them');
  const { provider, model = '' } = name.includes('/') ? parseModelName(name) : { provider: name };
  const atTime = all === true ? undefined : (at ?? (await timeOf(session)));
  const listing = await readRows(session, { provider: provider ?? '', model, ...(atTime && { atTime }) }, maxRows);
  if (listing.rows.length === 0 && name !== '') throw await noPrice(session.connection, name, elsewhere(all));
  const reply = create(ListPricesResponseSchema, { rows: [...listing.rows], nextPageToken: listing.nextPageToken });
  session.show(ListPricesResponseSchema, reply, () => {
    const [only, ...more] = listing.rows;
    if (only === undefined) return 'No prices. Add one: budgetctl prices add';
    return more.length === 0 ? drawRow(only, session.terminal) : drawRows(listing.rows, session.terminal);
  });
  warnOfMore(session, listing);
}

const elsewhere = (all = false): string =>
  all ? '(add one: budgetctl prices add)' : '(see --all for those of other times; add one: budgetctl prices add)';

// What counts is judged by the coordinator's clock.
async function timeOf(session: Session): Promise<Instant | undefined> {
  const { time } = await session.connection.call(ServerInfoService.method.getServerInfo, {});
  return time === undefined ? undefined : { seconds: time.seconds, nanos: time.nanos };
}

function readRows(
  session: Session,
  filter: { readonly provider: string; readonly model: string; readonly atTime?: Instant },
  rowsMax: number,
): Promise<Listing<PriceRow>> {
  return readPages(rowsMax, '', async (pageSize, pageToken) => {
    const { rows, nextPageToken } = await session.connection.call(listPrices, { ...filter, pageSize, pageToken });
    return { rows, nextPageToken };
  });
}

function warnOfMore(session: Session, { rows, nextPageToken }: Listing<unknown>): void {
  if (nextPageToken === '') return;
  const text = `There are more than the ${rows.length} shown: name a provider or a model, or raise --max-rows.`;
  session.terminal.err(session.terminal.paint('warning', text));
}

function addAdd(prices: Command, context: CommandContext): void {
  const command = prices
    .command('add <provider/model>')
    .description("add a price; it counts instead of the catalogue's, and of the operator's before it");
  addRowOptions(command).action((name: string, options: RowOptions) =>
    withSession(context, command, async (session) => {
      const { provider = '', model = '' } = parseModelName(name);
      const typed = rowOf({ provider, model }, options);
      const atTime = options.from ?? (await timeOf(session));
      const { rows } = await readRows(session, { provider, model, ...(atTime && { atTime }) }, ROWS_MAX);
      const reply = await session.connection.call(addPrice, { row: typed });
      const { row } = reply;
      if (row === undefined) throw new TypeError('the service answered without a row');
      session.show(AddPriceResponseSchema, reply, () => drawRow(row, session.terminal));
      const before = rows.find((each) => sizeAndTime(each) === sizeAndTime(row));
      for (const warning of [...rowWarnings(before, row), ...reply.warnings]) {
        session.terminal.err(session.terminal.paint('warning', `warning: ${warning}`));
      }
    }),
  );
  withExample(
    command,
    'prices add openai/gpt-4o --input 2.25 --output 9 --cache-read 1.125 --source "contract 4711"',
    'prices add google/gemini-2.5-pro --input 1.25 --output 10 --source "price list of 2026-12"',
    'prices add google/gemini-2.5-pro --above 200000 --input 2.5 --output 15 --source "price list of 2026-12"',
    'prices add deepseek/deepseek-chat --input 0.27 --output 1.1 --source "price list of 2026-12"',
    'prices add deepseek/deepseek-chat --band 16:30..00:30 --input 0.135 --output 0.55 --source "night rate"',
    'prices add local/llama --free --source "our own machines"',
  );
}

// A row counts instead of the one for the same sizes and the same time of day.
function sizeAndTime({ aboveInputTokens, band }: PriceRow): string {
  return `${aboveInputTokens} ${durationToMs(band?.start)} ${durationToMs(band?.end)}`;
}

function addAlias(prices: Command, context: CommandContext): void {
  const command = prices
    .command('alias <provider/name> <provider/model>')
    .description('let a name stand for a model that has a price; "none" withdraws it')
    .addOption(
      wordOption(
        '--form <form>',
        'whether a date may follow the name: dated -2026-09-01, dated_compact -20260901',
        Object.keys(FORMS),
      ).default('exact'),
    )
    .action((name: string, target: string, { form }: { readonly form: keyof typeof FORMS }) =>
      withSession(context, command, async (session) => {
        const { provider = '', model: alias = '' } = parseModelName(name);
        const reply = await session.connection.call(addPriceAlias, {
          alias: { provider, alias, form: FORMS[form], ...targetOf(target) },
        });
        session.show(AddPriceAliasResponseSchema, reply, () =>
          drawAliases(reply.alias === undefined ? [] : [reply.alias], session.terminal),
        );
      }),
    );
  withExample(
    command,
    'prices alias azure/our-chat openai/gpt-4o',
    'prices alias anthropic/claude-haiku anthropic/claude-haiku-4-5 --form dated_compact',
    'prices alias azure/our-chat none',
  );
}

function targetOf(typed: string): {
  readonly model?: string;
  readonly targetProvider?: string;
  readonly withdrawn?: boolean;
} {
  if (typed === 'none') return { withdrawn: true };
  const { provider: targetProvider = '', model = '' } = parseModelName(typed);
  return { model, targetProvider };
}

function addUnit(prices: Command, context: CommandContext): void {
  const command = prices
    .command('unit <unit>')
    .description('say what a unit is worth, so that trees that count in it have prices')
    .addOption(new Option('--per-usd <rate>', 'so much of it is one USD').argParser(parsePerUsd))
    .addOption(new Option('--usd <usd>', 'one of it is so many USD').argParser(parseUsd))
    .addOption(new Option('--from <time>', 'when it begins to count (default: now)').argParser(parseInstant))
    .requiredOption('--source <text>', 'where it was read')
    .action((unit: string, options: UnitOptions) =>
      withSession(context, command, async (session) => {
        const unitPrice = { unit, ...worthOf(unit, options), source: options.source };
        const from = options.from === undefined ? {} : { effectiveFromTime: options.from };
        const reply = await session.connection.call(addUnitPrice, { unitPrice: { ...unitPrice, ...from } });
        session.show(AddUnitPriceResponseSchema, reply, () =>
          drawUnits(reply.unitPrice === undefined ? [] : [reply.unitPrice], session.terminal),
        );
      }),
    );
  withExample(
    command,
    'prices unit INR --per-usd 84.1234 --source "central bank, 2026-11-30"',
    'prices unit credits --usd 0.01 --source "our price list"',
  );
}

interface UnitOptions {
  readonly perUsd?: Amount;
  readonly usd?: Amount;
  readonly from?: Instant;
  readonly source: string;
}

const ONE_MICROS = 1_000_000n;

// How much of a unit is one USD: no amount of money, but a rate, which may have the unit behind it.
function parsePerUsd(text: string): Amount {
  return parseAmountOr(text, 'write how much of the unit is one USD, 84.1234', 'a rate');
}

function worthOf(
  unit: string,
  { perUsd, usd }: UnitOptions,
): { readonly unitMicros: bigint; readonly usdMicros: bigint } {
  if (perUsd?.unit !== undefined && perUsd.unit !== unit) {
    throw new UsageError(`--per-usd says how much ${unit} is one USD, not how much ${perUsd.unit}`);
  }
  if (perUsd !== undefined && usd === undefined) return { unitMicros: perUsd.micros, usdMicros: ONE_MICROS };
  if (usd !== undefined && perUsd === undefined) return { unitMicros: ONE_MICROS, usdMicros: usd.micros };
  throw new UsageError('say what it is worth: --per-usd 84.1234, or --usd 0.01');
}

function addRetire(prices: Command, context: CommandContext): void {
  const command = prices
    .command('retire <row>')
    .description('end a row; reservations that were priced by it keep it')
    .addOption(new Option('--from <time>', 'when it ends (default: now)').argParser(parseInstant))
    .action((typed: string, { from }: { readonly from?: Instant }) =>
      withSession(context, command, async (session) => {
        const rowHash = await wholeHash(session, typed);
        const reply = await session.connection.call(retirePrice, { rowHash, ...(from && { fromTime: from }) });
        const { row } = reply;
        if (row === undefined) throw new TypeError('the service answered without a row');
        session.show(RetirePriceResponseSchema, reply, () => drawRow(row, session.terminal));
        await warnOfNoPrice(session, row);
      }),
    );
  withExample(command, 'prices retire 3q2-7wAABBcc', 'prices retire 3q2-7wAABBcc --from 2027-01-01');
}

// The row may have been the last that its model had.
async function warnOfNoPrice(session: Session, { provider, model, retireTime }: PriceRow): Promise<void> {
  if (retireTime === undefined) return;
  const { rows } = await readRows(session, { provider, model, atTime: retireTime }, 1);
  if (rows.length > 0) return;
  const since = formatInstant(retireTime);
  const text = `warning: ${provider}/${model} has no price from ${since} on, until a row counts again: calls of it are refused (budgetctl prices add)`;
  session.terminal.err(session.terminal.paint('warning', text));
}

// Lists show the beginning of a hash.
async function wholeHash(session: Session, typed: string): Promise<string> {
  if (typed.length >= HASH_LENGTH) return typed;
  const { rows } = await readRows(session, { provider: '', model: '' }, Number.MAX_SAFE_INTEGER);
  const found = rows.filter(({ rowHash }) => rowHash.startsWith(typed));
  const [only, ...more] = found;
  if (only === undefined) throw new NotFoundError(`no row begins with ${typed} (see budgetctl prices list --all)`);
  if (more.length > 0) throw new UsageError(`${found.length} rows begin with ${typed}: give more of it`);
  return only.rowHash;
}

function addCatalogue(prices: Command, context: CommandContext): void {
  const command = prices
    .command('catalogue [provider]')
    .description('which catalogue the prices come from, how old it is, and what of it was left out')
    .action((provider: string | undefined) =>
      withSession(context, command, async (session) => {
        // Without a provider the counts are enough for people: the list has hundreds.
        const pageSize = provider === undefined ? 1 : 1_000;
        const reply = await session.connection.call(getCatalogue, { provider: provider ?? '', pageSize });
        if (reply.leftOut.length === 0 && provider !== undefined) await requireProvider(session.connection, provider);
        session.show(GetCatalogueResponseSchema, reply, () => {
          const { status, leftOutCounts, leftOut } = reply;
          return drawCatalogue(status, leftOutCounts, provider === undefined ? [] : leftOut, session.terminal);
        });
      }),
    );
  withExample(command, 'prices catalogue', 'prices catalogue openai');
}
