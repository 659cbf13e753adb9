// Edits of many budgets at once do what the same edits do one by one, from the root down, or nothing at all: on any tree, with holds,
// windows and rates, and the refusal that is told is the one that the change would have had in its turn. The order that they are given in
// changes nothing, and whatever may be can be reached.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apply } from '../../src/kernel/apply.ts';
import { inDecidingOrder } from '../../src/kernel/change-order.ts';
import type { BudgetEdit } from '../../src/kernel/command.ts';
import { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryStory, RUN_PATHS, STORY_PATHS } from '../support/arbitrary-steps.ts';
import { amount, extras, limitsOf, policy } from '../support/arbitrary-terms.ts';
import type { Commands } from '../support/commands.ts';
import { budgetOf, KernelDriver } from '../support/kernel-driver.ts';
import { pictureOf } from '../support/picture-of.ts';
import { tellStory } from '../support/tell-story.ts';

const details = {
  limits: fc.option(limitsOf(amount), { nil: undefined, freq: 2 }),
  extras,
  policy,
  revision: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 6 }),
};
const known = fc.constantFrom(...STORY_PATHS);
const fresh = fc.constantFrom(...RUN_PATHS, 't/new', 't/new/a', 't/a/new', 'none/a');

const edit = fc.oneof(
  { weight: 4, arbitrary: fc.record({ path: known, kind: fc.constant('update' as const), ...details }) },
  { weight: 4, arbitrary: fc.record({ path: fresh, kind: fc.constant('create' as const), ...details }) },
  { weight: 1, arbitrary: fc.record({ path: known, kind: fc.constantFrom('create', 'close'), ...details }) },
  { weight: 1, arbitrary: fc.record({ path: fresh, kind: fc.constantFrom('update', 'close'), ...details }) },
);

type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

function commandOf(make: Commands, { path, kind, limits, extras: more, policy: onExpiry, revision }: Edit): BudgetEdit {
  const terms = { ...(limits !== undefined && { limits }), ...more, onExpiry };
  const { share, ...rest } = terms;
  switch (kind) {
    case 'create':
      return make.create(path, terms);
    case 'update':
      return make.update(path, {
        ...rest,
        ...(revision !== undefined && { revision }),
        ...(share !== undefined && { share: { to: share } }),
      });
    default:
      return { ...make.close(path), expectedRevision: revision };
  }
}

// What the state is made of must be what the journal says.
function expectReplayed({ journal, state }: KernelDriver): void {
  const replayed = new TreeState(state.treeId, { seq: 0, atMs: 0, budgetCount: 0 });
  for (const entry of journal) apply(replayed, entry);
  expect(pictureOf(state)).toEqual(pictureOf(replayed));
}

const edits = fc.uniqueArray(edit, { minLength: 1, maxLength: 5, selector: ({ path }) => path });

it('does what its changes do one by one, or nothing', () => {
  let appliedCount = 0;
  let refusedLateCount = 0;
  fc.assert(
    fc.property(arbitraryStory(20), edits, (story, drawn) => {
      const { driver: together } = tellStory(story);
      const { driver: apart } = tellStory(story);
      for (const driver of [together, apart]) driver.recordLapses();
      const before = pictureOf(together.state);
      const changes = drawn.map((each) => commandOf(together.make, each));
      const places = inDecidingOrder(together.state, changes).map(({ index }) => index);
      const turns = places.map((index) => drawn[index] as Edit);
      const answer = together.run(together.make.applyBudgets(changes));
      if (answer.kind === 'budgets') {
        appliedCount += 1;
        const one = turns.map((each) => apart.run(commandOf(apart.make, each)));
        expect(places.map((index) => answer.results[index])).toEqual(one);
        expect(pictureOf(together.state)).toEqual(pictureOf(apart.state));
      } else {
        if (answer.kind !== 'refusal') throw new Error(`answered with ${answer.kind}`);
        const turn = places.indexOf(answer.change?.index ?? -1);
        const [last, ...passed] = turns.slice(0, turn + 1).toReversed();
        for (const each of passed.toReversed()) {
          expect(apart.run(commandOf(apart.make, each)).kind).toBe('budget');
        }
        if (passed.length > 0) refusedLateCount += 1;
        const alone = last && apart.run(commandOf(apart.make, last));
        expect(alone).toMatchObject({ kind: 'refusal', reason: answer.reason });
        const { position: _, ...unchanged } = before;
        expect(pictureOf(together.state)).toMatchObject(unchanged);
      }
      expectReplayed(together);
    }),
    { numRuns: 300 },
  );
  // Both ways are gone often enough to say something.
  expect(Math.min(appliedCount, refusedLateCount)).toBeGreaterThan(5);
});

