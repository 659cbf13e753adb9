// Budgets on the wire, with their balances.
import { type Budget, BudgetState } from '../../gen/budgetd/v1/budget_pb.ts';
import type { Limit, LimitBalance } from '../../gen/budgetd/v1/limit_pb.ts';
import type { RateStanding } from '../../gen/budgetd/v1/terms_pb.ts';
import type { BudgetAnswer, RateStanding as KernelRateStanding, LimitStanding } from '../../kernel/answer.ts';
import type { BudgetDef } from '../../kernel/budget.ts';
import { atLeastZero } from '../../kernel/money.ts';
import { etagOf } from './etag.ts';
import { availabilityMessage, labelsMap } from './reservation-message.ts';
import {
  alertAtMessage,
  EXPIRIES,
  enforcementMessage,
  limitMessage,
  modelsMessage,
  OVERRUNS,
  RATE_KINDS,
  rateMessage,
  shapeMessage,
  templateMessage,
} from './terms-message.ts';
import { durationFromMs, timestampFromMs } from './time.ts';

// Closing is for good and a suspension is not, so where both bind the closing is told.
function stateOf({ closedBy, suspendedBy, activeCount }: BudgetAnswer): BudgetState {
  if (closedBy !== '') return activeCount > 0 ? BudgetState.CLOSING : BudgetState.CLOSED;
  return suspendedBy === '' ? BudgetState.ACTIVE : BudgetState.SUSPENDED;
}

function balanceMessage({ limit, amountMicros, counter, flooredMicros, period }: LimitStanding): LimitBalance {
  const { settledMicros, heldMicros, overrunMicros } = counter;
  return {
    $typeName: 'budgetd.v1.LimitBalance',
    limit: limit.name,
    amountMicros,
    settledMicros,
    heldMicros,
    overrunMicros,
    availableMicros: atLeastZero(amountMicros - settledMicros - heldMicros - overrunMicros),
    flooredMicros,
    periodStartTime: period && timestampFromMs(period.startMs),
    periodEndTime: period && timestampFromMs(period.endMs),
  };
}

function standingMessage({ rate, availableCount }: KernelRateStanding): RateStanding {
  return {
    $typeName: 'budgetd.v1.RateStanding',
    kind: RATE_KINDS[rate.kind],
    per: durationFromMs(rate.perMs),
    availableCount: BigInt(availableCount),
  };
}

// Limits are kept by the numbers of their windows; on the wire each has its window with it.
function limitsOf({ limits, windows }: BudgetDef): Limit[] {
  return limits.map(({ name, windowNo, amountMicros }) => {
    const window = windows.find(({ no }) => no === windowNo);
    return limitMessage({ name, rule: window?.rule ?? { kind: 'lifetime' }, amountMicros });
  });
}

/** What the definition alone says; what depends on more is unset. */
export function definitionMessage(def: BudgetDef): Budget {
  return {
    $typeName: 'budgetd.v1.Budget',
    budget: def.path,
    kind: def.kind,
    owner: def.owner,
    labels: {},
    unit: def.unit,
    uncapped: def.uncapped,
    limits: limitsOf(def),
    onExpiry: EXPIRIES[def.onExpiry],
    state: BudgetState.UNSPECIFIED,
    suspendedBy: '',
    closedBy: '',
    revision: BigInt(def.revision),
    etag: etagOf(def.revision),
    createTime: timestampFromMs(def.createMs),
    updateTime: timestampFromMs(def.updateMs),
    balances: [],
    rates: def.rates.map(rateMessage),
    shape: shapeMessage(def.shape),
    overrun: OVERRUNS[def.overrun],
    childTemplate: def.childTemplate && templateMessage(def.childTemplate),
    rateStandings: [],
    openChildren: 0n,
    enforcement: enforcementMessage(def.enforcement),
    alertAt: alertAtMessage(def.alertAt),
    weight: def.weight,
    floorMicros: def.floorMicros,
    sharePercent: def.sharePercent,
    models: modelsMessage(def.models),
  };
}

/** A budget as of its answer. */
export function budgetMessage(answer: BudgetAnswer): Budget {
  const { def, lifetime } = answer;
  return {
    ...definitionMessage(def),
    labels: labelsMap(answer.labels),
    state: stateOf(answer),
    suspendedBy: answer.suspendedBy,
    closedBy: answer.closedBy,
    balances: answer.standings.map(balanceMessage),
    totals: {
      $typeName: 'budgetd.v1.Totals',
      settledMicros: lifetime.settledMicros,
      heldMicros: lifetime.heldMicros,
      overrunMicros: lifetime.overrunMicros,
      activeReservations: BigInt(answer.activeCount),
    },
    availability: availabilityMessage(answer.headroom, def.unit),
    rateStandings: answer.rates.map(standingMessage),
    openChildren: BigInt(answer.openChildCount),
  };
}
