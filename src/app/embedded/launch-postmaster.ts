/**
 * Starts one server process and waits until it serves. It runs in a session of its own, so that Ctrl-C in the terminal reaches the
 * service alone, which then ends the server in order; its output goes to a file, so that it outlives the service's pipes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rename, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { RECOVERY_TIMEOUT_MS } from './adopt-postmaster.ts';
import { binaryEnvironment, errorCode, type PostgresBinaries } from './find-binaries.ts';
import { readPostmasterFile, stopPostmaster } from './postmaster-process.ts';
import { commandFor, type RunAccount } from './run-account.ts';
import { serverArguments } from './server-settings.ts';

export type LaunchOptions = Readonly<{
  clusterDir: string;
  logFile: string;
  port: number;
  binaries: PostgresBinaries;
  run: RunAccount;
}>;

export type Launched =
  | Readonly<{ kind: 'ready'; child: ChildProcess; pid: number }>
  /** It ended for a reason that another try, or another port, cures. */
  | Readonly<{ kind: 'again'; reason: 'port' | 'predecessor'; said: string }>;

/** Start without recovery takes some 100 ms. */
const POLL_MS = 20;
/** At this size the file moves to postgres.log.1 at the next start; the server writes a few lines per checkpoint. */
const LOG_BYTES_MAX = 20_000_000;
/** Enough for the lines in which a server says why it ended. */
const SAID_BYTES_MAX = 4_000;

const PORT_TAKEN = /could not bind|could not create any TCP\/IP sockets/;
/** Children of a killed server take a moment to notice; a server launched just before the service was killed may come up meanwhile. */
const PREDECESSOR = /pre-existing shared memory block|lock file "postmaster\.pid" already exists|lock file .* is empty/;

/** Throws if the server ends for another reason or does not come up in time; then no process is left. */
export async function launchPostmaster(options: LaunchOptions): Promise<Launched> {
  const { clusterDir, logFile, port, binaries, run } = options;
  await rotateLog(logFile);
  const log = await open(logFile, 'a', 0o600);
  let child: ChildProcess;
  let saidFrom: number;
  try {
    saidFrom = (await log.stat()).size;
    const command = commandFor(run, binaries.postgres, serverArguments(clusterDir, port));
    child = spawn(command.file, command.args, {
      ...command.ids,
      cwd: clusterDir,
      env: binaryEnvironment(binaries),
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      windowsHide: true,
    });
    await once(child, 'spawn');
  } finally {
    await log.close();
  }
  const pid = child.pid;
  if (pid === undefined) throw new Error('The PostgreSQL process has no number');
  if (await comesUp(child, pid, clusterDir)) return { kind: 'ready', child, pid };
  const timedOut = isRunning(child);
  await stopPostmaster(pid, binaries, async () => isRunning(child));
  const said = await readFrom(logFile, saidFrom);
  if (!timedOut && PORT_TAKEN.test(said)) return { kind: 'again', reason: 'port', said };
  if (!timedOut && PREDECESSOR.test(said)) return { kind: 'again', reason: 'predecessor', said };
  throw new Error(
    `The embedded PostgreSQL ${timedOut ? 'did not come up in time' : 'ended at start'} (see ${logFile}): ${said.trim()}`,
  );
}

/** Whether a child has not ended yet. */
export function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** The preferred port if nothing listens there, else one that the system says is free. */
export async function pickPort(preferred: number): Promise<number> {
  return (await tryPort(preferred)) ?? (await tryPort(0)) ?? Promise.reject(new Error('No free port on 127.0.0.1'));
}

async function tryPort(port: number): Promise<number | null> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE' || errorCode(error) === 'EACCES') return null;
    throw error;
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : null;
}

async function comesUp(child: ChildProcess, pid: number, clusterDir: string): Promise<boolean> {
  const started = performance.now();
  while (isRunning(child) && performance.now() - started < RECOVERY_TIMEOUT_MS) {
    const record = await readPostmasterFile(clusterDir);
    if (record?.pid === pid && record.ready) return true;
    await delay(POLL_MS);
  }
  return false;
}

async function rotateLog(path: string): Promise<void> {
  try {
    if ((await stat(path)).size > LOG_BYTES_MAX) await rename(path, `${path}.1`);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

async function readFrom(path: string, position: number): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(SAID_BYTES_MAX), 0, SAID_BYTES_MAX, position);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
