// What leaves memory, and when: closed runs, what has ended, what was not used for long, and names that people make up.
import { describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import type { Command } from '../../../src/kernel/command.ts';
import type { BudgetPath, ReservationId } from '../../../src/kernel/names.ts';
import { rollingRule } from '../../../src/kernel/window.ts';
import { decideTree, type Submitted } from '../../../src/lane/batch.ts';
import { CacheBounds } from '../../../src/lane/cache-bounds.ts';
import { CachedTree } from '../../../src/lane/cached-tree.ts';
import { expireCommand } from '../../../src/lane/expire-command.ts';
import { Commands } from '../../support/commands.ts';
import { budgetOf, granted, KernelDriver, refused } from '../../support/kernel-driver.ts';
import { LaneWorld } from '../../support/lane-world.ts';

/** A tree with everything in memory that its journal has. */
function wholeTree(driver: KernelDriver): CachedTree {
  return new CachedTree(driver.state.treeId, {
    head: { seq: driver.journal.length, hash: '', atMs: driver.nowMs },
    projectedSeq: 0,
    budgetCount: 0,
    budgets: [],
    reservations: [],
    leasesThroughMs: Number.MAX_SAFE_INTEGER,
    tail: driver.journal,
    quarantine: undefined,
  });
}

function treeWith(treeId: string, counts: { answers: number; ended: number; budgets: number }): CachedTree {
  const driver = new KernelDriver(treeId);
  const { make } = driver;
  driver.run(make.create(treeId, { limits: 1_000_000 }));
  for (let no = 1; no < counts.budgets; no++) driver.run(make.create(`${treeId}/${no}`));
  for (let no = 0; no < counts.answers; no++) driver.hold(treeId, 1, { key: `k${no}` });
  for (let no = 0; no < counts.ended; no++) driver.run(make.release(driver.hold(treeId, 1)));
  return wholeTree(driver);
}

describe('the bounds over all trees', () => {
  it('are kept by forgetting what was used longest ago, of each kind for itself', () => {
    const bounds = new CacheBounds({ answers: 80, ended: 80, budgets: 80 });
    const old = treeWith('old', { answers: 30, ended: 5, budgets: 5 });
    const middle = treeWith('middle', { answers: 30, ended: 50, budgets: 5 });
    const young = treeWith('young', { answers: 30, ended: 5, budgets: 5 });
    for (const tree of [old, middle, young]) bounds.note(tree);
    bounds.trim([old, middle, young]);
    expect([old, middle, young].map((tree) => tree.spare())).toEqual([
      { answers: 10, ended: 5, budgets: 5 },
      { answers: 30, ended: 50, budgets: 5 },
      { answers: 30, ended: 5, budgets: 5 },
    ]);
    expect(bounds.totals).toEqual({ answers: 70, ended: 60, budgets: 15 });
    bounds.drop(middle);
    expect(bounds.totals).toEqual({ answers: 40, ended: 10, budgets: 10 });
    bounds.clear();
    expect(bounds.totals).toEqual({ answers: 0, ended: 0, budgets: 0 });
  });

  it('hold for one tree alone, and for very many small ones', () => {
    const bounds = new CacheBounds({ answers: 100, ended: 100, budgets: 1_000 });
    const one = treeWith('one', { answers: 300, ended: 0, budgets: 1 });
    bounds.note(one);
    bounds.trim([one]);
    expect(one.spare().answers).toBeLessThanOrEqual(100);
    const many = Array.from({ length: 100 }, (_, no) => treeWith(`m${no}`, { answers: 3, ended: 0, budgets: 1 }));
    for (const tree of many) bounds.note(tree);
    bounds.trim([one, ...many]);
    expect(bounds.totals.answers).toBeLessThanOrEqual(100);
    expect(many.at(-1)?.spare().answers).toBe(3);
  });

  it('do not look again at once where there was too little to forget', () => {
    const bounds = new CacheBounds({ answers: 100, ended: 100, budgets: 8 });
    const driver = new KernelDriver('t');
    driver.run(driver.make.create('t', { limits: 1_000_000 }));
    for (let no = 1; no < 12; no++) {
      driver.run(driver.make.create(`t/${no}`));
      driver.hold(`t/${no}`, 1);
    }
    const tree = wholeTree(driver);
    bounds.note(tree);
    let looks = 0;
    const trees = (): Iterable<CachedTree> => {
      looks += 1;
      return [tree];
    };
    const lazily = { [Symbol.iterator]: () => trees()[Symbol.iterator]() };
    bounds.trim(lazily);
    bounds.trim(lazily);
    expect([looks, tree.spare().budgets]).toEqual([1, 12]);
  });
});

describe('what charges very much', () => {
  const PATHS = ['t/a', 't/b', 't/c', 't/d', 't/e', 't/f', 't/g', 't/h', 't/i'];

  // A Reserve on all of these charges 170 accounts: 10 budgets of 17 windows each.
  function withWide(): KernelDriver {
    const driver = new KernelDriver();
    const limits = Object.fromEntries(
      Array.from({ length: 16 }, (_, no) => [`l${no}`, { rule: rollingRule((no + 1) * 60_000), amount: 1_000_000 }]),
    );
    for (const path of ['t', ...PATHS]) driver.run(driver.make.create(path, { limits }));
    return driver;
  }

  function submitted({ treeId }: CachedTree, command: Command): Submitted {
    const never = (): never => expect.unreachable('nothing is answered here');
    const item = { treeId, command, resolve: never, reject: never, sheddable: true, alone: false, attempts: 0 };
    return { ...item, searchedFor: undefined, sinceMs: 0 };
  }

  it('is forgotten as if it were many, its answers and itself', () => {
    const driver = withWide();
    const { make } = driver;
    for (let no = 0; no < 50; no++) {
      const [budget = '', ...also] = PATHS;
      driver.run(make.settle(granted(driver.run(make.reserve(budget, 1, { also, key: `k${no}` }))).reservation.id, 1));
    }
    const tree = wholeTree(driver);
    expect(tree.spare()).toEqual({ answers: 50 * 6, ended: 50 * 6, budgets: 90 });
    const bounds = new CacheBounds({ answers: 80, ended: 80, budgets: 80 });
    bounds.note(tree);
    bounds.trim([tree]);
    expect(bounds.totals).toEqual({ answers: 66, ended: 66, budgets: 63 });
    expect(tree.state.counts()).toMatchObject({ remembered: 11, reservations: 11 });
  });

  it('gives way to other trees: a batch takes as much of it as of usual commands', () => {
    const driver = withWide();
    const { make } = driver;
    const tree = wholeTree(driver);
    const [budget = '', ...also] = PATHS;
    const items = Array.from({ length: 100 }, () => submitted(tree, make.reserve(budget, 1, { also })));
    const { answered, deferred } = decideTree(tree, items, driver.context());
    // Each weighs 6, of 256.
    expect([answered.length, deferred.length]).toEqual([43, 57]);
    expect(deferred[0]).toBe(items[43]);
  });

  it('lapses in pages that weigh as much as those of usual holds', () => {
    const driver = withWide();
    const { make } = driver;
    const [budget = '', ...also] = PATHS;
    for (let no = 0; no < 30; no++) driver.run(make.reserve(budget, 1, { also, ttlMs: 1_000 }));
    driver.advance(60_000);
    const expire = { ...expireCommand(driver.state.treeId), countMax: 60 };
    expect(driver.decide(expire).answer).toEqual({ kind: 'expired', count: 10, more: true });
  });

  it('shares its accounts while it is live', () => {
    const driver = new KernelDriver();
    const { make } = driver;
    driver.run(make.create('t', { limits: 100 }));
    for (const path of PATHS) driver.run(make.create(path, { limits: 100 }));
    const [budget = '', ...also] = PATHS;
    const [first, second] = [1, 2].map(
      () => granted(driver.run(make.reserve(budget, 1, { also }))).reservation.accounts,
    );
    expect(first?.length).toBe(10);
    first?.forEach((account, at) => {
      expect(account).toBe(second?.[at]);
    });
  });
});

describe('budgets', () => {
  it('of closed runs leave memory under a busy tenant, those with holds excepted', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 1_000_000 }));
    const tree = wholeTree(driver);
    const commit = (command: Parameters<KernelDriver['run']>[0]): void => {
      const { length } = driver.journal;
      driver.run(command);
      const entries = driver.journal.slice(length);
      for (const entry of entries) apply(tree.state, entry);
      const head = { seq: driver.journal.length, hash: '', atMs: driver.nowMs };
      tree.seal(head);
      tree.committed(head, entries);
      tree.letGo();
    };
    for (let no = 0; no < 5_000; no++) {
      commit(driver.make.create(`t/run-${no}`));
      if (no === 0) commit(driver.make.reserve('t/run-0', 1, { id: 'open000000' }));
      commit(driver.make.close(`t/run-${no}`));
    }
    const { state } = tree;
    expect(state.counts().budgets).toBeLessThanOrEqual(2_002);
    expect(state.budgetAt('t/run-1' as BudgetPath)).toBeUndefined();
    expect(state.budgetAt('t/run-4999' as BudgetPath)).toBeDefined();
    expect(state.budgetAt('t/run-0' as BudgetPath)).toEqual(driver.state.budgetAt('t/run-0' as BudgetPath));
    expect(tree.missingFor(driver.make.getBudget('t/run-1'))?.paths).toEqual(['t/run-1']);
  });

  it('that left memory are read again, as they are', async () => {
    const world = await new LaneWorld().open(['t'], 1_000);
    const { lane, make } = world;
    await lane.submit(make.create('t/run', { limits: 10 }));
    const { id } = granted(await lane.submit(make.reserve('t/run', 4))).reservation;
    await lane.submit(make.settle(id, 3));
    const state = lane.cache.peek('t' as never)?.state;
    state?.evictBudgets(99);
    expect(state?.counts().budgets).toBe(1);
    expect(budgetOf(await lane.submit(make.getBudget('t/run')))).toMatchObject({
      lifetime: { settledMicros: 3n },
      headroom: { micros: 7n },
    });
    await world.project();
    state?.evictBudgets(99);
    granted(await lane.submit(make.reserve('t/run', 7)));
    // Once before it was there, and each time it had left.
    expect(world.loads).toHaveLength(3);
  });

  it('whose ancestors are not in memory are not taken for known: they came with their entry alone', async () => {
    const world = await new LaneWorld().open(['t'], 1_000);
    const { lane, make } = world;
    await lane.submit(make.create('t/a', { limits: 10 }));
    await world.project();
    await lane.submit(make.create('t/a/b', { limits: 5 }));
    lane.reset();
    await lane.submit(make.getBudget('t'));
    expect(granted(await lane.submit(make.reserve('t/a/b', 5))).headroom).toMatchObject({
      micros: 0n,
      budget: 't/a/b',
    });
  });
});

