/**
 * Services for tests of the embedded database: some inside this process, some in processes of their own that can be killed, and
 * an orderly end for all of them and their folders.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

import postgres from 'postgres';

import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/app/embedded/start-embedded-postgres.ts';
import { fastFolder } from './fast-folder.ts';

/** Real path of the project, with a slash at its end. */
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

type LogLine = Readonly<{ level: string; message: string; fields: Readonly<Record<string, unknown>> }>;

/** What cleanUp will undo. */
export const undo: (() => Promise<unknown> | unknown)[] = [];

/** Undoes what the test began, last thing first. For afterEach. */
export async function cleanUp(): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}

/** A fresh folder that others may enter, with a space in its name; it goes with cleanUp. */
export async function makeFolder(parent?: string, name = 'budgetd test '): Promise<string> {
  const folder = await realpath(await mkdtemp(join(parent ?? (await fastFolder()), name)));
  // An orphaned initdb may still be writing.
  undo.push(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  await chmod(folder, 0o755);
  return folder;
}

/** Starts a server inside this process; cleanUp stops it. */
export async function start(dataDir: string, port?: number): Promise<{ server: EmbeddedPostgres; lines: LogLine[] }> {
  const lines: LogLine[] = [];
  const log = (level: string, message: string, fields: LogLine['fields']) => lines.push({ level, message, fields });
  const server = await startEmbeddedPostgres({ dataDir, log, ...(port === undefined ? {} : { port }) });
  undo.push(() => server.stop());
  return { server, lines };
}

/** Runs queries on a connection of their own. */
export async function query<T>(url: string, run: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await run(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Commits one value, in a table made by need. */
export const writeRow = (url: string, value: number) =>
  query(url, async (sql) => {
    await sql`create table if not exists kept (value int)`;
    await sql`insert into kept values (${value})`;
  });

/** All committed values in order. */
export const readRows = (url: string) =>
  query(url, async (sql) => (await sql`select value from kept order by value`).map((row) => row['value']));

/** As the server wrote it down. */
export async function postmasterPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** Whether a process has this number, be it one that only waits to be collected. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Looks at a real condition until it holds, at most 20 s. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = performance.now() + 20_000; !(await condition()); await delay(5)) {
    if (performance.now() > deadline) throw new Error('The condition was never met');
  }
}

type Owner = Readonly<{ child: ChildProcess; nextLine: () => Promise<Record<string, unknown>> }>;

/** Another service: a Node process that runs a script and speaks in lines of JSON. */
export function runOwner(script: string, options: { project?: string; uid?: number; gid?: number } = {}): Owner {
  const { project = PROJECT, ...ids } = options;
  const prelude = `
    const room = ${JSON.stringify(pathToFileURL(join(project, 'src/app/embedded/')).href)};
    const { startEmbeddedPostgres } = await import(room + 'start-embedded-postgres.ts');
    const { acquireDataFolderLock, DataFolderInUseError } = await import(room + 'data-folder-lock.ts');
    const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
    const log = (level, message, fields) => undefined;
    const told = () => new Promise((resolve) => process.stdin.once('end', resolve).resume());
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', prelude + script], {
    ...ids,
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  undo.push(() => child.kill('SIGKILL'));
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString('utf8');
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`The other process ended without a word: ${complaint}`);
    return JSON.parse(value) as Record<string, unknown>;
  };
  return { child, nextLine };
}

/** A service that starts a server, tells of it, and stops it when its input ends. */
export const runService = (dataDir: string, options: Parameters<typeof runOwner>[1] = {}) =>
  runOwner(
    `try {
      const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, log });
      say({ url: server.superuserUrl, port: server.port, adopted: server.adopted });
      await told();
      await server.stop();
    } catch (error) {
      say({ error: error.name, message: error.message, holderPid: error.holderPid });
    }`,
    options,
  );

/** As the kernel or an operator kills: nothing is tidied up. */
export async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Nothing may keep Node alive after `stop`: the script ends by itself. */
export async function stopInOrder({ child }: Owner): Promise<void> {
  const exit = once(child, 'exit');
  child.stdin?.end();
  const [code, signal] = await exit;
  if (code !== 0) throw new Error(`The other process ended with ${code ?? signal}`);
}
