// `invoice compare` and `invoice estimates`: what the providers bill, and what was granted for it, beside what was settled. Like verify
// they talk to the database and not to the service.
import type { Command } from 'commander';
import { compareInvoice, type InvoiceAlias } from '../../../pricing/invoice/compare-invoice.ts';
import { isInvoiceMonth } from '../../../pricing/invoice/invoice-month.ts';
import { judgeEstimates } from '../../../pricing/invoice/judge-estimates.ts';
import { isProviderId } from '../../../pricing/price-row.ts';
import { counted } from '../counted.ts';
import { PLAN_EXIT } from '../exit-code.ts';
import { parseSinceMs } from '../instant.ts';
import { withExample } from '../options.ts';
import { printable } from '../printable-text.ts';
import type { CommandContext } from '../session.ts';
import { UsageError } from '../usage-error.ts';
import { comparisonToJson, drawComparison } from './draw-comparison.ts';
import { drawEstimates, estimatesToJson } from './draw-estimates.ts';
import { journalSideOf } from './journal-side.ts';
import type { InvoiceFile } from './read-invoice-file.ts';

interface DatabaseOptions {
  readonly tree?: string;
  readonly databaseUrl?: string;
}

interface CompareOptions extends DatabaseOptions {
  readonly provider?: string;
  readonly month?: string;
  readonly alias?: readonly InvoiceAlias[];
}

interface EstimatesOptions extends DatabaseOptions {
  readonly since: string;
  readonly until?: string;
}

const TREE_OPTION = ['--tree <tree>', 'only what this tree settled'] as const;
const DATABASE_OPTION = ['--database-url <url>', 'default: DATABASE_URL, else the embedded database'] as const;

/** Adds `invoice` to the program. */
export function addInvoiceCommands(program: Command, context: CommandContext): void {
  const command = program
    .command('invoice')
    .description("compare providers' invoices, and estimates, with what the journal says was settled");
  addCompare(command, context);
  addEstimates(command, context);
  withExample(
    endsAsPlan(command, context),
    'invoice compare costs.csv --provider openai',
    'invoice estimates --since 7d',
  );
}

// The exit codes of plan: also a wrong option must not look like a gap.
function endsAsPlan(command: Command, context: CommandContext): Command {
  return command.exitOverride((error) => {
    context.endFailed(PLAN_EXIT.failed);
    throw error;
  });
}

function addCompare(invoice: Command, context: CommandContext): void {
  const command = invoice
    .command('compare <file>')
    .description(
      'compare a CSV file (docs/invoices.md; "-" reads the standard input) with the journal, per month in UTC, provider and ' +
        'model; exit code 2 where a difference is above 1 USD and above 5 %',
    )
    .option('--provider <id>', 'the provider of lines that name none')
    .option('--month <month>', 'only this month, such as 2026-11 (default: every month of the file)')
    .option(
      '--alias <name=name>',
      "a model's name on the invoice, and in the journal; may be given several times",
      addAlias,
    )
    .option(...TREE_OPTION)
    .option(...DATABASE_OPTION)
    .action(async (file: string, options: CompareOptions) => {
      context.endFailed(PLAN_EXIT.failed);
      await compare(context, command, file, options);
    });
  withExample(
    endsAsPlan(command, context),
    'invoice compare costs.csv --provider openai --month 2026-11',
    "invoice compare costs.csv --alias 'anthropic/Claude Haiku 4.5=anthropic/claude-haiku-4-5'",
  );
}

async function compare(
  context: CommandContext,
  command: Command,
  path: string,
  options: CompareOptions,
): Promise<void> {
  const { terminal } = context;
  const { provider, month, alias = [] } = options;
  if (provider !== undefined && !isProviderId(provider)) {
    throw new UsageError(`"${provider}" is not the id of a provider, such as openai`);
  }
  if (month !== undefined && !isInvoiceMonth(month)) throw new UsageError(`"${month}" is not a month, such as 2026-11`);
  const file = await readFile(path, { provider, month }, context);
  const months = [...new Set(file.sums.map((sum) => sum.month))];
  if (months.length === 0) {
    throw new UsageError(`${path} has no line${month === undefined ? '' : ` of ${month}`} that bills anything`);
  }
  const spend = await context.spend.readMonths(databaseOf(options, context), months);
  const { sums, apart } = journalSideOf(spend);
  const comparison = compareInvoice(file.sums, sums, alias);
  const report = { comparison, apart, lineCount: file.lineCount, otherMonthCount: file.otherMonthCount };
  terminal.out(isJson(command) ? comparisonToJson(report) : drawComparison(report, terminal));
  context.end(comparison.gapCount === 0 ? PLAN_EXIT.same : PLAN_EXIT.different);
}

