// `project --rebuild` and `quarantine`: what an operator does when records do not agree. Like verify they talk to the
// database, as the role that owns the schema.
import type { Command } from 'commander';
import { counted } from './counted.ts';
import { withExample } from './options.ts';
import { printable } from './printable-text.ts';
import type { CommandContext } from './session.ts';
import { UsageError } from './usage-error.ts';

const DATABASE_OPTION = [
  '--database-url <url>',
  'default: BUDGETD_MIGRATION_DATABASE_URL, DATABASE_URL, embedded',
] as const;

/** Adds `project` and `quarantine` to the program. */
export function addRepairCommands(program: Command, context: CommandContext): void {
  const { terminal, repairs } = context;
  const project = program
    .command('project')
    .description('rebuild the tables that lists are read from out of the journal')
    .requiredOption('--rebuild <tree>', 'the tree; it stays in service meanwhile')
    .option(...DATABASE_OPTION)
    .action(async ({ rebuild, databaseUrl }: { readonly rebuild: string; readonly databaseUrl?: string }) => {
      const entries = await repairs.rebuildProjection(databaseUrl, rebuild);
      if (entries === 0) throw new UsageError(`the journal has no tree ${rebuild}`);
      terminal.out(
        `${printable(rebuild)} is projected anew from ${counted(entries, 'journal entry', 'journal entries')}`,
      );
    });
  withExample(project, 'project', 'project --rebuild acme');
  const quarantine = program
    .command('quarantine')
    .description('list the trees that are out of service, or put one back')
    .option('--clear <tree>', 'put this tree back; look at the reason and run verify first')
    .option(...DATABASE_OPTION)
    .action(async ({ clear, databaseUrl }: { readonly clear?: string; readonly databaseUrl?: string }) => {
      if (clear === undefined) {
        const trees = await repairs.listQuarantine(databaseUrl);
        for (const { tree, reason, since } of trees) {
          terminal.out(`${printable(tree)}  since ${since.toISOString()}  ${printable(reason)}`);
        }
        if (trees.length === 0) terminal.out('no tree is out of service');
        return;
      }
      if (!(await repairs.clearQuarantine(databaseUrl, clear))) throw new UsageError(`${clear} is not out of service`);
      terminal.out(`${printable(clear)} is back in service`);
    });
  withExample(quarantine, 'quarantine', 'quarantine --clear acme');
}
