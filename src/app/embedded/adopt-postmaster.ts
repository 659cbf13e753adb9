/**
 * What becomes of a server that a killed service left running: it is adopted if it is the right one and answers, else it is ended.
 * After this either it serves, or no server runs on the data directory.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { EmbeddedLog } from './embedded-log.ts';
import type { PostgresBinaries } from './find-binaries.ts';
import { identifyPostmaster, type PostmasterRecord, readPostmasterFile, stopPostmaster } from './postmaster-process.ts';
import { probeServer } from './probe-server.ts';

export type LeftServer = Readonly<{ pid: number; port: number; version: string }>;

export type AdoptOptions = Readonly<{
  clusterDir: string;
  password: string;
  /** Version of the programs at hand; a server of another one (left from before an update) is replaced. */
  version: string;
  binaries: PostgresBinaries;
  log: EmbeddedLog;
}>;

/** Recovery after a crash redoes at most max_wal_size; five minutes allow for 7 MB/s. */
export const RECOVERY_TIMEOUT_MS = 300_000;
/** Between opening its file and listening a server needs some milliseconds; one that is silent for longer hangs. */
const SILENCE_TIMEOUT_MS = 3_000;
const POLL_MS = 50;

/** Returns the server to use, or null if none runs any more. Throws if one runs that can be neither used nor safely ended. */
export async function adoptPostmaster(options: AdoptOptions): Promise<LeftServer | null> {
  const { clusterDir, log } = options;
  const record = await readPostmasterFile(clusterDir);
  if (record === null) return null;
  const identity = await identifyPostmaster(record.pid, clusterDir);
  // PostgreSQL clears the file of a dead server itself, and looks for survivors of it in doing so.
  if (identity === 'gone') return null;
  if (identity === 'other') {
    // The number now belongs to another program, which PostgreSQL would take for a server.
    log('warn', 'removed a stale postmaster.pid: its process number belongs to another program', { pid: record.pid });
    await rm(join(clusterDir, 'postmaster.pid'), { force: true });
    return null;
  }
  const answered = await awaitAnswer(record.pid, options);
  if (answered !== null) return answered;
  const now = await identifyPostmaster(record.pid, clusterDir);
  if (now === 'gone' || now === 'other') return null;
  if (now === 'unsure') {
    throw new Error(
      `Process ${record.pid} may be a PostgreSQL that still serves ${clusterDir}, but it does not answer. End it, then start again.`,
    );
  }
  log('warn', 'ending a PostgreSQL that was left running and is of no use', { pid: record.pid });
  await stopPostmaster(
    record.pid,
    options.binaries,
    async () => (await identifyPostmaster(record.pid, clusterDir)) === 'ours',
  );
  return null;
}

/** Waits for a server that starts up or recovers. Null: it ended, stays silent, or is of another version. */
async function awaitAnswer(
  pid: number,
  { clusterDir, password, version, log }: AdoptOptions,
): Promise<LeftServer | null> {
  const started = performance.now();
  let silentSince: number | null = null;
  while (performance.now() - started < RECOVERY_TIMEOUT_MS) {
    const record: PostmasterRecord | null = await readPostmasterFile(clusterDir);
    if (record !== null && record.pid !== pid) return null;
    const port = record?.port;
    const asked = performance.now();
    const answer = port === undefined ? null : await probeServer(port, password);
    if (answer?.kind === 'answered' && port !== undefined && answer.clusterDir === clusterDir) {
      if (answer.version === version) return { pid, port, version };
      log('info', 'the PostgreSQL left running is of another version', { found: answer.version, wanted: version });
      return null;
    }
    if (answer?.kind === 'busy') {
      silentSince = null;
    } else {
      silentSince ??= asked;
      if (performance.now() - silentSince > SILENCE_TIMEOUT_MS) {
        log('warn', 'the PostgreSQL left running does not answer', {
          pid,
          port,
          error: answer?.kind === 'silent' ? String(answer.error) : undefined,
        });
        return null;
      }
    }
    const identity = await identifyPostmaster(pid, clusterDir);
    if (identity !== 'ours' && identity !== 'unsure') return null;
    await delay(POLL_MS);
  }
  return null;
}