it('does the same in any order', () => {
  const ordered = edits.chain((all) =>
    fc.record({ all: fc.constant(all), other: fc.shuffledSubarray(all, { minLength: all.length }) }),
  );
  let appliedCount = 0;
  fc.assert(
    fc.property(arbitraryStory(10), ordered, (story, { all, other }) => {
      const outcomes = [all, other].map((drawn) => {
        const { driver } = tellStory(story);
        const answer = driver.run(driver.make.applyBudgets(drawn.map((each) => commandOf(driver.make, each))));
        if (answer.kind !== 'budgets') return answer.kind;
        appliedCount += 1;
        const answered = new Map(answer.results.map(({ def }) => [def.path, def]));
        return { answered, all: pictureOf(driver.state) };
      });
      expect(outcomes[0]).toEqual(outcomes[1]);
    }),
    { numRuns: 200 },
  );
  expect(appliedCount).toBeGreaterThan(10);
});

interface Wanted {
  readonly limit: number | undefined;
  readonly floor: number;
  readonly share: number | undefined;
}

/** Budgets by their paths, each below one that is there, with floors that have room and a place for each child. */
type Family = ReadonlyMap<string, Wanted>;

const wanted: fc.Arbitrary<Wanted> = fc.record({
  limit: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
  floor: fc.integer({ min: 0, max: 12 }),
  share: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
});

// A path and those above it come before those below it.
const FAMILY_PATHS = ['t', 't/a', 't/b', 't/c', 't/a/x', 't/a/y', 't/b/z'];

const family: fc.Arbitrary<Family> = fc
  .array(fc.option(wanted, { nil: undefined, freq: 4 }), {
    minLength: FAMILY_PATHS.length,
    maxLength: FAMILY_PATHS.length,
  })
  .map((drawn) => {
    const budgets = new Map<string, Wanted>();
    const leftOf = new Map<string, number>();
    for (const [at, path] of FAMILY_PATHS.entries()) {
      const above = path.slice(0, Math.max(0, path.lastIndexOf('/')));
      const terms = drawn[at];
      if (path === 't') budgets.set(path, { limit: terms?.limit ?? 10, floor: 0, share: undefined });
      else if (terms !== undefined && budgets.has(above)) {
        const left = leftOf.get(above) ?? budgets.get(above)?.limit ?? Number.POSITIVE_INFINITY;
        const floor = Math.min(left, terms.floor);
        leftOf.set(above, left - floor);
        budgets.set(path, { ...terms, floor });
      }
    }
    return budgets;
  });

const childrenOf = (all: Family, path: string) =>
  [...all.keys()].filter((each) => each.startsWith(`${path}/`) && !each.slice(path.length + 1).includes('/'));

function termsIn(all: Family, path: string) {
  const { limit, floor = 0, share } = all.get(path) ?? {};
  return { limits: limit ?? {}, floor, share, shape: { maxChildren: childrenOf(all, path).length } };
}

function creating(make: Commands, all: Family, path: string) {
  const { share, ...terms } = termsIn(all, path);
  return make.create(path, { ...terms, ...(share !== undefined && { share }) });
}

it('reaches whatever may be from whatever is', () => {
  fc.assert(
    fc.property(family, family, fc.infiniteStream(fc.nat()), (from, to, dice) => {
      const driver = new KernelDriver();
      const { make, state } = driver;
      for (const path of from.keys()) budgetOf(driver.run(creating(make, from, path)));
      const revisionOf = (path: string) => state.budgetAt(path as never)?.def.revision;
      const changes: BudgetEdit[] = [...to.keys()].map((path) => {
        const revision = revisionOf(path);
        if (revision === undefined) return creating(make, to, path);
        const { share, ...terms } = termsIn(to, path);
        return make.update(path, { ...terms, share: { to: share }, revision });
      });
      for (const path of from.keys()) {
        const isBelowClosed = !to.has(path.slice(0, Math.max(0, path.lastIndexOf('/'))));
        if (!to.has(path) && !isBelowClosed) changes.push({ ...make.close(path), expectedRevision: revisionOf(path) });
      }
      const shuffled = changes
        .map((change) => ({ change, at: dice.next().value ?? 0 }))
        .sort((a, b) => a.at - b.at)
        .map(({ change }) => change);
      expect(driver.run(make.applyBudgets(shuffled))).toMatchObject({ kind: 'budgets' });
      for (const [path, { limit, floor, share }] of to) {
        const def = state.budgetAt(path as never)?.def;
        expect([def?.limits.map(({ amountMicros }) => Number(amountMicros)), Number(def?.floorMicros)]).toEqual([
          limit === undefined ? [] : [limit],
          floor,
        ]);
        expect([def?.sharePercent, def?.closed]).toEqual([share, false]);
      }
      expectReplayed(driver);
    }),
    { numRuns: 300 },
  );
});