async function readFile(
  path: string,
  options: { readonly provider: string | undefined; readonly month: string | undefined },
  { terminal }: CommandContext,
): Promise<InvoiceFile> {
  const { readInvoiceFile } = await import('./read-invoice-file.ts');
  let file: InvoiceFile;
  try {
    file = await readInvoiceFile(path, options);
  } catch (error) {
    throw new UsageError(`can not read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { problems, problemCount } = file;
  if (problemCount === 0) return file;
  for (const { line, text } of problems) terminal.err(printable(`${path}:${line}: ${text}`));
  const more = problemCount - problems.length;
  if (more > 0) terminal.err(`and ${more} more`);
  throw new UsageError(`${path} has ${counted(problemCount, 'problem')}; nothing was compared`);
}

function addEstimates(invoice: Command, context: CommandContext): void {
  const command = invoice
    .command('estimates')
    .description(
      'compare what was granted for model calls with what they cost, per provider and model; exit code 2 where calls cost more ' +
        'than their estimate, or most of them less than a tenth of it',
    )
    .option('--since <when>', 'settled from then on: a time ago, a date or an instant in UTC', '30d')
    .option('--until <when>', 'settled before then (default: now)')
    .option(...TREE_OPTION)
    .option(...DATABASE_OPTION)
    .action(async (options: EstimatesOptions) => {
      context.endFailed(PLAN_EXIT.failed);
      await estimates(context, command, options);
    });
  withExample(
    endsAsPlan(command, context),
    'invoice estimates --since 7d',
    'invoice estimates --since 2026-11-01 --until 2026-12-01 --tree acme',
  );
}

async function estimates(context: CommandContext, command: Command, options: EstimatesOptions): Promise<void> {
  const { terminal, nowMs } = context;
  const fromMs = parseSinceMs(options.since, nowMs());
  const untilMs = options.until === undefined ? nowMs() : parseSinceMs(options.until, nowMs());
  if (fromMs >= untilMs) throw new UsageError('--since must be before --until');
  const judged = judgeEstimates(
    await context.spend.readEstimateShares(databaseOf(options, context), { fromMs, untilMs }),
  );
  const report = { judged, fromMs, untilMs };
  terminal.out(isJson(command) ? estimatesToJson(report) : drawEstimates(report, terminal));
  context.end(judged.every(({ verdict }) => verdict === 'fits') ? PLAN_EXIT.same : PLAN_EXIT.different);
}

function databaseOf({ databaseUrl, tree }: DatabaseOptions, { environment }: CommandContext) {
  const url = databaseUrl ?? environment['DATABASE_URL'] ?? '';
  return { ...(url !== '' && { databaseUrl: url }), ...(tree !== undefined && { tree }) };
}

const isJson = (command: Command): boolean => command.optsWithGlobals<{ readonly json?: boolean }>().json === true;

// "anthropic/Claude Haiku 4.5=anthropic/claude-haiku-4-5": a provider has no slash in it, a model may.
function addAlias(text: string, before: readonly InvoiceAlias[] = []): readonly InvoiceAlias[] {
  const match = /^([^/=]+)\/([^=]+)=([^/=]+)\/([^=]+)$/.exec(text);
  const [, provider = '', model = '', targetProvider = '', targetModel = ''] = match ?? [];
  if (!isProviderId(provider) || !isProviderId(targetProvider)) {
    throw new UsageError(`"${text}" is not provider/model=provider/model`);
  }
  if (before.some((alias) => alias.provider === provider && alias.model === model)) {
    throw new UsageError(`${provider}/${model} is given twice`);
  }
  return [...before, { provider, model, target: { provider: targetProvider, model: targetModel } }];
}
