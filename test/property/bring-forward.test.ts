// A load that is joined to what is in memory gives what the whole journal gives: brought forward by the entries that touch it,
// whatever of the tree was in memory before and however old the load is.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apply } from '../../src/kernel/apply.ts';
import { type BudgetPath, chainOf, type ReservationId } from '../../src/kernel/names.ts';
import { TreeState } from '../../src/kernel/tree-state.ts';
import { CachedTree } from '../../src/lane/cached-tree.ts';
import type { Loaded } from '../../src/store/port.ts';
import { arbitraryStory, STORY_PATHS } from '../support/arbitrary-steps.ts';
import type { KernelDriver } from '../support/kernel-driver.ts';
import { inOrder } from '../support/picture-of.ts';
import { tellStory } from '../support/tell-story.ts';

/** What a store says that has projected up to `projectedSeq`; its leases all come along. */
function load(
  { journal, state, nowMs }: KernelDriver,
  projectedSeq: number,
  paths: readonly string[],
  ids: readonly string[],
) {
  const past = new TreeState(state.treeId, { seq: 0, atMs: 0, budgetCount: 0 });
  for (const entry of journal.slice(0, projectedSeq)) apply(past, entry);
  const wanted = new Set(paths.flatMap((path) => chainOf(path as BudgetPath)));
  const reservations = [...past.reservations()].filter(
    ({ id, figures }) => figures.state === 'ACTIVE' || ids.includes(id),
  );
  const charged = new Set(reservations.flatMap(({ accounts }) => accounts.map(({ budgetNo }) => budgetNo)));
  return {
    head: { seq: journal.length, hash: '', atMs: journal.at(-1)?.atMs ?? nowMs },
    projectedSeq,
    budgetCount: past.position.budgetCount,
    budgets: [...past.budgets()].filter(({ def }) => wanted.has(def.path) || charged.has(def.no)),
    reservations,
    leasesThroughMs: Number.MAX_SAFE_INTEGER,
    tail: journal.slice(projectedSeq),
    quarantine: undefined,
  } satisfies Loaded;
}

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
        const tree = new CachedTree(state.treeId, load(driver, firstSeq, pathsBefore, []));
        // Some of it leaves memory again; live holds stay.
        tree.forget('budgets', 2);
        for (const id of all) {
          const isLive = state.reservation(id)?.figures.state === 'ACTIVE';
          if (!isLive && coins.next().value === true) tree.state.evictReservation(id);
        }
        const ids = all.filter(() => coins.next().value === true);
        const projectedSeq = firstSeq + Math.floor(late * (journal.length - firstSeq));
        const asked = { paths: paths as readonly string[] as BudgetPath[], reservationIds: ids, leases: false };
        expect(tree.install(load(driver, projectedSeq, paths, ids), asked)).toBe(true);
        // Whatever is in memory is right, and what was asked for is in memory.
        for (const budget of tree.state.budgets()) {
          const whole = state.budget(budget.def.no);
          expect(inOrder(budget)).toEqual(whole && inOrder(whole));
        }
        for (const held of tree.state.reservations()) expect(held).toEqual(state.reservation(held.id));
        for (const path of asked.paths.flatMap(chainOf)) {
          expect(tree.state.budgetAt(path)?.def.no).toBe(state.budgetAt(path)?.def.no);
        }
        const live = [...state.reservations()].filter(({ figures }) => figures.state === 'ACTIVE').map(({ id }) => id);
        for (const id of [...ids, ...live] as ReservationId[]) expect(tree.state.reservation(id)?.id).toBe(id);
        // And nothing can be decided on a budget whose ancestors are not there.
        for (const budget of tree.state.budgets()) expect(tree.state.chain(budget).at(-1)).toBe(budget);
      },
    ),
    { numRuns: 300 },
  );
});
