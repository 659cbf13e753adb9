// Budgets on the wire, with their balances.
import { type Budget, BudgetState } from '../../gen/budgetd/v1/budget_pb.ts';
import { type Limit, type LimitBalance, OnExpiry } from '../../gen/budgetd/v1/limit_pb.ts';
import type { BudgetAnswer, LimitStanding } from '../../kernel/answer.ts';
import type { OnExpiry as KernelOnExpiry, LimitDef } from '../../kernel/budget.ts';
import { atLeastZero } from '../../kernel/money.ts';
import { etagOf } from './etag.ts';
import { availabilityMessage, labelsMap } from './reservation-message.ts';
import { timestampFromMs } from './time.ts';

const EXPIRIES: Readonly<Record<KernelOnExpiry, OnExpiry>> = {
  release: OnExpiry.RELEASE,
  charge: OnExpiry.CHARGE,
  charge_started: OnExpiry.CHARGE_STARTED,
};

// Closing is for good and a suspension is not, so where both bind the closing is told.
function stateOf({ closedBy, suspendedBy, activeCount }: BudgetAnswer): BudgetState {
  if (closedBy !== '') return activeCount > 0 ? BudgetState.CLOSING : BudgetState.CLOSED;
  return suspendedBy === '' ? BudgetState.ACTIVE : BudgetState.SUSPENDED;
}

function limitMessage({ name, amountMicros }: LimitDef): Limit {
  return {
    $typeName: 'budgetd.v1.Limit',
    name,
    window: {
      $typeName: 'budgetd.v1.Window',
      kind: { case: 'lifetime', value: { $typeName: 'budgetd.v1.LifetimeWindow' } },
    },
    amountMicros,
  };
}

function balanceMessage({ limit, counter }: LimitStanding): LimitBalance {
  const { settledMicros, heldMicros, overrunMicros } = counter;
  return {
    $typeName: 'budgetd.v1.LimitBalance',
    limit: limit.name,
    amountMicros: limit.amountMicros,
    settledMicros,
    heldMicros,
    overrunMicros,
    availableMicros: atLeastZero(limit.amountMicros - settledMicros - heldMicros - overrunMicros),
  };
}

/** A budget as of its answer. */
export function budgetMessage(answer: BudgetAnswer): Budget {
  const { def, lifetime } = answer;
  return {
    $typeName: 'budgetd.v1.Budget',
    budget: def.path,
    kind: def.kind,
    owner: def.owner,
    labels: labelsMap(answer.labels),
    unit: def.unit,
    uncapped: def.uncapped,
    limits: def.limits.map(limitMessage),
    onExpiry: EXPIRIES[def.onExpiry],
    state: stateOf(answer),
    suspendedBy: answer.suspendedBy,
    closedBy: answer.closedBy,
    revision: BigInt(def.revision),
    etag: etagOf(def.revision),
    createTime: timestampFromMs(def.createMs),
    updateTime: timestampFromMs(def.updateMs),
    balances: answer.standings.map(balanceMessage),
    totals: {
      $typeName: 'budgetd.v1.Totals',
      settledMicros: lifetime.settledMicros,
      heldMicros: lifetime.heldMicros,
      overrunMicros: lifetime.overrunMicros,
      activeReservations: BigInt(answer.activeCount),
    },
    availability: availabilityMessage(answer.headroom, def.unit),
  };
}
