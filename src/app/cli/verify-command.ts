// `verify`: rebuilds everything from the journal and reports each difference. The one command that talks to the
// database and not to the service, so that it also works when the service does not.
import type { Command } from 'commander';
import { counted } from './counted.ts';
import { EXIT } from './exit-code.ts';
import { withExample } from './options.ts';
import { printable } from './printable-text.ts';
import type { CommandContext } from './session.ts';

interface VerifyOptions {
  readonly databaseUrl?: string;
  readonly tree?: string;
}

/** Adds `verify` to the program. */
export function addVerifyCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('verify')
    .description('rebuild counters, reservations and answers from the journal and report every difference')
    .option('--tree <tree>', 'only this tree')
    .option('--database-url <url>', 'default: DATABASE_URL, else the embedded database')
    .action((options: VerifyOptions) => verify(context, command, options));
  withExample(command, 'verify', 'verify --tree acme');
}

async function verify(context: CommandContext, command: Command, options: VerifyOptions): Promise<void> {
  const { terminal } = context;
  const databaseUrl = options.databaseUrl ?? context.environment['DATABASE_URL'] ?? '';
  const result = await context.runVerify({
    ...(databaseUrl === '' ? {} : { databaseUrl }),
    ...(options.tree === undefined ? {} : { tree: options.tree }),
    log: (line) => terminal.err(printable(line)),
  });
  const { ok, differences, trees, entries } = result;
  context.end(ok ? EXIT.ok : EXIT.unexpected);
  if (command.optsWithGlobals<{ readonly json?: boolean }>().json === true) {
    terminal.out(JSON.stringify({ ok, trees, entries, differences }, null, 2));
    return;
  }
  for (const difference of differences) terminal.out(terminal.paint('bad', `✗ ${printable(difference)}`));
  const checked = `${counted(trees, 'tree')}, ${counted(entries, 'journal entry', 'journal entries')}`;
  terminal.out(
    ok
      ? terminal.paint('good', `✓ everything agrees with the journal: ${checked}`)
      : terminal.paint('bad', `${counted(differences.length, 'difference')} from the journal: ${checked}`),
  );
}
