// What a load brings is joined to what is in memory only where the two can be brought to the same point of the journal.
import { describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import type { Command } from '../../../src/kernel/command.ts';
import type { BudgetPath, ReservationId } from '../../../src/kernel/names.ts';
import { CachedTree } from '../../../src/lane/cached-tree.ts';
import { type Missing, mergeMissing, needsOf } from '../../../src/lane/missing.ts';
import type { Loaded } from '../../../src/store/port.ts';
import { KernelDriver, START_MS } from '../../support/kernel-driver.ts';

const NOTHING: Missing = { paths: [], reservationIds: [], leases: false };

/** A journal that goes on, and the cache of it that holds what it was given. */
class World {
  readonly driver = new KernelDriver();
  readonly tree: CachedTree;

  constructor() {
    this.driver.run(this.driver.make.create('t', { limits: 100 }));
    this.driver.run(this.driver.make.create('t/a', { limits: 50 }));
    this.driver.run(this.driver.make.create('t/b', { limits: 50 }));
    this.tree = new CachedTree(this.driver.state.treeId, this.loaded(3, { paths: ['t'] }));
  }

  /** Runs a command and takes its entries into the cache, as a committed batch. */
  commit(command: Command): void {
    const { length } = this.driver.journal;
    this.driver.run(command);
    const entries = this.driver.journal.slice(length);
    for (const entry of entries) apply(this.tree.state, entry);
    const head = { seq: this.driver.journal.length, hash: '', atMs: this.driver.nowMs };
    this.tree.seal(head);
    this.tree.committed(head, entries);
    this.tree.letGo();
  }

  /** What a store says that has projected up to `projectedSeq`. */
  loaded(projectedSeq: number, wanted: { paths?: string[]; ids?: string[]; withTail?: boolean } = {}): Loaded {
    const past = new KernelDriver();
    for (const entry of this.driver.journal.slice(0, projectedSeq)) apply(past.state, entry);
    const budgets = (wanted.paths ?? []).flatMap((path) => past.state.budgetAt(path as BudgetPath) ?? []);
    const reservations = (wanted.ids ?? []).flatMap((id) => past.state.reservation(id as ReservationId) ?? []);
    return {
      head: { seq: this.driver.journal.length, hash: '', atMs: this.driver.nowMs },
      projectedSeq,
      budgetCount: past.state.position.budgetCount,
      budgets,
      reservations,
      leasesThroughMs: undefined,
      tail: wanted.withTail === false ? [] : this.driver.journal.slice(projectedSeq),
      quarantine: undefined,
    };
  }

  /** Expects that a budget in the cache is what it is by the whole journal. */
  expectTrue(path: string): void {
    const budget = this.tree.state.budgetAt(path as BudgetPath);
    expect(budget).toBeDefined();
    expect(budget).toEqual(this.driver.state.budgetAt(path as BudgetPath));
  }
}

describe('a tree that comes from the store', () => {
  it('stands where its journal ends, also in time, with and without a tail', () => {
    const { driver } = new World();
    driver.advance(5_000);
    driver.hold('t/a', 10);
    const world = new World();
    world.driver.advance(5_000);
    world.driver.hold('t/a', 10);
    for (const projectedSeq of [0, 2, 4]) {
      const tree = new CachedTree(
        world.driver.state.treeId,
        world.loaded(projectedSeq, { paths: ['t', 't/a', 't/b'] }),
      );
      expect(tree.state.position).toEqual({ seq: 4, atMs: START_MS + 5_000, budgetCount: 3 });
      expect(tree.state.budgetAt('t' as BudgetPath)).toEqual(world.driver.state.budgetAt('t' as BudgetPath));
      expect(tree.tail).toHaveLength(4 - projectedSeq);
    }
  });

  it('is refused where it does not reach to the head', () => {
    const world = new World();
    const short = { ...world.loaded(2), tail: [] };
    expect(() => new CachedTree(world.tree.treeId, short)).toThrow(/ends at 2/);
  });
});

describe('install', () => {
  it('brings records forward by the entries that committed while they were read', () => {
    const world = new World();
    const read = world.loaded(3, { paths: ['t', 't/a'], withTail: false });
    world.commit(world.driver.make.reserve('t/a', 10, { id: 'during0000' }));
    world.commit(world.driver.make.topUp('t/a', 7));
    expect(world.tree.install(read, { ...NOTHING, paths: ['t/a' as BudgetPath] })).toBe(true);
    world.expectTrue('t/a');
    world.expectTrue('t');
  });

  it('does not overwrite what is newer in memory', () => {
    const world = new World();
    const read = world.loaded(3, { paths: ['t'], withTail: false });
    world.commit(world.driver.make.reserve('t', 10));
    world.tree.install(read, NOTHING);
    world.expectTrue('t');
  });

  it('refuses what was read before the projection that the tail starts at', () => {
    const world = new World();
    const read = world.loaded(3, { paths: ['t', 't/a'], withTail: false });
    world.commit(world.driver.make.reserve('t/a', 10));
    world.tree.projected(4);
    expect(world.tree.tail).toEqual([]);
    expect(world.tree.install(read, { ...NOTHING, paths: ['t/a' as BudgetPath] })).toBe(false);
    expect(world.tree.state.budgetAt('t/a' as BudgetPath)).toBeUndefined();
    expect(world.tree.install(world.loaded(4, { paths: ['t', 't/a'], withTail: false }), NOTHING)).toBe(true);
    world.expectTrue('t/a');
  });

  it('refuses what is ahead of memory: somebody else wrote it', () => {
    const world = new World();
    world.driver.hold('t/a', 10);
    expect(world.tree.install(world.loaded(4, { paths: ['t/a'], withTail: false }), NOTHING)).toBe(false);
    expect(world.tree.state.budgetAt('t/a' as BudgetPath)).toBeUndefined();
  });

  it('counts the children that were made and closed while a budget was read, whatever else became of them', () => {
    const world = new World();
    const read = world.loaded(3, { paths: ['t', 't/a'], withTail: false });
    const { make } = world.driver;
    for (const name of ['x', 'y', 'z']) world.commit(make.create(`t/a/${name}`));
    const day = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;
    world.commit(make.update('t/a/x', { limits: { day: { amount: 9, rule: day } } }));
    world.commit(make.reserve('t/a/x', 3));
    world.commit(make.close('t/a/y'));
    world.commit(make.close('t/a/y'));
    expect(world.tree.install(read, { ...NOTHING, paths: ['t/a' as BudgetPath] })).toBe(true);
    world.expectTrue('t/a');
    expect(world.tree.state.budgetAt('t/a' as BudgetPath)).toMatchObject({ openChildCount: 2, activeCount: 1 });
  });

  it('brings an ended reservation only where it was asked for', () => {
    const world = new World();
    const { make } = world.driver;
    world.commit(make.reserve('t', 10, { id: 'ended00000' }));
    world.commit(make.settle('ended00000', 4));
    world.tree.state.evictReservation('ended00000' as ReservationId);
    const id = 'ended00000' as ReservationId;
    const read = () => world.loaded(4, { ids: [id], withTail: false });
    world.tree.install(read(), NOTHING);
    expect(world.tree.state.reservation(id)).toBeUndefined();
    world.tree.install(read(), { ...NOTHING, reservationIds: [id] });
    expect(world.tree.state.reservation(id)).toEqual(world.driver.state.reservation(id));
  });
});

describe('what is missing', () => {
  it('is asked for once: what is not there is noted', () => {
    const world = new World();
    const reserve = world.driver.make.reserve('t/ghost', 1);
    const settle = world.driver.make.settle('nowhere000', 1);
    const missing = mergeMissing([
      world.tree.missingFor(reserve) ?? NOTHING,
      world.tree.missingFor(settle) ?? NOTHING,
      world.tree.missingFor(reserve) ?? NOTHING,
    ]);
    expect(missing).toEqual({ paths: ['t/ghost'], reservationIds: ['nowhere000'], leases: false });
    world.tree.install(world.loaded(3, { withTail: false }), missing);
    expect([world.tree.missingFor(reserve), world.tree.missingFor(settle)]).toEqual([undefined, undefined]);
    world.commit(world.driver.make.create('t/ghost'));
    expect(world.tree.missingFor(reserve)).toBeUndefined();
    expect(world.tree.state.budgetAt('t/ghost' as BudgetPath)).toBeDefined();
  });

  it('of a new budget is its parent too, of a lease its budgets, of a repeat its reservation', () => {
    const world = new World();
    const { make } = world.driver;
    expect(world.tree.missingFor(make.create('t/a/x'))?.paths).toEqual(['t/a/x', 't/a']);
    const renewals = ['r1', 'r2'].map((id) => [id, 1] as const);
    expect(needsOf(make.batchRenew(renewals)).reservationIds).toEqual(['r1', 'r2']);
    const reserve = make.reserve('t', 10, { key: 'k' });
    world.commit(reserve);
    world.tree.state.evictReservation(reserve.id);
    expect(world.tree.missingFor(make.again(reserve))).toMatchObject({ reservationIds: [reserve.id] });
  });

  it('for lapses is every lease up to now', () => {
    const world = new World();
    expect(world.tree.missingForDue(START_MS)).toMatchObject({ leases: true });
    world.tree.install({ ...world.loaded(3, { withTail: false }), leasesThroughMs: START_MS + 1_000 }, NOTHING);
    expect(world.tree.missingForDue(START_MS + 1_000)).toBeUndefined();
    expect(world.tree.missingForDue(START_MS + 1_001)).toMatchObject({ leases: true });
  });

  it('for lapses is also the budgets that a due lease charges', () => {
    const world = new World();
    const id = world.driver.hold('t/a', 10, { ttlMs: 1_000 });
    const lease = { ...world.loaded(4, { ids: [id] }), leasesThroughMs: Number.MAX_SAFE_INTEGER };
    const tree = new CachedTree(world.tree.treeId, lease);
    expect(tree.missingForDue(START_MS + 999)).toBeUndefined();
    expect(tree.missingForDue(START_MS + 1_000)).toEqual({ paths: ['t/a'], reservationIds: [], leases: false });
  });
});

it('ended reservations leave memory, oldest first, and live ones stay', () => {
  const world = new World();
  const { make } = world.driver;
  world.commit(make.reserve('t', 1, { id: 'live000000' }));
  for (let no = 0; no < 2_001; no++) {
    const id = `e${String(no).padStart(9, '0')}`;
    world.commit(make.reserve('t', 1, { id }));
    world.commit(no % 2 === 0 ? make.release(id) : make.settle(id, 0));
  }
  const { state } = world.tree;
  expect(state.counts().reservations).toBe(1_001);
  expect(state.reservation('live000000' as ReservationId)).toBeDefined();
  expect(state.reservation('e000000000' as ReservationId)).toBeUndefined();
  expect(state.reservation('e000002000' as ReservationId)).toBeDefined();
});
