// A start that can't succeed says why, and one that is interrupted leaves nothing behind.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openDatabase } from '../../src/app/database.ts';
import { createLogger } from '../../src/app/logger.ts';

const MAIN = join(import.meta.dirname, '../../src/app/main.ts');
const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** Runs main.ts; `onLog` sees what it has logged so far. */
async function run(env: Readonly<Record<string, string>>, onLog?: (log: string, signal: () => void) => void) {
  const {
    BUDGETD_TEST_SERVER_URL: _server,
    BUDGETD_TEST_TEMPLATE: _template,
    DATABASE_URL: _url,
    ...inherited
  } = process.env;
  const ports = { BUDGETD_GRPC_PORT: '0', BUDGETD_HTTP_PORT: '0' };
  const child = spawn(process.execPath, [MAIN], {
    env: { ...inherited, ...ports, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
    onLog?.(log, () => child.kill('SIGTERM'));
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, log };
}

it('a database that takes connections and never answers is given up, by name', async () => {
  const silent = createServer((socket) => socket.on('error', () => undefined));
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const config = {
    databaseUrl: `postgres://nobody:secret@${host}/budgetd`,
    migrationDatabaseUrl: undefined,
    dataDir: '',
    postgresPort: undefined,
  };
  await expect(openDatabase(config, createLogger('silent'), 300)).rejects.toThrow(
    `the database at ${host} did not answer within 0.3 s`,
  );
  silent.close();
}, 60_000);

it('a database that is not there ends the start with its address and without its password', async () => {
  const free = createServer();
  await once(free.listen(0, '127.0.0.1'), 'listening');
  const { port } = free.address() as AddressInfo;
  await once(free.close(), 'close');
  const { code, log } = await run({ DATABASE_URL: `postgres://nobody:secret@127.0.0.1:${port}/budgetd` });
  expect(code).toBe(1);
  expect(log).toContain(`budgetd could not start: the database at 127.0.0.1:${port} can't be used`);
  expect(log).not.toContain('secret');
}, 60_000);

it('a signal while it starts stops it in order, its PostgreSQL too', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'budgetd-start-'));
  folders.push(folder);
  let sent = false;
  const { code, log } = await run({ BUDGETD_DATA_DIR: folder }, (text, signal) => {
    if (sent || !text.includes('PostgreSQL started')) return;
    sent = true;
    signal();
  });
  expect(sent).toBe(true);
  expect(code).toBe(0);
  expect(log).toContain('SIGTERM: finishing what is under way');
  expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).toBe(false);
}, 60_000);
