// Reads: how a budget and a reservation stand now. They append nothing.
import type { BudgetAnswer, LimitStanding, ReservationAnswer } from './answer.ts';
import type { BudgetState, LimitDef } from './budget.ts';
import { accountsAt, reservationCharge } from './charge.ts';
import type { DecideContext } from './decision.ts';
import { amountIn, counterAt, flooredIn, headroomAfter, headroomOf, tightest } from './headroom.ts';
import { invariant } from './invariant.ts';
import { levelAt, unitsAt } from './rate.ts';
import type { Reservation } from './reservation.ts';
import type { TreeState } from './tree-state.ts';
import type { Period, WindowRule } from './window.ts';

/**
 * A budget with its balances: as the state has it, as an entry will leave it, or with the definition that a repeat remembers.
 * Limits, what is available, suspension and closing all follow from the definition given, and so agree with it.
 */
export function readBudget(
  state: TreeState,
  budget: BudgetState,
  context: DecideContext,
  replayed: boolean,
): BudgetAnswer {
  const { def } = budget;
  const { nowMs, calendar } = context;
  const chain = state.chain(budget);
  const lifetime = budget.counters[0];
  invariant(lifetime !== undefined && lifetime.windowNo === 0, `budget ${def.path} has no lifetime counter`);
  return {
    kind: 'budget',
    treeId: state.treeId,
    def,
    labels: budget.labels,
    standings: def.limits.map((limit) => standingOf(budget, limit, context)),
    rates: def.rates.map((rate) => ({
      rate,
      availableCount: unitsAt(rate, levelAt(rate, budget.rateLevels, nowMs)),
    })),
    lifetime: { ...lifetime },
    activeCount: budget.activeCount,
    openChildCount: budget.openChildCount,
    headroom: headroomOf({ budgets: chain, accounts: accountsAt(chain, nowMs, calendar).accounts }, nowMs),
    suspendedBy: chain.find((level) => level.def.suspended)?.def.path ?? '',
    closedBy: chain.find((level) => level.def.closed)?.def.path ?? '',
    replayed,
  };
}

function standingOf(budget: BudgetState, limit: LimitDef, context: DecideContext): LimitStanding {
  const rule = budget.def.windows.find(({ no }) => no === limit.windowNo)?.rule;
  invariant(rule !== undefined, `limit ${limit.name} of ${budget.def.path} has a window`);
  const period = periodOf(rule, context);
  const account = { windowNo: limit.windowNo, periodMs: period?.startMs ?? 0 };
  return {
    limit,
    rule,
    amountMicros: amountIn(limit, account.periodMs),
    // A copy: the batch may move the counter on.
    counter: { ...counterAt(budget, account, context.nowMs), ...account },
    flooredMicros: flooredIn(budget, limit, account.periodMs, context.nowMs),
    period,
  };
}

function periodOf(rule: WindowRule, { nowMs, calendar }: DecideContext): Period | undefined {
  switch (rule.kind) {
    case 'range':
      return { startMs: rule.startMs, endMs: rule.endMs };
    case 'calendar':
      return calendar.period(rule, nowMs);
    default:
      return undefined;
  }
}

/** A reservation and what is available to its budget. */
export function readReservation(
  state: TreeState,
  reservation: Reservation,
  { nowMs, calendar }: DecideContext,
  replayed: boolean,
): ReservationAnswer {
  const charge = reservationCharge(state, reservation, calendar);
  const headroom = headroomAfter(charge, nowMs, tightest(charge, nowMs), 0n);
  return { kind: 'reservation', treeId: state.treeId, reservation, headroom, replayed, dryRun: false };
}
