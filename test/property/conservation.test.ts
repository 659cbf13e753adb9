// A reservation moves its budget and every ancestor alike: whatever happens, the sums of a budget are those of the
// reservations on it and below it, and so those of a parent are its own plus its children's.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BudgetState } from '../../src/kernel/budget.ts';
import type { Reservation } from '../../src/kernel/reservation.ts';
import type { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { tellStory } from '../support/tell-story.ts';

interface Sums {
  readonly held: bigint;
  readonly settled: bigint;
  readonly overrun: bigint;
  readonly active: number;
}

const NOTHING: Sums = { held: 0n, settled: 0n, overrun: 0n, active: 0 };

const plus = (a: Sums, b: Sums): Sums => ({
  held: a.held + b.held,
  settled: a.settled + b.settled,
  overrun: a.overrun + b.overrun,
  active: a.active + b.active,
});

const ofReservation = ({ figures }: Reservation): Sums => ({
  held: figures.heldMicros,
  settled: figures.settledMicros,
  overrun: figures.overrunMicros,
  active: figures.state === 'ACTIVE' ? 1 : 0,
});

const ofBudget = ({ counters: [lifetime], activeCount }: BudgetState): Sums => ({
  held: lifetime?.heldMicros ?? -1n,
  settled: lifetime?.settledMicros ?? -1n,
  overrun: lifetime?.overrunMicros ?? -1n,
  active: activeCount,
});

function expectConserved(state: TreeState): void {
  const budgets = [...state.budgets()];
  for (const budget of budgets) {
    const own = [...state.reservations()].filter(({ budgetNo }) => budgetNo === budget.def.no).map(ofReservation);
    const children = budgets.filter(({ def }) => def.parentNo === budget.def.no).map(ofBudget);
    expect(ofBudget(budget)).toEqual([...own, ...children].reduce(plus, NOTHING));
  }
}

it('the sums of a budget are its own reservations plus its children', () => {
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      tellStory(story, { after: ({ state }) => expectConserved(state) });
    }),
    { numRuns: 150 },
  );
});
