// The command line as a whole: its options, its commands, and how each way of ending becomes an exit code. Apart from
// main.ts so that tests run it with their own terminal, and nothing happens on import.
import { Command, CommanderError } from 'commander';
import { StoreUnavailableError } from '../../store/port.ts';
import { ConfigError, packageVersion } from '../config.ts';
import { OperatorError } from '../operator-error.ts';
import { addAdviseCommand } from './advise-command.ts';
import { addBudgetCommands } from './budget-commands.ts';
import { addFileCommands } from './budgets-file/file-commands.ts';
import { CallError, exitCodeOf } from './call-error.ts';
import { dashedWords } from './dashed-words.ts';
import { EXIT, EXIT_CODE_HELP, type ExitCode } from './exit-code.ts';
import { addInvoiceCommands } from './invoice/invoice-commands.ts';
import { addListCommands } from './list-commands.ts';
import { NotFoundError } from './not-found-error.ts';
import { addPriceCommands } from './prices/price-commands.ts';
import { failureToJson, printFailure } from './print-failure.ts';
import { printable } from './printable-text.ts';
import { addQueueCommand } from './queue-command.ts';
import { addQuoteCommand } from './quote-command.ts';
import { addRepairCommands } from './repair-commands.ts';
import { addReservationCommands } from './reservation-commands.ts';
import { serverOption, timeoutOption, tokenOption } from './server-options.ts';
import type { CliContext, CommandContext } from './session.ts';
import { addStatusCommand } from './status-command.ts';
import { addSteerCommands } from './steer-commands.ts';
import type { Terminal } from './terminal.ts';
import { addUpdateCommand } from './update-command.ts';
import { UsageError } from './usage-error.ts';
import { addVerifyCommand } from './verify-command.ts';
import { addWatchCommand } from './watch-command.ts';

/** Width of help that does not go to a terminal: what pages and mails are laid out for. */
const HELP_WIDTH = 100;

const ABOUT = `Amounts: 0.25 (in the tree's unit), "0.25 USD" (the unit is checked), 250000micros or 250000u.
Times: 60s, 5m, 1h30m, 7d.
Windows: lifetime, hour, day, week, month, in a time zone day@Europe/Amsterdam (default UTC), rolling:1h, range:2026-03-01..2026-04-01.
A name that looks like an option goes behind "--": budgetctl get -- --odd.
--json prints the reply as proto JSON, amounts as strings of micro-units; a failed call is one JSON object on stderr.

${EXIT_CODE_HELP}

Examples:
  $ budgetctl create acme --limit "1000 USD/month" --limit "80 USD/day"
  $ budgetctl reserve acme 0.25 --holder me
  $ budgetctl tree`;

/**
 * Runs one command line (without the program's own name) and returns its exit code. Everything it has to say goes
 * through the context's terminal; it never ends the process.
 */
export async function runCommandLine(words: readonly string[], context: CliContext): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const end = (code: ExitCode): void => {
    exitCode = code;
  };
  let failedCode: ExitCode | undefined;
  const endFailed = (code: ExitCode): void => {
    failedCode = code;
  };
  const program = createProgram({ ...context, end, endFailed });
  try {
    await program.parseAsync(dashedWords(program, words), { from: 'user' });
    return exitCode;
  } catch (error) {
    const code = reportError(error, program.opts<{ readonly json?: boolean }>().json === true, context.terminal);
    return code === EXIT.ok ? code : (failedCode ?? code);
  }
}

function createProgram(context: CommandContext): Command {
  const { terminal, environment } = context;
  const widthOfHelp = (): number => terminal.columns ?? HELP_WIDTH;
  const program = new Command('budgetctl')
    .version(packageVersion())
    .description('Looks at and steers the budgets of a budgetd coordinator.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
      getOutHelpWidth: widthOfHelp,
      getErrHelpWidth: widthOfHelp,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help to see what there is)')
    .addOption(serverOption(environment))
    .addOption(tokenOption(environment))
    .addOption(timeoutOption())
    .option('--json', 'print JSON for programs')
    .addHelpText('after', `\n${ABOUT}`);
  addBudgetCommands(program, context);
  addUpdateCommand(program, context);
  addSteerCommands(program, context);
  addReservationCommands(program, context);
  addListCommands(program, context);
  addQueueCommand(program, context);
  addWatchCommand(program, context);
  addPriceCommands(program, context);
  addQuoteCommand(program, context);
  addAdviseCommand(program, context);
  addFileCommands(program, context);
  addStatusCommand(program, context);
  addVerifyCommand(program, context);
  addRepairCommands(program, context);
  addInvoiceCommands(program, context);
  return program;
}

function reportError(error: unknown, isJson: boolean, terminal: Terminal): ExitCode {
  if (error instanceof CallError) {
    if (isJson) terminal.err(JSON.stringify(failureToJson(error), null, 2));
    else printFailure(error, terminal);
    return exitCodeOf(error);
  }
  const line = (text: string): void => terminal.err(terminal.paint('bad', `error: ${printable(text)}`));
  if (error instanceof UsageError || error instanceof OperatorError || error instanceof ConfigError) {
    line(error.message);
    return EXIT.usage;
  }
  if (error instanceof NotFoundError) {
    line(error.message);
    return EXIT.notFound;
  }
  // Of the commands that talk to the database.
  if (error instanceof StoreUnavailableError) {
    line(error.message);
    return EXIT.unavailable;
  }
  // Commander has printed its own message already; asking for help or for the version is no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  terminal.err(terminal.paint('bad', `unexpected: ${text}`));
  return EXIT.unexpected;
}