it('ended reservations that a load brings leave memory like those that end in it', () => {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 1_000_000 }));
  const tree = wholeTree(driver);
  const ids = Array.from({ length: 2_500 }, () => driver.hold('t', 1)) as ReservationId[];
  for (const id of ids) driver.run(driver.make.release(id));
  const reservations = ids.map((id) => driver.reservation(id));
  for (const reservation of reservations) {
    const asked = { paths: [], reservationIds: [reservation.id], leases: false };
    tree.install(
      {
        head: tree.head,
        projectedSeq: 1,
        budgetCount: 1,
        budgets: [],
        reservations: [reservation],
        leasesThroughMs: undefined,
        tail: [],
        quarantine: undefined,
      },
      asked,
    );
  }
  expect(tree.state.counts().reservations).toBeLessThanOrEqual(2_000);
  expect(tree.state.reservation(ids[0] as ReservationId)).toBeUndefined();
  expect(tree.state.reservation(ids.at(-1) as ReservationId)).toBeDefined();
});

describe('trees that do not exist', () => {
  it('are remembered for a while, and drive out no real one', async () => {
    const world = await new LaneWorld().open(['t']);
    const ask = (no: number) => world.lane.submit(new Commands(`ghost${no}`).getBudget(`ghost${no}`));
    for (let no = 0; no < 1_500; no += 100) {
      const answers = await Promise.all(Array.from({ length: 100 }, (_, at) => ask(no + at)));
      for (const answer of answers) expect(refused(answer).reason).toBe('BUDGET_NOT_FOUND');
    }
    expect(world.loads).toHaveLength(1_500);
    await ask(1_499);
    expect(world.loads).toHaveLength(1_500);
    const inMemory = Array.from({ length: 1_500 }, (_, no) => world.lane.cache.peek(`ghost${no}` as never));
    expect(inMemory.filter((tree) => tree !== undefined)).toHaveLength(1_000);
    expect(world.lane.cache.measure().cachedTrees).toBe(1);
  });

  it('keep no names, and are trees like others once they are made', async () => {
    const world = await new LaneWorld().open(['t']);
    const make = new Commands('new');
    for (const path of ['new', 'new/a', 'new/b']) await world.lane.submit(make.getBudget(path));
    expect(refused(await world.lane.submit(make.settle('nowhere000', 1))).reason).toBe('RESERVATION_NOT_FOUND');
    expect(world.loads).toHaveLength(1);
    expect(world.lane.cache.peek('new' as never)?.spare()).toEqual({ answers: 0, ended: 0, budgets: 0 });
    await world.lane.submit(make.create('new', { limits: 5 }));
    granted(await world.lane.submit(make.reserve('new', 5)));
    expect(world.lane.cache.measure()).toEqual({ cachedTrees: 2, openHolds: 1 });
  });
});

it('the first load of a tree brings the holds that lapse next, and the others come when their time is near', async () => {
  const world = await new LaneWorld().open(['t'], 1_000_000);
  const holds = Array.from({ length: 500 }, (_, no) => world.make.reserve('t', 1, { ttlMs: 60_000 + no }));
  await Promise.all(holds.map((hold) => world.lane.submit(hold)));
  await world.project();
  world.lane.reset();
  expect(await world.lane.submit(world.make.getBudget('t'))).toMatchObject({ activeCount: 500 });
  expect(world.lane.cache.peek('t' as never)?.state.counts().reservations).toBe(200);
  expect(world.loads).toHaveLength(1);
  world.nowMs += 30_300;
  expect(await world.lane.submit(world.make.getBudget('t'))).toMatchObject({ activeCount: 500 });
  expect(world.loads.map(({ leases }) => leases?.countMax)).toEqual([200, 2_000]);
  world.nowMs += 30_200;
  expect(await world.lane.submit(world.make.getBudget('t'))).toMatchObject({ activeCount: 0 });
});
