/**
 * Runs the PostgreSQL that comes with `npm ci` for a service without DATABASE_URL: one server per data folder, kept between
 * starts, found again after the service was killed. The order of steps is here; each step has a file of its own.
 */
import type { ChildProcess } from 'node:child_process';
import { execFile } from 'node:child_process';
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import { adoptPostmaster } from './adopt-postmaster.ts';
import { ensureCluster } from './create-cluster.ts';
import { acquireDataFolderLock } from './data-folder-lock.ts';
import type { EmbeddedLog } from './embedded-log.ts';
import { binaryEnvironment, findBinaries, type PostgresBinaries } from './find-binaries.ts';
import { isRunning, launchPostmaster, pickPort } from './launch-postmaster.ts';
import { identifyPostmaster, stopPostmaster } from './postmaster-process.ts';
import { probeServer, superuserUrl } from './probe-server.ts';
import { chooseRunAccount, commandFor, type RunAccount } from './run-account.ts';

export type EmbeddedPostgresOptions = Readonly<{
  /** Folder for all of it, made if missing: data, password, log, lock. */
  dataDir: string;
  /** Loopback port to take if it is free; default 54329. A server that is adopted keeps its own. */
  port?: number;
  log: EmbeddedLog;
}>;

export type EmbeddedPostgres = Readonly<{
  /** `postgres://…` of the superuser in the database `postgres`, for the migration role. */
  superuserUrl: string;
  port: number;
  /** For example `18.4`. */
  version: string;
  /** True if the server was left running by a service that was killed. */
  adopted: boolean;
  /** Ends the server in order (all sessions end, a checkpoint is written) and lets the data folder go. Safe to call twice. */
  stop(): Promise<void>;
  /** Calls back once if the server ends without `stop`; at once if it already has. The data folder stays held until `stop`. */
  onExit(callback: () => void): void;
}>;

/** Outside the range from which systems give out ports, and next to nobody's default. */
const PREFERRED_PORT = 54_329;

/** Tries while a predecessor's processes end (5 s at most, after which PostgreSQL kills them) or other programs take each port first. */
const LAUNCH_TRIES_MAX = 40;
const LAUNCH_PAUSE_MS = 250;

/** An adopted server is not our child, so its end is only seen by looking. */
const WATCH_INTERVAL_MS = 500;

type Running = Readonly<{ pid: number; port: number; version: string; child: ChildProcess | null }>;

type Place = Readonly<{
  dataDir: string;
  clusterDir: string;
  binaries: PostgresBinaries;
  run: RunAccount;
  log: EmbeddedLog;
}>;

const runFile = promisify(execFile);

/**
 * Starts or adopts the server of a data folder. Resolves when it has answered a query.
 * Throws DataFolderInUseError if another process serves from the folder; any other error leaves neither a process nor a lock.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const binaries = await findBinaries();
  // Under root the server's account must be able to pass through, but not to list.
  await mkdir(options.dataDir, { recursive: true, mode: process.geteuid?.() === 0 ? 0o711 : 0o700 });
  const dataDir = await realpath(options.dataDir);
  const clusterDir = join(dataDir, 'postgres');
  const lock = await acquireDataFolderLock(dataDir);
  try {
    const run = await chooseRunAccount(dataDir, clusterDir, binaries);
    if (run.account !== null)
      options.log('info', 'PostgreSQL runs as another account than root', {
        account: run.account.name,
        capability: run.capability,
      });
    const place: Place = { dataDir, clusterDir, binaries, run, log: options.log };
    const password = await ensureCluster(place);
    const running = await adoptOrLaunch(place, password, options.port ?? PREFERRED_PORT);
    return serve(place, running, password, lock.release);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function adoptOrLaunch(place: Place, password: string, preferredPort: number): Promise<Running> {
  const { dataDir, clusterDir, binaries, run, log } = place;
  const version = await readVersion(binaries, run);
  let said = '';
  for (let attempt = 0; attempt < LAUNCH_TRIES_MAX; attempt += 1) {
    const left = await adoptPostmaster({ clusterDir, password, version, binaries, log });
    if (left !== null) {
      log('info', 'adopted the PostgreSQL that was left running', { ...left });
      return { ...left, child: null };
    }
    const port = await pickPort(preferredPort);
    const launched = await launchPostmaster({
      clusterDir,
      logFile: join(dataDir, 'postgres.log'),
      port,
      binaries,
      run,
    });
    if (launched.kind === 'again') {
      said = launched.said;
      if (launched.reason === 'predecessor') await delay(LAUNCH_PAUSE_MS);
      continue;
    }
    const { child, pid } = launched;
    const answer = await probeServer(port, password);
    if (answer.kind === 'answered' && answer.clusterDir === clusterDir) {
      if (port !== preferredPort) log('warn', `port ${preferredPort} is busy: PostgreSQL took another one`, { port });
      log('info', 'PostgreSQL started', { pid, port, version: answer.version });
      return { pid, port, version: answer.version, child };
    }
    await stopPostmaster(pid, binaries, async () => isRunning(child));
    throw new Error('The embedded PostgreSQL came up but did not answer as itself', {
      cause: answer.kind === 'silent' ? answer.error : answer,
    });
  }
  throw new Error(`The embedded PostgreSQL could not be started in ${LAUNCH_TRIES_MAX} tries: ${said.trim()}`);
}

/** As a server's `server_version` puts it: the first word is the number. */
async function readVersion(binaries: PostgresBinaries, run: RunAccount): Promise<string> {
  const command = commandFor(run, binaries.postgres, ['--version']);
  const { stdout } = await runFile(command.file, command.args, {
    ...command.ids,
    env: binaryEnvironment(binaries),
    cwd: '/',
    windowsHide: true,
  });
  const version = /\(PostgreSQL\) (.+)$/m.exec(stdout)?.[1];
  if (version === undefined) throw new Error(`${binaries.postgres} does not say its version: ${stdout.trim()}`);
  return version.trim();
}

function serve(
  { clusterDir, binaries, log }: Place,
  running: Running,
  password: string,
  release: () => void,
): EmbeddedPostgres {
  const { pid, port, version, child } = running;
  const isStillIt =
    child === null
      ? async () => ['ours', 'unsure'].includes(await identifyPostmaster(pid, clusterDir))
      : async () => isRunning(child);
  const callbacks: (() => void)[] = [];
  let stopping: Promise<void> | null = null;
  let ended = false;
  const onEnd = () => {
    if (ended || stopping !== null) return;
    ended = true;
    log('error', 'PostgreSQL ended without being told to', { pid });
    for (const callback of callbacks) callback();
  };
  const unwatch = child === null ? watch(isStillIt, onEnd) : () => child.off('exit', onEnd);
  child?.once('exit', onEnd);
  if (child !== null && !isRunning(child)) onEnd();

  const stop = async () => {
    unwatch();
    try {
      await stopPostmaster(pid, binaries, isStillIt);
    } finally {
      release();
    }
  };
  return {
    superuserUrl: superuserUrl(port, password),
    port,
    version,
    adopted: child === null,
    stop: () => (stopping ??= stop()),
    onExit: (callback) => {
      if (ended) queueMicrotask(callback);
      else callbacks.push(callback);
    },
  };
}

/** Looks from time to time, without keeping the process alive. */
function watch(isStillIt: () => Promise<boolean>, onEnd: () => void): () => void {
  const timer = setInterval(() => {
    isStillIt().then(
      (alive) => {
        if (alive) return;
        clearInterval(timer);
        onEnd();
      },
      // A process that can't be examined is taken to live; its connections tell.
      () => undefined,
    );
  }, WATCH_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
