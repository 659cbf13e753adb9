/**
 * Decides which account the PostgreSQL programs run as. PostgreSQL refuses to run as root, so a service started by root hands
 * them to an account without rights; where that account can't reach the folders (a 700 home, say), it gets the one capability to
 * read through closed folders, and nothing else.
 */
import { execFile } from 'node:child_process';
import { lstat, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { binaryEnvironment, errorCode, type PostgresBinaries } from './find-binaries.ts';

export type Account = Readonly<{ name: string; uid: number; gid: number }>;

export type RunAccount = Readonly<{
  /** null: the programs run as this process does. */
  account: Account | null;
  /** Set if the account needs it to reach the folders: a Linux capability, given through setpriv. */
  capability: string | null;
}>;

export type Command = Readonly<{
  file: string;
  args: readonly string[];
  ids: Readonly<{ uid?: number; gid?: number }>;
}>;

/** In this order: reading through closed folders is enough unless the programs themselves are not executable by others. */
const CAPABILITIES: readonly string[] = ['dac_read_search', 'dac_override'];

/** The probe takes some 50 ms; only a broken machine takes this long. */
const PROBE_TIMEOUT_MS = 20_000;

const runFile = promisify(execFile);

/**
 * Chooses for a data folder whose cluster may or may not exist yet.
 * Throws, saying what to do, if the cluster belongs to somebody else, or if root finds no account that can run it.
 */
export async function chooseRunAccount(
  dataDir: string,
  clusterDir: string,
  binaries: PostgresBinaries,
): Promise<RunAccount> {
  const own = process.geteuid?.();
  if (own === undefined) return { account: null, capability: null };
  const owner = await ownerOf(clusterDir);
  if (own !== 0) {
    if (owner !== null && owner.uid !== own) {
      throw new Error(
        `The database in ${clusterDir} belongs to user ${owner.uid}, but this service runs as user ${own}. Start it as before, or chown the folder.`,
      );
    }
    return { account: null, capability: null };
  }
  const account = owner !== null && owner.uid !== 0 ? owner : await unprivilegedAccount();
  const needed = [
    binaries.postgres,
    binaries.initdb,
    join(binaries.nativeDir, 'lib'),
    join(binaries.nativeDir, 'share'),
    dataDir,
  ];
  const reached = await Promise.all(needed.map((path) => canReach(path, account, path === dataDir ? 0o1 : 0o5)));
  if (!reached.includes(false)) return { account, capability: null };
  return { account, capability: await workingCapability(account, dataDir, binaries) };
}

/** The command that runs a program as the chosen account. Its process id is the program's: setpriv replaces itself. */
export function commandFor(run: RunAccount, file: string, args: readonly string[]): Command {
  const { account, capability } = run;
  if (account === null) return { file, args, ids: {} };
  if (capability === null) return { file, args, ids: { uid: account.uid, gid: account.gid } };
  // Without no_setuid_fixup access(2), with which the programs look for each other, ignores the capability.
  const options = [
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    '--clear-groups',
    '--no-new-privs',
    '--securebits=+no_setuid_fixup',
  ];
  return {
    file: 'setpriv',
    args: [...options, `--inh-caps=+${capability}`, `--ambient-caps=+${capability}`, '--', file, ...args],
    ids: {},
  };
}

async function workingCapability(account: Account, dataDir: string, binaries: PostgresBinaries): Promise<string> {
  const failures: string[] = [];
  for (const capability of CAPABILITIES) {
    // --show finds and runs the server, reads the shared files, prints what it found and makes nothing.
    const command = commandFor({ account, capability }, binaries.initdb, ['--show', '-D', join(dataDir, 'none')]);
    try {
      await runFile(command.file, command.args, {
        env: binaryEnvironment(binaries),
        cwd: '/',
        timeout: PROBE_TIMEOUT_MS,
      });
      return capability;
    } catch (error) {
      failures.push(`${capability}: ${error instanceof Error ? error.message.trim() : String(error)}`);
      if (errorCode(error) === 'ENOENT') break;
    }
  }
  throw new Error(
    `PostgreSQL can't run as root, and the account ${account.name} can't reach ${binaries.nativeDir} or ${dataDir}, also not with the help of ` +
      'setpriv (util-linux). Start the service as an ordinary user, or put it in a folder that others may enter, or set DATABASE_URL. ' +
      `Tried: ${failures.join('; ')}`,
  );
}

async function unprivilegedAccount(): Promise<Account> {
  const accounts = parseAccounts(await readFile('/etc/passwd', 'utf8'));
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find((candidate) => candidate.name === name);
    if (account !== undefined) return account;
  }
  throw new Error(
    'PostgreSQL can\'t run as root, and there is neither an account "postgres" nor "nobody" to run it. Start the service as an ordinary user, or set DATABASE_URL.',
  );
}

/** Accounts of a passwd file that are not root; a line that names no usable ids is passed over. */
function parseAccounts(passwd: string): readonly Account[] {
  return passwd.split('\n').flatMap((line) => {
    const [name, , uidText, gidText] = line.split(':');
    const [uid, gid] = [Number(uidText), Number(gidText)];
    return name && Number.isSafeInteger(uid) && Number.isSafeInteger(gid) && uid > 0 && gid >= 0
      ? [{ name, uid, gid }]
      : [];
  });
}

async function ownerOf(path: string): Promise<Account | null> {
  try {
    const { uid, gid } = await lstat(path);
    return { name: String(uid), uid, gid };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** By mode bits alone. An access list that says otherwise shows in the programs' own error. */
async function canReach(path: string, account: Account, rights: number): Promise<boolean> {
  let current = await realpath(path);
  if (!(await allows(current, account, rights))) return false;
  while (dirname(current) !== current) {
    current = dirname(current);
    if (!(await allows(current, account, 0o1))) return false;
  }
  return true;
}

async function allows(path: string, account: Account, rights: number): Promise<boolean> {
  const { mode, uid, gid } = await stat(path);
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
  return ((mode >> shift) & rights) === rights;
}
