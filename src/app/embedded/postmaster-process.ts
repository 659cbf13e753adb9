/**
 * What postmaster.pid says, whether that process really is the server of this data directory, and how it is ended. A process is
 * signalled only after it was recognised, because a number left in a file may by now belong to some other program.
 */
import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import { errorCode, type PostgresBinaries } from './find-binaries.ts';

export type PostmasterRecord = Readonly<{
  pid: number;
  /** undefined until the server has written it. */
  port: number | undefined;
  /** True once it accepts connections. */
  ready: boolean;
}>;

/** `unsure`: a PostgreSQL, but this platform doesn't tell of which data directory. */
export type PostmasterIdentity = 'ours' | 'unsure' | 'other' | 'gone';

/** Fast shutdown ends all sessions and writes a checkpoint of at most shared_buffers; 45 s allows for a slow disk. */
const FAST_SHUTDOWN_TIMEOUT_MS = 45_000;
/** Immediate shutdown writes nothing; the server itself kills what has not ended after 5 s. */
const IMMEDIATE_SHUTDOWN_TIMEOUT_MS = 10_000;
/** After SIGKILL only the kernel is at work. */
const KILL_TIMEOUT_MS = 5_000;
/** Short beside a shutdown (some 50 ms), cheap beside anything else. */
const POLL_MS = 20;

const runFile = promisify(execFile);

/** Reads postmaster.pid; null if there is none, or if it does not begin with a process number. */
export async function readPostmasterFile(clusterDir: string): Promise<PostmasterRecord | null> {
  let text: string;
  try {
    text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
  // Lines: pid (negative for a single-user server), data directory, start, port, socket folder, address, memory key, status.
  const lines = text.split('\n');
  const pid = Math.abs(Number(lines[0]));
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  const port = Number(lines[3]);
  return { pid, port: Number.isSafeInteger(port) && port > 0 ? port : undefined, ready: lines[7]?.trim() === 'ready' };
}

/** Whether any process, of whatever user, has this number. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Recognises the server of a data directory (given as a real path) by its program, working directory or command line. */
export async function identifyPostmaster(pid: number, clusterDir: string): Promise<PostmasterIdentity> {
  if (!isAlive(pid)) return 'gone';
  try {
    if (process.platform === 'linux') return await identifyByProc(pid, clusterDir);
    if (process.platform === 'win32') return await identifyByTaskList(pid);
    return await identifyByPs(pid, clusterDir);
  } catch (error) {
    if (!isAlive(pid)) return 'gone';
    throw new Error(`Process ${pid}, named in ${clusterDir}/postmaster.pid, can't be examined`, { cause: error });
  }
}

/**
 * Ends the server in order, and by force if it does not answer in time. Resolves when the process is gone; throws if it can't be
 * ended. Signals only a process that `isStillIt` recognises.
 */
export async function stopPostmaster(
  pid: number,
  binaries: PostgresBinaries,
  isStillIt: () => Promise<boolean>,
): Promise<void> {
  const steps = [
    ['SIGINT', FAST_SHUTDOWN_TIMEOUT_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_TIMEOUT_MS],
    ['SIGKILL', KILL_TIMEOUT_MS],
  ] as const;
  for (const [signal, timeoutMs] of steps) {
    if (!(await isStillIt())) return;
    await signalPostmaster(pid, signal, binaries);
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline) {
      if (!(await isStillIt())) return;
      await delay(POLL_MS);
    }
  }
  throw new Error(`The PostgreSQL process ${pid} could not be ended`);
}

async function signalPostmaster(
  pid: number,
  signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL',
  binaries: PostgresBinaries,
): Promise<void> {
  if (process.platform === 'win32' && signal !== 'SIGKILL') {
    // Windows has no signals; the server listens to pg_ctl's stand-in for them.
    await runFile(binaries.pgCtl, ['kill', signal.slice(3), String(pid)]);
    return;
  }
  try {
    process.kill(pid, signal);
    // A server that was paused would not see the signal before it is continued.
    if (process.platform !== 'win32') process.kill(pid, 'SIGCONT');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

async function identifyByProc(pid: number, clusterDir: string): Promise<PostmasterIdentity> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name stands in parentheses and may hold any character; the state is the first field after the last one.
  const afterName = stat.lastIndexOf(')');
  if (stat.charAt(afterName + 2) === 'Z') return 'gone';
  try {
    const [program, directory] = await Promise.all([readlink(`/proc/${pid}/exe`), readlink(`/proc/${pid}/cwd`)]);
    // The server moves into its data directory at start. A program replaced by an update reads "postgres (deleted)".
    return /^postgres( \(deleted\))?$/.test(basename(program)) && directory === clusterDir ? 'ours' : 'other';
  } catch (error) {
    // A process that is ending has let go of its program before its number is free again.
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ESRCH') return 'gone';
    if (errorCode(error) !== 'EACCES' && errorCode(error) !== 'EPERM') throw error;
    return stat.slice(stat.indexOf('(') + 1, afterName) === 'postgres' ? 'unsure' : 'other';
  }
}

async function identifyByPs(pid: number, clusterDir: string): Promise<PostmasterIdentity> {
  const { stdout } = await runFile('ps', ['-ww', '-o', 'state=,command=', '-p', String(pid)]);
  if (stdout.trimStart().startsWith('Z')) return 'gone';
  return stdout.includes('/bin/postgres') && stdout.includes(`-D ${clusterDir} `) ? 'ours' : 'other';
}

async function identifyByTaskList(pid: number): Promise<PostmasterIdentity> {
  const { stdout } = await runFile('tasklist', ['/FI', `PID eq ${pid}`, '/FO', 'CSV', '/NH']);
  return stdout.toLowerCase().includes('postgres.exe') ? 'unsure' : 'other';
}
