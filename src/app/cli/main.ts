#!/usr/bin/env node
// Entry of budgetctl: gives the command line the real terminal, environment and clock, and the process its exit code.
import type { TreeId } from '../../kernel/names.ts';
import type * as Repair from '../repair.ts';
import { runCommandLine } from './program.ts';
import { createTerminal } from './terminal.ts';

/** As if by SIGPIPE (128 + 13), which Node ignores: what shells take for a reader that had enough. */
const READER_GONE = 141;

/** As if by SIGINT (128 + 2), which is what ended it. */
const INTERRUPTED = 130;

// `budgetctl watch | head`: nobody reads what comes next.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(READER_GONE);
});

process.exitCode = await runCommandLine(process.argv.slice(2), {
  terminal: createTerminal(process.stdout, process.stderr, process.env),
  environment: process.env,
  nowMs: Date.now,
  onInterrupt: (tell) => {
    const interrupt = (): void => {
      tell();
      process.exit(INTERRUPTED);
    };
    process.once('SIGINT', interrupt);
    return () => process.off('SIGINT', interrupt);
  },
  confirm: async (question) => {
    if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return undefined;
    const { createInterface } = await import('node:readline/promises');
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return (await lines.question(question)).trim() === 'yes';
    } finally {
      lines.close();
    }
  },
  // Loaded only when asked for: the verifier brings the database client along, which no other command needs.
  runVerify: async ({ log, ...options }) => {
    const { runVerify } = await import('../verify.ts');
    return runVerify({ ...options, log: (_level, message) => log(message) });
  },
  repairs: {
    rebuildProjection: (url, tree) => repair(url, (repairs, owner) => repairs.rebuildProjection(owner, tree as TreeId)),
    listQuarantine: (url) => repair(url, (repairs, owner) => repairs.listQuarantine(owner)),
    clearQuarantine: (url, tree) => repair(url, (repairs, owner) => repairs.clearQuarantine(owner, tree as TreeId)),
  },
  spend: {
    readMonths: async (options, months) => (await import('../journal-spend.ts')).readMonths(options, months),
    readEstimateShares: async (options, range) =>
      (await import('../journal-spend.ts')).readEstimateShares(options, range),
  },
});

async function repair<T>(
  databaseUrl: string | undefined,
  work: (repairs: typeof Repair, ownerUrl: string) => Promise<T>,
): Promise<T> {
  const [repairs, { withOperatorDatabase }] = await Promise.all([
    import('../repair.ts'),
    import('../operator-database.ts'),
  ]);
  const named = databaseUrl ?? process.env['BUDGETD_MIGRATION_DATABASE_URL'];
  return withOperatorDatabase(
    named,
    () => undefined,
    (ownerUrl) => work(repairs, ownerUrl),
  );
}
