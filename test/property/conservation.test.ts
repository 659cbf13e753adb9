// A reservation moves every budget on its paths alike, once: whatever happens, the sums of a budget are those of the reservations
// that charge it. Where no path crosses another, a parent's are its own plus its children's.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BudgetState } from '../../src/kernel/budget.ts';
import type { Reservation } from '../../src/kernel/reservation.ts';
import type { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { charges } from '../support/sum-history.ts';
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
  for (const budget of state.budgets()) {
    const charging = [...state.reservations()].filter((each) => charges(each, budget.def.path));
    expect(ofBudget(budget)).toEqual(charging.map(ofReservation).reduce(plus, NOTHING));
  }
}

function expectParentsConserved(state: TreeState): void {
  const budgets = [...state.budgets()];
  for (const budget of budgets) {
    const own = [...state.reservations()].filter(({ budgetNo }) => budgetNo === budget.def.no).map(ofReservation);
    const children = budgets.filter(({ def }) => def.parentNo === budget.def.no);
    expect(ofBudget(budget)).toEqual([...own, ...children.map(ofBudget)].reduce(plus, NOTHING));
    expect(budget.openChildCount).toBe(children.filter(({ def }) => !def.closed).length);
  }
}

it('the sums of a budget are those of the reservations that charge it', () => {
  let crossing = 0;
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      const { driver } = tellStory(story, { after: ({ state }) => expectConserved(state) });
      crossing += [...driver.state.reservations()].filter(({ also }) => also.length > 0).length;
    }),
    { numRuns: 150 },
  );
  expect(crossing).toBeGreaterThan(0);
});

it('where no reservation names more budgets, the sums of a budget are its own reservations plus its children', () => {
  let made = 0;
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      const steps = story.steps.map((step) => (step.do === 'reserve' ? { ...step, also: [] } : step));
      const { driver } = tellStory({ ...story, steps }, { after: ({ state }) => expectParentsConserved(state) });
      made += driver.state.position.budgetCount - 4;
    }),
    { numRuns: 100 },
  );
  expect(made).toBeGreaterThan(0);
});
