// An edit for which everybody who waits has to be judged again, or an instant at which everybody's time is over: a batch judges so many
// of them and no more, what comes next waits for those that are left, and in the end the same has happened as if it had been one batch.
import { expect, test } from 'vitest';
import type { Command } from '../../../src/kernel/command.ts';
import { decideTree, type Submitted, type TreeBatch } from '../../../src/lane/batch.ts';
import { CachedTree } from '../../../src/lane/cached-tree.ts';
import { commitTo } from '../../../src/lane/commitment.ts';
import { GENESIS_HASH } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { START_MS } from '../../support/start-time.ts';
import { testPricing } from '../../support/test-prices.ts';
import { UTC_CALENDAR } from '../../support/utc-calendar.ts';

const COUNT = 700;
const make = new Commands('t');

function emptyTree(): CachedTree {
  return new CachedTree(make.treeId, {
    head: { seq: 0, hash: GENESIS_HASH, atMs: 0 },
    projectedSeq: 0,
    budgetCount: 0,
    budgets: [],
    reservations: [],
    leasesThroughMs: Number.MAX_SAFE_INTEGER,
    tail: [],
    quarantine: undefined,
  });
}

function decideBatch(tree: CachedTree, items: readonly Submitted[], nowMs = START_MS): TreeBatch {
  const batch = decideTree(tree, items, {
    nowMs,
    graceMs: 0,
    commit: commitTo,
    calendar: UTC_CALENDAR,
    implausibleFactor: 1_000,
    pricing: testPricing(),
    queue: { ageMs: 60_000, countMax: 10_000, isAttached: () => true, isUntaken: () => false },
  });
  expect(batch.queueFaults).toEqual([]);
  expect([batch.failed, batch.parked, batch.unsearched, batch.paused]).toEqual([[], [], [], []]);
  if (batch.entries.length > 0) {
    const head = { seq: tree.state.position.seq, hash: GENESIS_HASH, atMs: nowMs };
    tree.seal(head);
    tree.committed(head, batch.entries);
  }
  return batch;
}

/** Decides commands until none has to wait for another batch, and returns the batches. */
function decideAll(tree: CachedTree, commands: readonly Command[], nowMs = START_MS): TreeBatch[] {
  const ignore = () => undefined;
  const flags = { sheddable: true, alone: false, attempts: 0, searchedFor: tree, sinceMs: 0 };
  let items: readonly Submitted[] = commands.map((command) => ({
    treeId: command.treeId,
    command,
    resolve: ignore,
    reject: ignore,
    ...flags,
  }));
  const batches: TreeBatch[] = [];
  while (items.length > 0) {
    expect(batches.length).toBeLessThan(100);
    const batch = decideBatch(tree, items, nowMs);
    batches.push(batch);
    items = batch.deferred;
  }
  return batches;
}

function treeWithMany(): CachedTree {
  const tree = emptyTree();
  const paths = Array.from({ length: COUNT }, (_, at) => `t/r${at}`);
  tree.noteAbsent({ paths: ['t', ...paths] as never, reservationIds: [], leases: false });
  const template = make.terms({ uncapped: true });
  decideAll(tree, [make.create('t', { limits: 1_000, template })]);
  decideAll(tree, [make.reserve('t', 1_000, { ttlMs: 600_000 })]);
  decideAll(
    tree,
    paths.map((path) => make.reserve(path, 10, { waitMs: 60_000, key: path })),
  );
  expect(tree.state.queue?.count).toBe(COUNT);
  return tree;
}

test('what comes after an edit of the rules waits until all have been judged by them', () => {
  const tree = treeWithMany();
  const [first, ...more] = decideAll(tree, [
    make.update('t', { enforcement: { kept: [{ priority: 'critical', micros: 5n }] } }),
    make.reserve('t', 1, { key: 'next' }),
  ]);
  expect(first?.answered.map(({ item }) => item.command.kind)).toEqual(['UpdateBudget']);
  expect(first?.deferred.map(({ command }) => command.kind)).toEqual(['Reserve']);
  expect(more).toHaveLength(Math.floor(COUNT / 256));
  expect(more.at(-1)?.answered.map(({ item }) => item.command.kind)).toEqual(['Reserve']);
  expect(tree.state.queue?.isDue(START_MS)).toBe(false);
});

test('it goes on by itself where nothing comes after it', () => {
  const tree = treeWithMany();
  decideAll(tree, [make.update('t', { enforcement: { mode: 'observe' } })]);
  let count = 0;
  for (; tree.state.queue?.isDue(START_MS) === true; count += 1) {
    expect(count).toBeLessThan(100);
    decideAll(tree, []);
    decideBatch(tree, []);
  }
  expect(count).toBeGreaterThan(1);
  expect(tree.state.queue).toBeUndefined();
});

const leavesIn = ({ entries }: TreeBatch): number =>
  entries.reduce((sum, entry) => sum + (entry.type === 'LeftQueue' ? entry.leaves.length : 0), 0);

test('what comes when the time of many is over waits until all have left, a few in each batch', () => {
  const tree = treeWithMany();
  const batches = decideAll(tree, [make.reserve('t', 1, { key: 'next' })], START_MS + 60_000);
  expect(batches.map(leavesIn)).toEqual([256, 256, COUNT - 2 * 256]);
  expect(batches.map(({ answered }) => answered.length)).toEqual([0, 0, 1]);
  expect(tree.state.queue).toBeUndefined();
});

test('of those that charge many budgets each counts as several', () => {
  const tree = emptyTree();
  const leaves = 'abcdefghi'.split('').map((name) => ['t', ...Array.from({ length: 15 }, () => name)]);
  const below = leaves.flatMap((leaf) => leaf.slice(1).map((_, at) => leaf.slice(0, at + 2).join('/')));
  tree.noteAbsent({ paths: ['t', ...below] as never, reservationIds: [], leases: false });
  decideAll(tree, [make.create('t', { limits: 1_000 })]);
  decideAll(
    tree,
    below.map((path) => make.create(path, { uncapped: true })),
  );
  decideAll(tree, [make.reserve('t', 1_000, { ttlMs: 600_000 })]);
  const [budget = '', ...also] = leaves.map((leaf) => leaf.join('/'));
  const keys = Array.from({ length: 40 }, (_, at) => `k${at}`);
  decideAll(
    tree,
    keys.map((key) => make.reserve(budget, 10, { waitMs: 60_000, also, key })),
  );
  // 144 levels are eighteen heads.
  const batches = decideAll(tree, [make.reserve('t', 1, { key: 'next' })], START_MS + 60_000);
  expect(batches.map(leavesIn)).toEqual([15, 15, 10]);
  expect(tree.state.queue).toBeUndefined();
});
