// A refusal changes no counter, no budget and no reservation at any level (DESIGN, promise 2).
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BudgetPath, ReservationId } from '../../src/kernel/names.ts';
import type { FailingLimit } from '../../src/kernel/refusal.ts';
import type { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { refused } from '../support/kernel-driver.ts';
import { pictureOf } from '../support/picture-of.ts';
import { tellStory } from '../support/tell-story.ts';

const records = (state: TreeState) => {
  const { budgets, reservations, leases } = pictureOf(state);
  return { budgets, reservations, leases };
};

const ownHeld = (state: TreeState, id: ReservationId) => state.reservation(id)?.figures.heldMicros ?? 0n;

function unspent(state: TreeState, { budget, amountMicros }: FailingLimit): bigint {
  const [lifetime] = state.budgetAt(budget as BudgetPath)?.counters ?? [];
  if (lifetime === undefined) throw new Error(`${budget} has a lifetime counter`);
  return amountMicros - lifetime.settledMicros - lifetime.overrunMicros;
}

it('a refusal changes nothing', () => {
  let refusals = 0;
  const held = { byOthers: 0, byItself: 0 };
  fc.assert(
    fc.property(arbitraryStory(30), (story) => {
      tellStory(story, {
        run: (driver, command) => {
          driver.recordLapses();
          const before = records(driver.state);
          const { key } = command;
          const isRepeat = key !== undefined && driver.state.remembered(key.digest) !== undefined;
          const answer = driver.run(command);
          const only = answer.kind === 'renewals' ? answer.results[0] : answer;
          if (only?.kind !== 'refusal') return answer;
          refusals += 1;
          expect(records(driver.state)).toEqual(before);
          // A remembered refusal is told again as it was, whatever has changed since.
          if (isRepeat) return answer;
          const { reason, retryAfterMs, failing = [], unit } = refused(answer);
          // RetryInfo goes with what a wait can cure, and with nothing else that the kernel says: what a reservation holds
          // itself does not come back while it waits.
          const own = command.kind === 'Extend' ? ownHeld(driver.state, command.id) : 0n;
          const min = 'minMicros' in command ? command.minMicros : 0n;
          const curable = failing.every((limit) => unspent(driver.state, limit) - own >= min);
          expect(retryAfterMs !== undefined).toBe(reason === 'CAPACITY_HELD' && curable);
          expect(unit).toBe(failing.length > 0 ? 'USD' : undefined);
          if (reason === 'CAPACITY_HELD') held[curable ? 'byOthers' : 'byItself'] += 1;
          return answer;
        },
      });
    }),
    { numRuns: 120 },
  );
  expect(refusals).toBeGreaterThan(0);
  expect(held.byOthers).toBeGreaterThan(0);
  expect(held.byItself).toBeGreaterThan(0);
});
