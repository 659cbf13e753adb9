// The differ for what a `check` says of budgets: which of a budget's limits binds, and what that limit's current period
// holds. Pure, as the differ for answers is.
import type { Budget } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import type { LimitBalance } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import type { BalanceExpectation } from './expectation-fields.ts';
import { differs, type Mismatch } from './judge-answer.ts';

/** Judges the balances of one budget: its binding limit's, or its totals where it has no limit of its own. */
export function judgeBalances(expect: BalanceExpectation, budget: Budget): readonly Mismatch[] {
  const binding = bindingLimit(budget.balances) ?? budget.totals;
  const got = (micros: bigint | undefined) => micros ?? 'no totals in the answer';
  return [
    ...differs('held', expect.held, got(binding?.heldMicros)),
    ...differs('settled', expect.settled, got(binding?.settledMicros)),
    ...differs('overrun', expect.overrun, got(binding?.overrunMicros)),
    ...differs('available', expect.available, budget.availability?.availableMicros ?? 'no limit applies'),
  ].map((mismatch) => ({ ...mismatch, field: `balances.${budget.budget}.${mismatch.field}` }));
}

/** The limit with the least headroom, which may be negative; ties go to the first. */
function bindingLimit(balances: readonly LimitBalance[]): LimitBalance | undefined {
  return balances.reduce<LimitBalance | undefined>(
    (least, next) => (least === undefined || headroomMicros(next) < headroomMicros(least) ? next : least),
    undefined,
  );
}

function headroomMicros(balance: LimitBalance): bigint {
  return balance.amountMicros - balance.settledMicros - balance.heldMicros - balance.overrunMicros;
}
