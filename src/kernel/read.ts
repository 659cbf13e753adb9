// Reads: how a budget and a reservation stand now. They append nothing.
import type { BudgetAnswer, LimitStanding, ReservationAnswer } from './answer.ts';
import type { BudgetState, Counter } from './budget.ts';
import { EMPTY_LIFETIME } from './budget.ts';
import { headroomAfter, headroomOf, tightest } from './headroom.ts';
import { invariant } from './invariant.ts';
import type { Reservation } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

/**
 * A budget with its balances: as the state has it, as an entry will leave it, or with the definition that a repeat remembers.
 * Limits, what is available, suspension and closing all follow from the definition given, and so agree with it.
 */
export function readBudget(state: TreeState, budget: BudgetState, replayed: boolean): BudgetAnswer {
  const { def } = budget;
  const chain = state.chain(budget);
  const lifetime = budget.counters[0];
  invariant(lifetime !== undefined && lifetime.windowNo === 0, `budget ${def.path} has no lifetime counter`);
  return {
    kind: 'budget',
    treeId: state.treeId,
    def,
    labels: budget.labels,
    standings: def.limits.map((limit): LimitStanding => ({ limit, counter: counterOf(budget, limit.windowNo) })),
    lifetime: { ...lifetime },
    activeCount: budget.activeCount,
    headroom: headroomOf(chain),
    suspendedBy: chain.find((level) => level.def.suspended)?.def.path ?? '',
    closedBy: chain.find((level) => level.def.closed)?.def.path ?? '',
    replayed,
  };
}

/** A reservation and what is available to its budget. */
export function readReservation(state: TreeState, reservation: Reservation, replayed: boolean): ReservationAnswer {
  const { accounts } = reservation;
  const headroom = headroomAfter(state, accounts, tightest(state, accounts), 0n);
  return { kind: 'reservation', treeId: state.treeId, reservation, headroom, replayed, dryRun: false };
}

function counterOf(budget: BudgetState, windowNo: number): Counter {
  // A copy: the batch may move the counter on.
  const counter = budget.counters.find((each) => each.windowNo === windowNo) ?? EMPTY_LIFETIME;
  return { ...counter, windowNo };
}
