// A verifier's connection is cut at any moment: the snapshot is lost and says so, the next one is whole, and the process lives.
import { expect, it } from 'vitest';
import type { Audit } from '../../src/store/audit.ts';
import { StoreUnavailableError } from '../../src/store/port.ts';
import { openSnapshots } from '../../src/store/snapshot.ts';
import { createDatabase } from '../support/postgres.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { Random } from './random.ts';

const RUNS = 150;

async function lookThrice(audit: Audit): Promise<void> {
  for (let i = 0; i < 3; i++) for await (const treeId of audit.treeIds()) expect(treeId).toBeDefined();
}

it('is lost whole, and the next one is taken on another connection', async () => {
  const database = await createDatabase();
  const url = new URL(database.url);
  const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
  url.host = `127.0.0.1:${proxy.port}`;
  const snapshots = openSnapshots(url.href);
  const random = new Random(1);
  let lost = 0;
  for (let i = 0; i < RUNS; i++) {
    const timer = setTimeout(() => proxy.cut(), random.between(0, 4));
    try {
      await snapshots.run(lookThrice);
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailableError);
      lost += 1;
    }
    clearTimeout(timer);
  }
  await snapshots.run(lookThrice);
  expect(lost).toBeGreaterThan(0);
  await snapshots.close();
  await proxy.close();
  await database.drop();
});
