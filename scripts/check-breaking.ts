// Fails when the contract in the work tree breaks a caller of an earlier one: the main branch's, and the newest release's
// (a tag v*) where there is one. It builds the earlier contract itself, because that needs Google's protos beside it, which
// come from npm and are in no commit. An earlier commit without a contract is skipped, and said so.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Runs git; its output without the last newline, or undefined if git refused. */
function git(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trimEnd() : undefined;
}

/** The commits to compare with, named as people know them. BREAKING_BASE names another one instead. */
function bases(): readonly string[] {
  const asked = process.env['BREAKING_BASE'];
  if (asked !== undefined && asked !== '') return [asked];
  const main = ['origin/main', 'main'].find((ref) => git('rev-parse', '--verify', '--quiet', `${ref}^{commit}`));
  const release = git('describe', '--tags', '--abbrev=0', '--match', 'v*');
  return [main, release].filter((ref) => ref !== undefined);
}

/** Writes the contract of a commit, with Google's protos of today, as a buf workspace; false if it had none. */
function writeContract(ref: string, folder: string): boolean {
  const paths = (git('ls-tree', '-r', '--name-only', ref, '--', 'proto') ?? '').split('\n').filter(Boolean);
  if (paths.length === 0) return false;
  for (const path of paths) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), execFileSync('git', ['show', `${ref}:${path}`]));
  }
  cpSync('node_modules/google-proto-files/google/rpc', join(folder, 'google-protos/google/rpc'), {
    recursive: true,
    // Its imports are not there, and we use none of it.
    filter: (source) => !source.endsWith('/context'),
  });
  writeFileSync(join(folder, 'buf.yaml'), 'version: v2\nmodules:\n  - path: proto\n  - path: google-protos\n');
  return true;
}

/** Compares the work tree with one commit; true if nothing breaks or there is nothing to compare. */
function isCompatible(ref: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'budgetd-breaking-'));
  try {
    if (!writeContract(ref, folder)) {
      process.stdout.write(`${ref} has no proto files: nothing to compare with\n`);
      return true;
    }
    // Images, because buf compares workspaces module by module, and the two hold Google's protos under different names.
    const earlier = join(folder, 'earlier.binpb');
    const current = join(folder, 'current.binpb');
    execFileSync('buf', ['build', folder, '--output', earlier], { stdio: 'inherit' });
    execFileSync('buf', ['build', '--output', current], { stdio: 'inherit' });
    const { status } = spawnSync('buf', ['breaking', current, '--against', earlier], { stdio: 'inherit' });
    const verdict = status === 0 ? 'compatible with' : 'BREAKS';
    process.stdout.write(`${verdict} ${ref} (${git('rev-parse', '--short', ref)})\n`);
    return status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const refs = bases();
if (refs.length === 0) process.stdout.write('no main branch and no release tag here: nothing to compare with\n');
if (refs.map(isCompatible).includes(false)) process.exitCode = 1;
