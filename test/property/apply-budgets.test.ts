// Edits of many budgets at once do what the same edits do one by one, or nothing at all: on any tree, with holds, windows and rates, and
// the refusal that is told is the one that the change would have had in its turn.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apply } from '../../src/kernel/apply.ts';
import type { BudgetEdit } from '../../src/kernel/command.ts';
import { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryStory, RUN_PATHS, STORY_PATHS } from '../support/arbitrary-steps.ts';
import { amount, extras, limitsOf, policy } from '../support/arbitrary-terms.ts';
import type { Commands } from '../support/commands.ts';
import type { KernelDriver } from '../support/kernel-driver.ts';
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

it('does what its changes do one by one, or nothing', () => {
  const edits = fc.uniqueArray(edit, { minLength: 1, maxLength: 5, selector: ({ path }) => path });
  let appliedCount = 0;
  let refusedLateCount = 0;
  fc.assert(
    fc.property(arbitraryStory(20), edits, (story, drawn) => {
      const { driver: together } = tellStory(story);
      const { driver: apart } = tellStory(story);
      for (const driver of [together, apart]) driver.recordLapses();
      const before = pictureOf(together.state);
      const answer = together.run(together.make.applyBudgets(drawn.map((each) => commandOf(together.make, each))));
      if (answer.kind === 'budgets') {
        appliedCount += 1;
        const one = drawn.map((each) => apart.run(commandOf(apart.make, each)));
        expect(answer.results).toEqual(one);
        expect(pictureOf(together.state)).toEqual(pictureOf(apart.state));
      } else {
        if (answer.kind !== 'refusal') throw new Error(`answered with ${answer.kind}`);
        const index = answer.change?.index ?? -1;
        const [last, ...passed] = drawn.slice(0, index + 1).toReversed();
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
