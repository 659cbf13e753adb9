// `npm run scenario -- FILE…`: plays case files against the real service and prints each difference. Exit code 0 where
// nothing differed, 1 where something did, 2 where a file or an argument is wrong.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { stopPostgres } from '../support/postgres.ts';
import { RestingProcesses } from '../support/resting-processes.ts';
import { AT_ONCE_DEFAULT, atMost } from './runner/at-most.ts';
import { CaseFileError, parseScenarios, type Scenario } from './runner/parse-scenarios.ts';
import { playScenario } from './runner/play-scenario.ts';
import { formatResult, formatSummary } from './runner/report.ts';

const USAGE = 'usage: npm run scenario -- [--at-once N] [--only TEXT] FILE…';

const processes = new RestingProcesses();

/** Reads all files before anything is played, so that a bad one is known at once. */
async function readCaseFiles(
  files: readonly string[],
): Promise<{ scenarios: readonly Scenario[]; problems: readonly string[] }> {
  const scenarios: Scenario[] = [];
  const problems: string[] = [];
  for (const file of files) {
    try {
      scenarios.push(...parseScenarios(await readFile(file, 'utf8'), basename(file)));
    } catch (error) {
      if (error instanceof CaseFileError) problems.push(...error.problems);
      else problems.push(`${file}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { scenarios, problems };
}

async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { 'at-once': { type: 'string' }, only: { type: 'string' } },
  });
  const atOnce = Number(values['at-once'] ?? AT_ONCE_DEFAULT);
  if (positionals.length === 0 || !Number.isInteger(atOnce) || atOnce < 1) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  const { scenarios, problems } = await readCaseFiles(positionals);
  if (problems.length > 0) {
    process.stderr.write(`${problems.join('\n')}\n`);
    return 2;
  }
  const chosen = scenarios.filter((scenario) => scenario.name.includes(values.only ?? ''));
  if (chosen.length === 0) {
    process.stderr.write(`no scenario has "${values.only ?? ''}" in its name\n`);
    return 2;
  }
  const inTurn = atMost(atOnce);
  const results = await Promise.all(
    chosen.map(async (scenario) => {
      const result = await inTurn(() => playScenario(scenario, processes));
      process.stdout.write(`${formatResult(result)}\n`);
      return result;
    }),
  );
  process.stdout.write(`${formatSummary(results)}\n`);
  return results.every((result) => result.differences.length === 0) ? 0 : 1;
}

// A run that is interrupted must not leave a database server behind; services end with their parent by themselves.
process.once('SIGINT', () => {
  stopPostgres().then(
    () => process.exit(130),
    (error: unknown) => {
      process.stderr.write(`the database server was not stopped: ${String(error)}\n`);
      process.exit(130);
    },
  );
});

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
  process.exitCode = 2;
} finally {
  await processes.close();
  await stopPostgres();
}
