// One budget for people: its definition as facts, then its limits as a small tree picture. Its own file because `get`
// and every command that edits a budget end with it.
import { type Budget, BudgetState } from '../../gen/budgetd/v1/budget_pb.ts';
import { OnExpiry } from '../../gen/budgetd/v1/limit_pb.ts';
import { formatAmount } from './amount.ts';
import { drawTree, unitOf } from './draw-tree.ts';
import { drawFacts, formatLabels } from './facts.ts';
import { formatInstant } from './instant.ts';
import { formatAvailability } from './show-availability.ts';
import type { Terminal } from './terminal.ts';

const STATES: Readonly<Record<number, string>> = {
  [BudgetState.ACTIVE]: 'active',
  [BudgetState.SUSPENDED]: 'suspended',
  [BudgetState.CLOSING]: 'closing: live holds are left',
  [BudgetState.CLOSED]: 'closed',
};

const ON_EXPIRY: Readonly<Record<number, string>> = {
  [OnExpiry.CHARGE]: 'charge',
  [OnExpiry.CHARGE_STARTED]: 'charge_started',
};

/** Draws a budget. */
export function drawBudget(budget: Budget, terminal: Terminal): string {
  const unit = unitOf(budget);
  const by = [budget.suspendedBy, budget.closedBy].filter((path) => path !== '' && path !== budget.budget);
  const overrun = budget.totals?.overrunMicros ?? 0n;
  const facts = drawFacts(
    [
      ['budget', budget.budget],
      ['kind', budget.kind],
      ['owner', budget.owner],
      ['labels', formatLabels(budget.labels)],
      ['state', [STATES[budget.state] ?? 'unknown', ...by.map((path) => `by ${path}`)].join(' ')],
      ['uncapped', budget.uncapped ? 'yes' : undefined],
      ['on expiry', ON_EXPIRY[budget.onExpiry]],
      ['available', formatAvailability(budget.availability)],
      ['settled', `${formatAmount(budget.totals?.settledMicros ?? 0n, unit)} in all`],
      [
        'held',
        `${formatAmount(budget.totals?.heldMicros ?? 0n, unit)} by ${budget.totals?.activeReservations ?? 0n} live`,
      ],
      ['overrun', overrun > 0n ? `${formatAmount(overrun, unit)} past the ceiling` : undefined],
      ['revision', `${budget.revision}`],
      ['created', formatInstant(budget.createTime)],
    ],
    terminal,
  );
  return budget.balances.length === 0 ? facts : `${facts}\n\n${drawTree([budget], terminal)}`;
}
