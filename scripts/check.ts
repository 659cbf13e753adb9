// `npm run check`: every check that needs no database, one after another, each with its time. All of them run even when
// one fails, so that one run shows everything there is to mend; the exit code is 1 if any failed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

interface Step {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

const step = (name: string, command: string, ...args: string[]): Step => ({ name, command, args });

// dependency-cruiser refuses a folder that is not there.
const cruised = ['src', 'test', 'bench', 'scripts', 'clients/typescript'].filter((folder) => existsSync(folder));

const steps: readonly Step[] = [
  step('format and lint', 'biome', 'ci', '--error-on-warnings', '.'),
  step('types', 'tsc', '-p', 'tsconfig.json'),
  step('types without Node: kernel, pricing', 'tsc', '-p', 'tsconfig.pure.json'),
  step('promises', 'oxlint', '--deny-warnings'),
  step('arrows between rooms', 'depcruise', '--config', '.dependency-cruiser.mjs', ...cruised),
  step('unused files, exports, packages', 'knip'),
  step('proto format', 'buf', 'format', '--diff', '--exit-code', 'proto'),
  step('proto lint', 'buf', 'lint'),
  step('proto compatibility', 'node', 'scripts/check-breaking.ts'),
  step('generated code', 'node', 'scripts/check-generated.ts'),
];

/** Runs one step with its output shown; true if it passed. */
function passes({ name, command, args }: Step): boolean {
  process.stdout.write(`\n== ${name}: ${command} ${args.join(' ')}\n`);
  const startedMs = performance.now();
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  const verdict = status === 0 ? 'ok' : `FAILED (${error?.message ?? `exit code ${status}`})`;
  process.stdout.write(`== ${name}: ${verdict}, ${seconds} s\n`);
  return status === 0;
}

const failed = steps.filter((candidate) => !passes(candidate)).map(({ name }) => name);
const passedCount = steps.length - failed.length;
process.stdout.write(`\n${passedCount} of ${steps.length} checks passed\n`);
if (failed.length > 0) {
  process.stdout.write(`failed: ${failed.join('; ')}\n`);
  process.exitCode = 1;
}
