// The ceiling (DESIGN, promise 1): settled + held never passes an amount, in any window and period, and never rises while it is past
// an amount that an edit has lowered.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { WindowRule } from '../../src/kernel/window.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { budgetOf, type KernelDriver } from '../support/kernel-driver.ts';
import { tellStory } from '../support/tell-story.ts';

interface Standing {
  readonly rule: WindowRule;
  readonly amountMicros: bigint;
  readonly usedMicros: bigint;
}

// A window that goes and comes back starts from its past: it has another number then.
function standingsOf(driver: KernelDriver): Map<string, Standing> {
  const all = [...driver.state.budgets()].flatMap(({ def }) =>
    budgetOf(driver.decide(driver.make.getBudget(def.path)).answer).standings.map(
      ({ rule, limit, counter, amountMicros }) => {
        const key = `${def.path} ${limit.name} ${limit.windowNo} ${counter.periodMs}`;
        return [key, { rule, amountMicros, usedMicros: counter.heldMicros + counter.settledMicros }] as const;
      },
    ),
  );
  return new Map(all);
}

it('settled + held never passes an amount, nor rises where an edit put the amount below it', () => {
  let lowered = 0;
  const full = { lifetime: 0, range: 0, rolling: 0, calendar: 0 };
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      let before = new Map<string, Standing>();
      tellStory(story, {
        after: (driver, command) => {
          const now = standingsOf(driver);
          for (const [key, { rule, amountMicros, usedMicros }] of now) {
            const had = before.get(key)?.usedMicros;
            // What a new window starts from may be past its amount already.
            if (had === undefined && command.kind === 'UpdateBudget') continue;
            const ceiling = had !== undefined && had > amountMicros ? had : amountMicros;
            expect(usedMicros, key).toBeLessThanOrEqual(ceiling);
            if (usedMicros > amountMicros) lowered += 1;
            if (usedMicros === amountMicros) full[rule.kind] += 1;
          }
          before = now;
        },
      });
    }),
    { numRuns: 300 },
  );
  // The stories must come to where the property could fail.
  expect(lowered).toBeGreaterThan(0);
  for (const count of Object.values(full)) expect(count).toBeGreaterThan(0);
});
