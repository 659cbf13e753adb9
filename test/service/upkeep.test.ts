// What keeps records true beside a working service: the verifier in the background finds what somebody changed behind the
// service's back and puts that tree alone out of service; an operator rebuilds and puts it back.
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BackgroundVerify } from '../../src/app/background-verify.ts';
import { clearQuarantine, listQuarantine, rebuildProjection } from '../../src/app/repair.ts';
import { runVerify } from '../../src/app/verify.ts';
import type { TreeId } from '../../src/kernel/names.ts';
import { type RunningCoordinator, startCoordinator } from '../../src/lane/create-coordinator.ts';
import { createPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import { openSnapshots, type Snapshots } from '../../src/store/snapshot.ts';
import { Commands } from '../support/commands.ts';
import { granted } from '../support/kernel-driver.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';

const log = () => undefined;

let database: TestDatabase;
let owner: postgres.Sql;
let store: PostgresStore;
let snapshots: Snapshots;
let coordinator: RunningCoordinator;

beforeAll(async () => {
  database = await createDatabase();
  owner = postgres(database.url, { max: 1, onnotice: () => undefined });
  store = await createPostgresStore({ url: database.url });
  snapshots = openSnapshots(database.url);
  coordinator = await startCoordinator({ store, log, address: 'here:1', graceMs: 0, reaper: false });
});

afterAll(async () => {
  await coordinator.stop();
  await snapshots.close();
  await store.close();
  await owner.end();
  await database.drop();
});

/** A tree with a settled and an open reservation, projected. */
async function createTree(treeId: string): Promise<void> {
  const make = new Commands(treeId);
  await coordinator.submit(make.create(treeId, { limits: 100 }));
  const { reservation } = granted(await coordinator.submit(make.reserve(treeId, 40)));
  await coordinator.submit(make.settle(reservation.id, 30));
  await coordinator.submit(make.reserve(treeId, 20));
  await coordinator.catchUp(treeId as TreeId);
}

function verifier(): { readonly verify: BackgroundVerify; readonly found: string[] } {
  const found: string[] = [];
  const verify = new BackgroundVerify({
    withSnapshot: (work) => snapshots.run(work),
    entriesPerSecond: 1_000_000,
    mayVerify: () => true,
    onCorrupt: (treeId, why) => found.push(`${treeId}: ${why}`),
    log,
  });
  return { verify, found };
}

describe('the verifier in the background', () => {
  it('goes on from where it was and finds nothing where nothing is wrong', async () => {
    await createTree('good');
    const { verify, found } = verifier();
    expect(await verify.round()).toBe(4);
    await coordinator.submit(new Commands('good').reserve('good', 1, { key: 'later', id: 'r000000009' }));
    expect(await verify.round()).toBe(1);
    expect(await verify.round()).toBe(0);
    expect(found).toEqual([]);
    expect(verify.status).toEqual({ entries: 5, behind: 0, corruptTrees: 0 });
  });

  it('finds a counter that was changed, in that tree alone', async () => {
    await createTree('counted');
    await owner`UPDATE budgetd.counters SET settled_micros = 1 WHERE tree = 'counted'`;
    const { verify, found } = verifier();
    await verify.round();
    expect(found).toEqual(['counted: budget counted is not projected as the journal has it']);
    expect(verify.status.corruptTrees).toBe(1);
    expect(await rebuildProjection(database.url, 'counted' as TreeId)).toBe(4);
    expect(await runVerify({ databaseUrl: database.url, tree: 'counted', log })).toMatchObject({
      ok: true,
      entries: 4,
    });
  });

  it('finds an entry that was changed past the triggers', async () => {
    await createTree('edited');
    await owner.begin(async (tx) => {
      await tx`SET LOCAL session_replication_role = replica`;
      await tx`UPDATE budgetd.journal SET entries = replace(entries, '30', '31') WHERE tree = 'edited'`;
    });
    const { verify, found } = verifier();
    await verify.round();
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^edited: row \d+ to \d+ of edited is not what was hashed$/);
  });
});

describe('a tree out of service', () => {
  it('is refused, listed, and served again once it is put back', async () => {
    await createTree('parted');
    coordinator.quarantine('parted' as TreeId, 'for the test', undefined);
    const make = new Commands('parted');
    expect(await coordinator.submit(make.getBudget('parted'))).toMatchObject({ reason: 'TREE_QUARANTINED' });
    await expect.poll(() => listQuarantine(database.url)).toMatchObject([{ tree: 'parted', reason: 'for the test' }]);
    expect(await clearQuarantine(database.url, 'parted' as TreeId)).toBe(true);
    expect(await clearQuarantine(database.url, 'parted' as TreeId)).toBe(false);
    await expect
      .poll(() => coordinator.submit(make.getBudget('parted')), { timeout: 10_000 })
      .toMatchObject({ kind: 'budget' });
  });
});
