// Fails when the committed generated code is not what the contract generates today: regenerates into a temporary folder
// and compares every file, both ways. It never writes in the work tree, so a check can't mend what it should report.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// The `out` folders of buf.gen.yaml.
const folders = ['src/gen', 'clients/typescript/src/gen'] as const;

/** Paths of all files below a folder, relative to it; none if there is no such folder. */
function filesBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

/** One line for each file that is missing, left over or different in `committed`. */
function differences(committed: string, fresh: string): readonly string[] {
  const names = new Set([...filesBelow(committed), ...filesBelow(fresh)]);
  return [...names].sort().flatMap((name) => {
    const path = join(committed, name);
    if (!existsSync(path)) return [`${path}: missing`];
    if (!existsSync(join(fresh, name))) return [`${path}: no longer generated`];
    return readFileSync(path).equals(readFileSync(join(fresh, name))) ? [] : [`${path}: out of date`];
  });
}

const scratch = mkdtempSync(join(tmpdir(), 'budgetd-generated-'));
try {
  execFileSync('buf', ['generate', '--output', scratch], { stdio: 'inherit' });
  const generated = folders.map((folder) => filesBelow(join(scratch, folder)).length);
  if (generated.includes(0)) throw new Error(`buf generated nothing for one of ${folders.join(', ')}`);
  const found = folders.flatMap((folder) => differences(folder, join(scratch, folder)));
  if (found.length > 0) {
    process.stderr.write(`${found.join('\n')}\nRun \`npm run generate\` and commit what it writes.\n`);
    process.exitCode = 1;
  } else {
    process.stdout.write(`generated code is up to date (${generated.join(' + ')} files)\n`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
