// `quote`: what a model call can cost at the most, and what usage did cost, by the prices that the service has. Reserves nothing.
import { type Command, Option } from 'commander';
import type { CallPrice } from '../../gen/budgetd/v1/model_call_pb.ts';
import { PriceService, type QuoteResponse, QuoteResponseSchema } from '../../gen/budgetd/v1/price_pb.ts';
import { formatAmount } from './amount.ts';
import {
  addCallOptions,
  addUsageOptions,
  type CallOptions,
  modelCallOf,
  type UsageOptions,
  usageOf,
} from './call-options.ts';
import { drawFacts } from './facts.ts';
import { parseInstant } from './instant.ts';
import { withExample } from './options.ts';
import { priceFacts } from './price-facts.ts';
import { HASH_CHARS } from './prices/draw-prices.ts';
import { type CommandContext, type Session, withSession } from './session.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

interface QuoteOptions extends CallOptions, UsageOptions {
  readonly unit?: string;
  readonly at?: ReturnType<typeof parseInstant>;
}

/** Adds `quote` to the program. */
export function addQuoteCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('quote')
    .description('what a model call can cost at the most, or what reported usage did cost; reserves nothing');
  addUsageOptions(addCallOptions(command))
    .option('--unit <unit>', 'unit of the answer (default: USD)')
    .addOption(new Option('--at <time>', 'by the prices of then (default: now)').argParser(parseInstant))
    .action((options: QuoteOptions) => withSession(context, command, (session) => quote(session, options)));
  withExample(
    command,
    'quote --model openai/gpt-4o --bytes 12000 --max-output 1000',
    'quote --model openai/gpt-4o --model anthropic/claude-haiku-4-5 --input-tokens 3000 --max-output 500 --unit INR',
    'quote --usage-file usage.json --kind openai_chat --served openai/gpt-4o',
  );
}

async function quote(session: Session, options: QuoteOptions): Promise<void> {
  const modelCall = modelCallOf(options);
  const usage = usageOf(options);
  if (modelCall === undefined && usage === undefined)
    throw new UsageError('give a call (--model), --usage-file or --count');
  const request = {
    ...(modelCall === undefined ? {} : { modelCall }),
    ...(usage === undefined ? {} : { usage }),
    ...(options.at === undefined ? {} : { atTime: options.at }),
    unit: options.unit ?? '',
  };
  const reply = await session.connection.call(PriceService.method.quote, request);
  session.show(QuoteResponseSchema, reply, () => drawQuote(reply, session.terminal));
}

function drawQuote({ maxMicros, price, priced, unit }: QuoteResponse, terminal: Terminal): string {
  const rows = (pins: CallPrice['pins']): string =>
    (pins?.rowHashes ?? []).map((hash) => hash.slice(0, HASH_CHARS)).join(', ');
  return drawFacts(
    [
      ['at most', maxMicros === undefined ? undefined : formatAmount(maxMicros, unit)],
      ...priceFacts({ price, priced, unit }),
      ['rows', price && rows(price.pins)],
    ],
    terminal,
  );
}
