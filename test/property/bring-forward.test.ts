// A load that is joined to what is in memory gives what the whole journal gives: brought forward by the entries that touch it,
// whatever of the tree was in memory before and however old the load is. Of windows a load brings what the store promises and
// no more, and what memory lets go of them comes back when it is asked for.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apply } from '../../src/kernel/apply.ts';
import type { Account, BudgetState, Counter } from '../../src/kernel/budget.ts';
import { decide } from '../../src/kernel/decide.ts';
import { type BudgetPath, chainOf } from '../../src/kernel/names.ts';
import { TreeState } from '../../src/kernel/tree-state.ts';
import { CachedTree } from '../../src/lane/cached-tree.ts';
import type { Missing } from '../../src/lane/missing.ts';
import type { Loaded } from '../../src/store/port.ts';
import { arbitraryStory, STORY_PATHS } from '../support/arbitrary-steps.ts';
import { countingBudget } from '../support/counting-budget.ts';
import type { KernelDriver } from '../support/kernel-driver.ts';
import { tellStory } from '../support/tell-story.ts';

/** What a store says that has projected up to `projectedSeq`; its leases all come along. */
function load(
  { journal, state, nowMs }: KernelDriver,
  projectedSeq: number,
  { paths, reservationIds, periods = [] }: Omit<Missing, 'leases'>,
) {
  const past = new TreeState(state.treeId, { seq: 0, atMs: 0, budgetCount: 0 });
  for (const entry of journal.slice(0, projectedSeq)) apply(past, entry);
  const wanted = new Set(paths.flatMap((path) => chainOf(path)));
  const reservations = [...past.reservations()].filter(
    ({ id, figures }) => figures.state === 'ACTIVE' || reservationIds.includes(id),
  );
  const accounts = [...reservations.flatMap((reservation) => reservation.accounts), ...periods];
  const charged = new Set(accounts.map(({ budgetNo }) => budgetNo));
  return {
    head: { seq: journal.length, hash: '', atMs: journal.at(-1)?.atMs ?? nowMs },
    projectedSeq,
    budgetCount: past.position.budgetCount,
    budgets: [...past.budgets()]
      .filter(({ def }) => wanted.has(def.path) || charged.has(def.no))
      .map((budget) => asLoaded(budget, accounts, past.position.atMs)),
    reservations,
    leasesThroughMs: Number.MAX_SAFE_INTEGER,
    tail: journal.slice(projectedSeq),
    quarantine: undefined,
  } satisfies Loaded;
}

function asLoaded(budget: BudgetState, accounts: readonly Account[], atMs: number): BudgetState {
  const isNamed = ({ windowNo, periodMs }: Counter) =>
    accounts.some(
      (each) => each.budgetNo === budget.def.no && each.windowNo === windowNo && each.periodMs === periodMs,
    );
  const isLatest = ({ windowNo, periodMs }: Counter) =>
    !budget.counters.some((other) => other.windowNo === windowNo && other.periodMs > periodMs);
  const counters = budget.counters.filter((counter) => isNamed(counter) || isLatest(counter));
  return countingBudget({ ...budget, counters }, atMs);
}

/** Expects that what a budget has in memory is what it has by the whole journal, and that the latest periods are there. */
function expectTrue(budget: BudgetState, whole: BudgetState, atMs: number): void {
  const [here, there] = [countingBudget(budget, atMs), countingBudget(whole, atMs)];
  const keyOf = ({ windowNo, periodMs }: Counter) => `${windowNo}:${periodMs}`;
  const keys = new Set(here.counters.map(keyOf));
  expect(here).toEqual({ ...there, counters: there.counters.filter((counter) => keys.has(keyOf(counter))) });
  const latest = new Map(there.counters.map((counter) => [counter.windowNo, keyOf(counter)]));
  for (const key of latest.values()) expect(keys).toContain(key);
}

const asPaths = (paths: readonly string[]) => paths as readonly BudgetPath[];

const fraction = fc.double({ min: 0, max: 1, noNaN: true });

it('what a load brings is what a replay of everything gives', () => {
  fc.assert(
    fc.property(
      arbitraryStory(40),
      fraction,
      fraction,
      fc.subarray([...STORY_PATHS]),
      fc.subarray([...STORY_PATHS]),
      fc.infiniteStream(fc.boolean()),
      (story, early, late, pathsBefore, paths, coins) => {
        const { driver } = tellStory(story);
        const { journal, state } = driver;
        const all = [...state.reservations()].map(({ id }) => id);
        const firstSeq = Math.floor(early * journal.length);
        const before = { paths: asPaths(pathsBefore), reservationIds: [] };
        const tree = new CachedTree(state.treeId, load(driver, firstSeq, before));
        // Some of it leaves memory again; live holds stay.
        tree.forget('budgets', 2);
        tree.state.evictPast(state.position.atMs);
        for (const id of all) {
          const isLive = state.reservation(id)?.figures.state === 'ACTIVE';
          if (!isLive && coins.next().value === true) tree.state.evictReservation(id);
        }
        const ids = all.filter(() => coins.next().value === true);
        const projectedSeq = firstSeq + Math.floor(late * (journal.length - firstSeq));
        const asked = { paths: asPaths(paths), reservationIds: ids, leases: false };
        expect(tree.install(load(driver, projectedSeq, asked), asked)).toBe(true);
        // Whatever is in memory is right, and what was asked for is in memory.
        const { atMs } = state.position;
        for (const budget of tree.state.budgets()) expectTrue(budget, state.mustBudget(budget.def.no), atMs);
        for (const held of tree.state.reservations()) expect(held).toEqual(state.reservation(held.id));
        for (const path of asked.paths.flatMap(chainOf)) {
          expect(tree.state.budgetAt(path)?.def.no).toBe(state.budgetAt(path)?.def.no);
        }
        const live = [...state.reservations()].filter(({ figures }) => figures.state === 'ACTIVE').map(({ id }) => id);
        for (const id of [...ids, ...live]) expect(tree.state.reservation(id)?.id).toBe(id);
        // What decisions on them look at is asked for, once, and then it is there and right.
        for (const id of [...ids, ...live]) {
          const command = driver.make.getReservation(id);
          const missing = tree.missingFor(command);
          if (missing !== undefined) expect(tree.install(load(driver, projectedSeq, missing), missing)).toBe(true);
          expect(tree.missingFor(command)).toBeUndefined();
          const context = driver.context();
          expect(decide(tree.state, command, context)).toEqual(decide(state, command, context));
        }
        for (const budget of tree.state.budgets()) expectTrue(budget, state.mustBudget(budget.def.no), atMs);
        // And nothing can be decided on a budget whose ancestors are not there.
        for (const budget of tree.state.budgets()) expect(tree.state.chain(budget).at(-1)).toBe(budget);
      },
    ),
    { numRuns: 300 },
  );
});
