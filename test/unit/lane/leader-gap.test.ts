// What a coordinator does with leases that ran out while there was none: one grace from its takeover on, whenever the tree is
// first looked at, and never a second one.

import { describe, expect, it } from 'vitest';
import { commitTo } from '../../../src/lane/commitment.ts';
import { Lane } from '../../../src/lane/lane.ts';
import { MemoryDatabase } from '../../../src/store/memory-database.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { Commands } from '../../support/commands.ts';
import { granted, refused, START_MS } from '../../support/kernel-driver.ts';
import { testPricing } from '../../support/test-prices.ts';
import { UTC_CALENDAR } from '../../support/utc-calendar.ts';

const GRACE_MS = 5_000;
const TTL_MS = 6_000;

/** Leaders that follow each other on one database, each with a lane of its own. */
function reigns() {
  const database = new MemoryDatabase();
  const make = new Commands('t');
  const world = { nowMs: START_MS };
  const store = createMemoryStore({ database, nowMs: () => world.nowMs });
  let holder = 0;
  /** The next leader takes over as soon as the lease has run out. */
  const takeOver = async (): Promise<Lane> => {
    world.nowMs = Math.max(world.nowMs, database.lease.expireMs);
    holder += 1;
    const { epoch, held, gapMs } = await store.holdWriterLease(`${holder}`, '', undefined, TTL_MS, GRACE_MS);
    expect(held).toBe(true);
    const gap = { epoch, fromMs: world.nowMs - gapMs, toMs: world.nowMs };
    return new Lane({
      store,
      clock: { nowMs: () => world.nowMs },
      graceMs: GRACE_MS,
      calendar: UTC_CALENDAR,
      implausibleFactor: 1_000,
      queue: { ageMs: 60_000, countMax: 10_000 },
      pricing: testPricing(),
      commit: commitTo,
      log: () => undefined,
      epoch: () => epoch,
      gap: () => gap,
      leaderAddress: () => '',
      onFenced: () => undefined,
      onCommitted: () => undefined,
      overload: () => undefined,
      monotonicMs: () => 0,
      sleep: () => Promise.resolve(),
    });
  };
  const project = async (): Promise<void> => {
    const tree = database.tree('t' as never);
    await store.project([{ treeId: 't' as never, entries: tree.entriesAfter(tree.projectedSeq, 1_000_000) }]);
  };
  return { world, make, database, takeOver, project };
}

const types = (database: MemoryDatabase) =>
  database
    .tree('t' as never)
    .entriesAfter(0, 1_000_000)
    .map(({ type }) => type);

describe('a lease that ran out without a leader', () => {
  it('is kept for one grace after the takeover, also from projected records', async () => {
    const { world, make, database, takeOver, project } = reigns();
    const first = await takeOver();
    await first.submit(make.create('t', { limits: 100 }));
    const { id } = granted(await first.submit(make.reserve('t', 100, { ttlMs: 1_000 }))).reservation;
    await project();
    const second = await takeOver();
    expect(world.nowMs).toBe(START_MS + TTL_MS);
    expect(refused(await second.submit(make.reserve('t', 1))).reason).toBe('CAPACITY_HELD');
    world.nowMs += GRACE_MS - 1;
    const renewed = granted(await second.submit(make.renew(id, 10_000))).reservation.figures;
    expect(renewed).toMatchObject({ state: 'ACTIVE', expireMs: world.nowMs + 10_000 });
    expect(types(database)).toEqual(['BudgetCreated', 'Granted', 'Graced', 'Refused', 'Renewed']);
  });

  it('lapses when the grace is over, though nobody looked at the tree meanwhile', async () => {
    const { world, make, database, takeOver } = reigns();
    const first = await takeOver();
    await first.submit(make.create('t', { limits: 100 }));
    await first.submit(make.reserve('t', 100, { ttlMs: 1_000 }));
    const second = await takeOver();
    world.nowMs += GRACE_MS;
    granted(await second.submit(make.reserve('t', 100)));
    expect(types(database)).toEqual(['BudgetCreated', 'Granted', 'Graced', 'Expired', 'Granted']);
  });

  it('keeps its grace where the leader that gave it is gone before it is over', async () => {
    const { world, make, database, takeOver } = reigns();
    const first = await takeOver();
    await first.submit(make.create('t', { limits: 100 }));
    const { id } = granted(await first.submit(make.reserve('t', 100, { ttlMs: 1_000 }))).reservation;
    await takeOver();
    // It was never heard of again, and had not looked at the tree.
    const third = await takeOver();
    expect(world.nowMs).toBe(START_MS + 2 * TTL_MS);
    world.nowMs += GRACE_MS - 1;
    granted(await third.submit(make.renew(id, 10_000)));
    expect(types(database)).toEqual(['BudgetCreated', 'Granted', 'Graced', 'Renewed']);
  });

  it('is moved in pages where there are many', async () => {
    const { world, make, database, takeOver, project } = reigns();
    const first = await takeOver();
    await first.submit(make.create('t', { limits: 5_000 }));
    const holds = Array.from({ length: 2_500 }, () => make.reserve('t', 2, { ttlMs: 1_000 }));
    await Promise.all(holds.map((hold) => first.submit(hold)));
    await project();
    const second = await takeOver();
    expect(await second.submit(make.getBudget('t'))).toMatchObject({ activeCount: 2_500 });
    expect(types(database).filter((type) => type === 'Graced')).toHaveLength(3);
    world.nowMs += GRACE_MS;
    expect(await second.submit(make.getBudget('t'))).toMatchObject({ activeCount: 0 });
  });

  it('and is moved behind one that was not looked at before it: that one lapses, and nothing is taken for corrupt', async () => {
    const { world, make, database, takeOver, project } = reigns();
    const first = await takeOver();
    for (const path of ['t', 't/a', 't/b']) await first.submit(make.create(path, { limits: 5_000 }));
    await project();
    // Not projected: they come with the tail, without their budgets.
    const moved = Array.from({ length: 1_000 }, () => make.reserve('t/a', 1, { ttlMs: 1_000 }));
    await Promise.all(moved.map((hold) => first.submit(hold)));
    granted(await first.submit(make.reserve('t/b', 1, { ttlMs: 4_500 })));
    // The gap is shorter than a grace: the thousand would have lapsed in it, the other lapses after it, before they do now.
    database.lease = { ...database.lease, renewedMs: START_MS + 5_500, expireMs: START_MS + 7_500 };
    const second = await takeOver();
    expect(world.nowMs).toBe(START_MS + 7_500);
    world.nowMs = START_MS + 10_000;
    expect(await second.submit(make.getBudget('t'))).toMatchObject({ activeCount: 1_000 });
    expect(second.quarantinedTrees).toEqual([]);
    expect(types(database).slice(-2)).toEqual(['Graced', 'Expired']);
  });

  it('before the leader was gone lapses as ever', async () => {
    const { world, make, database, takeOver } = reigns();
    const first = await takeOver();
    await first.submit(make.create('t', { limits: 100 }));
    await first.submit(make.reserve('t', 100, { ttlMs: 1_000 }));
    world.nowMs = database.lease.expireMs - 1_000;
    // Renewed late: the leader was there all the time, and nobody asked it.
    database.lease = {
      ...database.lease,
      renewedMs: world.nowMs + GRACE_MS,
      expireMs: world.nowMs + TTL_MS + GRACE_MS,
    };
    const second = await takeOver();
    granted(await second.submit(make.reserve('t', 100)));
    expect(types(database)).toEqual(['BudgetCreated', 'Granted', 'Expired', 'Granted']);
  });
});
