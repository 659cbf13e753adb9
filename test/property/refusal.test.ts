// A refusal changes no counter, no rate, no slot, no budget and no reservation at any level (DESIGN, promise 2).
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { pictureOf } from '../support/picture-of.ts';
import { tellStory } from '../support/tell-story.ts';

const records = (state: TreeState) => {
  const { position, budgets, reservations, leases } = pictureOf(state);
  return { budgetCount: position.budgetCount, budgets, reservations, leases };
};

it('a refusal changes nothing', () => {
  const reasons = new Map<string, number>();
  fc.assert(
    fc.property(arbitraryStory(30), (story) => {
      tellStory(story, {
        run: (driver, command) => {
          driver.recordLapses();
          const before = records(driver.state);
          const answer = driver.run(command);
          const only = answer.kind === 'renewals' ? answer.results[0] : answer;
          if (only?.kind !== 'refusal') return answer;
          reasons.set(only.reason, (reasons.get(only.reason) ?? 0) + 1);
          expect(records(driver.state)).toEqual(before);
          expect(only.unit).toBe(
            (only.failing ?? []).length > 0 || only.requestedMicros !== undefined ? 'USD' : undefined,
          );
          return answer;
        },
      });
    }),
    { numRuns: 300 },
  );
  for (const reason of [
    'BUDGET_NOT_FOUND',
    'BUDGET_SUSPENDED',
    'BUDGET_CLOSED',
    'MAX_RESERVATION_EXCEEDED',
    'MAX_LEASE_EXCEEDED',
    'DEPTH_LIMIT',
    'FAN_OUT_LIMIT',
    'WINDOW_CLOSED',
    'EXCEEDS_LIMIT',
    'RATE_LIMITED',
    'CONCURRENCY_LIMIT',
    'BUDGET_EXHAUSTED',
    'CAPACITY_HELD',
    'OVERRUN_REJECTED',
  ]) {
    expect(reasons.get(reason) ?? 0, reason).toBeGreaterThan(0);
  }
});
