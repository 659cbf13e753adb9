// The ceiling (DESIGN, promise 1): after every command, settled + held of every limit is at most its amount; where an edit
// lowered the amount below that, no command takes it any higher until it fits again.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { tellStory } from '../support/tell-story.ts';

const most = (a: bigint, b: bigint) => (a > b ? a : b);

function usedByBudget(state: TreeState): Map<number, bigint> {
  const used = [...state.budgets()].map(({ def, counters: [lifetime] }) => {
    if (lifetime === undefined) throw new Error(`${def.path} has a lifetime counter`);
    return [def.no, lifetime.heldMicros + lifetime.settledMicros] as const;
  });
  return new Map(used);
}

it('settled + held never passes an amount, nor rises where an edit put the amount below it', () => {
  let lowered = 0;
  let full = 0;
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      let before = new Map<number, bigint>();
      tellStory(story, {
        after: ({ state }) => {
          const now = usedByBudget(state);
          for (const { def } of state.budgets()) {
            const used = now.get(def.no) ?? 0n;
            for (const { amountMicros } of def.limits) {
              expect(used).toBeLessThanOrEqual(most(amountMicros, before.get(def.no) ?? 0n));
              if (used > amountMicros) lowered += 1;
              if (used === amountMicros) full += 1;
            }
          }
          before = now;
        },
      });
    }),
    { numRuns: 200 },
  );
  // The stories must come to where the property could fail.
  expect(lowered).toBeGreaterThan(0);
  expect(full).toBeGreaterThan(0);
});
