/**
 * Makes the data directory once, whole or not at all: it is made under another name and renamed when it is complete and on disk,
 * so a directory named `postgres` is never a half-made one.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, lchown, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { EmbeddedLog } from './embedded-log.ts';
import { binaryEnvironment, errorCode, type PostgresBinaries } from './find-binaries.ts';
import { type Account, commandFor, type RunAccount } from './run-account.ts';

/** The major version whose files the packaged programs read. */
const MAJOR_VERSION = '18';

/** Role that initdb makes: owner of everything, used for migrations only. */
export const SUPERUSER = 'postgres';

const UNFINISHED_PREFIX = 'postgres.new-';

/** initdb takes 1 to 3 s with its final sync; minutes mean a disk that hangs. */
const INITDB_TIMEOUT_MS = 180_000;

const runFile = promisify(execFile);

export type ClusterOptions = Readonly<{
  dataDir: string;
  clusterDir: string;
  binaries: PostgresBinaries;
  run: RunAccount;
  log: EmbeddedLog;
}>;

/**
 * Makes the data directory unless it exists, and returns the superuser's password. Call only under the data folder's lock.
 * Throws if `postgres` holds something else, files of another major version, or has lost its password file.
 */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { dataDir, clusterDir, run, log } = options;
  await removeUnfinished(dataDir, log);
  const passwordFile = join(dataDir, 'postgres.password');
  if (await clusterExists(clusterDir)) {
    if (run.account !== null && (await lstat(clusterDir)).uid !== run.account.uid)
      await handOver(clusterDir, run.account);
    const password = await readPassword(passwordFile);
    if (password === null) {
      throw new Error(
        `${passwordFile} is missing or damaged, and without it the database beside it can't be opened. Restore the file, or move ${dataDir} away to start empty.`,
      );
    }
    return password;
  }
  const password = (await readPassword(passwordFile)) ?? (await writePassword(passwordFile));
  if (run.account !== null) await chown(passwordFile, run.account.uid, run.account.gid);
  await createCluster(options, passwordFile);
  return password;
}

async function createCluster(
  { dataDir, clusterDir, binaries, run, log }: ClusterOptions,
  passwordFile: string,
): Promise<void> {
  const unfinished = join(dataDir, UNFINISHED_PREFIX + randomBytes(6).toString('hex'));
  await mkdir(unfinished, { mode: 0o700 });
  if (run.account !== null) await chown(unfinished, run.account.uid, run.account.gid);
  log('info', 'creating the embedded database', { directory: clusterDir });
  const command = commandFor(run, binaries.initdb, [
    ...['-D', unfinished, '--username', SUPERUSER, '--auth', 'scram-sha-256', '--pwfile', passwordFile],
    // Built into PostgreSQL: the order of text never changes with the machine's libraries, and no locale need be installed.
    ...['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'],
    ...['--data-checksums', '--no-instructions'],
  ]);
  try {
    await runFile(command.file, command.args, {
      ...command.ids,
      env: binaryEnvironment(binaries),
      cwd: dataDir,
      timeout: INITDB_TIMEOUT_MS,
      windowsHide: true,
    });
  } catch (cause) {
    const said: unknown = cause instanceof Error ? Reflect.get(cause, 'stderr') : undefined;
    throw new Error(
      `The embedded database could not be created in ${dataDir}: ${typeof said === 'string' ? said.trim() : ''}`,
      { cause },
    );
  }
  await rename(unfinished, clusterDir);
  await syncFolder(dataDir);
}

async function clusterExists(clusterDir: string): Promise<boolean> {
  let names: readonly string[];
  try {
    names = await readdir(clusterDir);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
  if (!names.includes('PG_VERSION') || !names.includes('global')) {
    throw new Error(
      `${clusterDir} exists but is not a complete PostgreSQL data directory, and this service did not make it so. Move it away.`,
    );
  }
  const version = (await readFile(join(clusterDir, 'PG_VERSION'), 'utf8')).trim();
  if (version !== MAJOR_VERSION) {
    throw new Error(
      `${clusterDir} was made by PostgreSQL ${version}; the embedded one is ${MAJOR_VERSION}. Upgrade it with pg_upgrade, or serve it yourself and set DATABASE_URL.`,
    );
  }
  return true;
}

/** What a killed predecessor left. Its initdb may still be writing: then the rest goes at the next start. */
async function removeUnfinished(dataDir: string, log: EmbeddedLog): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(UNFINISHED_PREFIX)) continue;
    try {
      await rm(join(dataDir, name), { recursive: true, force: true });
      log('info', 'removed an unfinished database', { directory: join(dataDir, name) });
    } catch (error) {
      log('warn', 'an unfinished database could not be removed', {
        directory: join(dataDir, name),
        error: String(error),
      });
    }
  }
}

async function readPassword(path: string): Promise<string | null> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return /^[\w-]{43}$/.test(text) ? text : null;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** 256 random bits in letters that need no escaping in a URL. On disk before any cluster knows it. */
async function writePassword(path: string): Promise<string> {
  const password = randomBytes(32).toString('base64url');
  await rm(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${password}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  return password;
}

/** A directory that root owns (a restored copy) can't be served: PostgreSQL insists on owning it. */
async function handOver(path: string, account: Account): Promise<void> {
  for (const name of await readdir(path, { recursive: true })) await lchown(join(path, name), account.uid, account.gid);
  // Last, so that an interrupted hand-over is begun again.
  await lchown(path, account.uid, account.gid);
}

/** Makes the rename survive a power cut. Windows can't open folders and needs no such step. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
