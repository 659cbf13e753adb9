/**
 * At most one process holds a data folder, and a killed holder holds nothing: the lock is the operating system's lock on an open
 * file, taken through SQLite, the one part of Node that reaches it on every platform. There is no stale lock to detect, so there
 * is no race between two starters that both find one.
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';

import { isAlive } from './postmaster-process.ts';

/** Another process serves from this data folder; `holderPid` is undefined if it has not said who it is. */
export class DataFolderInUseError extends Error {
  override readonly name = 'DataFolderInUseError';
  readonly dataDir: string;
  readonly holderPid: number | undefined;

  constructor(dataDir: string, holderPid: number | undefined) {
    const holder = holderPid === undefined ? 'another process' : `process ${holderPid}`;
    super(
      `The data folder ${dataDir} is in use by ${holder}. Stop it first, or start this service with another folder or DATABASE_URL.`,
    );
    this.dataDir = dataDir;
    this.holderPid = holderPid;
  }
}

export type DataFolderLock = Readonly<{ release(): void }>;

/** SQLITE_BUSY: somebody else has the file locked. */
const SQLITE_BUSY = 5;

/**
 * How long a starter tries. Two starters that collide can push each other back, so one failure proves nothing; a round is a few
 * milliseconds, and a predecessor that is on its way out gets the same second.
 */
const ACQUIRE_TIMEOUT_MS = 1_000;

/** Longest pause between two tries; chosen at random below it, so that colliding starters drift apart. */
const RETRY_PAUSE_MAX_MS = 25;

/**
 * Takes the lock on an existing folder, or throws DataFolderInUseError after at most a second.
 * The files `lock` and `lock.pid` in the folder must not be opened by anything else in this process: closing any handle on
 * `lock` would drop the lock (POSIX).
 */
export async function acquireDataFolderLock(dataDir: string): Promise<DataFolderLock> {
  const pidFile = join(dataDir, 'lock.pid');
  const deadline = performance.now() + ACQUIRE_TIMEOUT_MS;
  for (;;) {
    const database = tryLock(join(dataDir, 'lock'));
    if (database !== null) {
      writeFileSync(pidFile, String(process.pid));
      return {
        release: () => {
          if (!database.isOpen) return;
          rmSync(pidFile, { force: true });
          database.close();
        },
      };
    }
    if (performance.now() > deadline) throw new DataFolderInUseError(dataDir, readHolder(pidFile));
    await delay(Math.random() * RETRY_PAUSE_MAX_MS);
  }
}

/** The open transaction is the lock: it writes nothing, and the file stays empty. */
function tryLock(path: string): DatabaseSync | null {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('BEGIN EXCLUSIVE');
    // Whoever may read the file could lock it too, and keep the service from starting. By name, since opening it is forbidden.
    chmodSync(path, 0o600);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof Error && Reflect.get(error, 'errcode') === SQLITE_BUSY) return null;
    throw new Error(
      `${path} can't be locked: this user must be allowed to write it, and its file system must support file locks.`,
      { cause: error },
    );
  }
}

/** A holder that was killed leaves its number behind, so a number counts only while its process lives. */
function readHolder(pidFile: string): number | undefined {
  let text: string;
  try {
    text = readFileSync(pidFile, 'utf8');
  } catch {
    return undefined; // The holder has not written it yet, or is just letting go.
  }
  const pid = Number(text);
  return Number.isSafeInteger(pid) && pid > 0 && isAlive(pid) ? pid : undefined;
}
