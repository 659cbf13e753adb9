// A refusal changes no counter, no budget and no reservation at any level (DESIGN, promise 2).
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { refused } from '../support/kernel-driver.ts';
import { pictureOf } from '../support/picture-of.ts';
import { tellStory } from '../support/tell-story.ts';

const records = (state: TreeState) => {
  const { budgets, reservations, leases } = pictureOf(state);
  return { budgets, reservations, leases };
};

it('a refusal changes nothing', () => {
  let refusals = 0;
  fc.assert(
    fc.property(arbitraryStory(30), (story) => {
      tellStory(story, {
        run: (driver, command) => {
          driver.recordLapses();
          const before = records(driver.state);
          const answer = driver.run(command);
          const only = answer.kind === 'renewals' ? answer.results[0] : answer;
          if (only?.kind !== 'refusal') return answer;
          refusals += 1;
          expect(records(driver.state)).toEqual(before);
          const { reason, retryAfterMs } = refused(answer);
          // RetryInfo goes with what a wait can cure, and with nothing else that the kernel says.
          expect(retryAfterMs !== undefined).toBe(reason === 'CAPACITY_HELD');
          return answer;
        },
      });
    }),
    { numRuns: 120 },
  );
  expect(refusals).toBeGreaterThan(0);
});
