// A PostgreSQL of a scenario's own, to be killed, stopped without grace, or left without a byte of disk. Its port stays the same
// over restarts, as a database's address does.
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/app/embedded/start-embedded-postgres.ts';
import { freePort } from './free-port.ts';

const run = promisify(execFile);

/** Room for a fresh cluster with its first segments of the log, and some megabytes for the tables. */
const SMALL_DISK_MB = 320;

/** Leaves no room for another page of a table. */
const BALLAST_STEP_BYTES = 1_048_576;

/** See the head of this file. */
export class OwnPostgres {
  readonly port: number;
  readonly url: string;
  readonly #folder: string;
  readonly #isSmall: boolean;
  #server: EmbeddedPostgres;

  private constructor(folder: string, isSmall: boolean, server: EmbeddedPostgres) {
    this.#folder = folder;
    this.#isSmall = isSmall;
    this.#server = server;
    this.port = server.port;
    this.url = server.superuserUrl;
  }

  /** Starts one; on a small disk of its own, if that is asked for. Returns undefined where this machine allows no such disk. */
  static async start(options: { readonly smallDisk?: boolean } = {}): Promise<OwnPostgres | undefined> {
    const folder = await mkdtemp(join(tmpdir(), 'budgetd-faults-'));
    await chmod(folder, 0o755);
    const isSmall = options.smallDisk === true;
    if (isSmall && !(await mount(folder))) {
      await rm(folder, { recursive: true });
      return undefined;
    }
    try {
      return new OwnPostgres(folder, isSmall, await startServer(folder));
    } catch (error) {
      await clear(folder, isSmall);
      throw error;
    }
  }

  /** SIGKILL: the power cut. SIGQUIT: the immediate stop. Returns when the server is gone. */
  async end(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
    const pidFile = await readFile(join(this.#folder, 'postgres', 'postmaster.pid'), 'utf8');
    const gone = new Promise<void>((resolve) => this.#server.onExit(resolve));
    process.kill(Number(pidFile.split('\n')[0]), signal);
    await gone;
    await this.#server.stop();
  }

  /** Starts it again where it was. */
  async restart(): Promise<void> {
    this.#server = await startServer(this.#folder, this.port);
    if (this.#server.port !== this.port) throw new Error(`port ${this.port} was taken meanwhile`);
  }

  /** Takes every byte that is left on its disk. Returns how to give them back. */
  async fillDisk(): Promise<() => Promise<void>> {
    const files: string[] = [];
    for (let bytes = BALLAST_STEP_BYTES; bytes >= 4_096; ) {
      const file = join(this.#folder, `ballast-${files.length}`);
      try {
        await writeFile(file, Buffer.alloc(bytes));
        files.push(file);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        files.push(file);
        bytes = Math.floor(bytes / 4);
      }
    }
    return async () => {
      for (const file of files) await rm(file, { force: true });
    };
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    await clear(this.#folder, this.#isSmall);
  }
}

async function startServer(dataDir: string, port?: number): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir, log: () => undefined, port: port ?? (await freePort()) });
}

async function mount(folder: string): Promise<boolean> {
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK_MB}m,mode=0755`, 'tmpfs', folder]);
    return true;
  } catch {
    // No root, no mount: the scenario says that it could not be played.
    return false;
  }
}

async function clear(folder: string, isSmall: boolean): Promise<void> {
  if (isSmall) await run('umount', [folder]);
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
