// One budget for people: its definition as facts, then its limits as a small tree picture. Its own file because `get`
// and every command that edits a budget end with it.
import { type Budget, BudgetState } from '../../gen/budgetd/v1/budget_pb.ts';
import { OnExpiry } from '../../gen/budgetd/v1/limit_pb.ts';
import type { BudgetTemplate } from '../../gen/budgetd/v1/terms_pb.ts';
import { formatAmount, formatMicros } from './amount.ts';
import { formatBounds, formatOverrun } from './bounds.ts';
import { drawTree, unitOf } from './draw-tree.ts';
import { enforcementFacts } from './enforcement.ts';
import { drawFacts, type Fact, formatLabels } from './facts.ts';
import { formatInstant } from './instant.ts';
import { modelFacts } from './models.ts';
import { formatRate, formatRates } from './rate.ts';
import { flooredFacts, shareFacts } from './shares.ts';
import { formatAvailability } from './show-availability.ts';
import type { Terminal } from './terminal.ts';
import { formatWindow } from './window.ts';

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
      ['overruns', formatOverrun(budget.overrun)],
      ...formatRates(budget.rates, budget.rateStandings).map((text, index): Fact => [index === 0 ? 'rates' : '', text]),
      ['bounds', formatBounds(budget.shape, unit).join(', ')],
      ...enforcementFacts(budget, unit),
      ...shareFacts(budget, unit),
      ...modelFacts(budget),
      ['template', budget.childTemplate && formatTemplate(budget.childTemplate, unit)],
      ...periodFacts(budget, unit),
      ['available', formatAvailability(budget.availability)],
      ...flooredFacts(budget, unit),
      ['settled', `${formatAmount(budget.totals?.settledMicros ?? 0n, unit)} in all`],
      [
        'held',
        `${formatAmount(budget.totals?.heldMicros ?? 0n, unit)} by ${budget.totals?.activeReservations ?? 0n} live`,
      ],
      ['overrun', overrun > 0n ? `${formatAmount(overrun, unit)} past the ceiling` : undefined],
      ['children', budget.openChildren > 0n ? `${budget.openChildren} open` : undefined],
      ['revision', `${budget.revision}`],
      ['created', formatInstant(budget.createTime)],
    ],
    terminal,
  );
  return budget.balances.length === 0 ? facts : `${facts}\n\n${drawTree([budget], terminal, false)}`;
}

// A lifetime limit has nothing to say here: its name and its line in the picture are all.
function periodFacts({ limits, balances }: Budget, unit: string): Fact[] {
  return limits.flatMap((limit, index): Fact[] => {
    const window = formatWindow(limit.window);
    if (window === 'lifetime') return [];
    const { periodStartTime, periodEndTime, amountMicros = limit.amountMicros } = balances[index] ?? {};
    // A range says its bounds itself, and is not always now.
    const start = limit.window?.kind.case === 'calendar' ? formatInstant(periodStartTime) : undefined;
    const end = formatInstant(periodEndTime) ?? '';
    const period = start === undefined ? '' : `, now from ${start} to ${end}`;
    const name = limit.name === '' ? 'limit' : limit.name;
    const toppedUpMicros = amountMicros - limit.amountMicros;
    const whole = `${formatMicros(limit.amountMicros)} + ${formatAmount(toppedUpMicros, unit)}`;
    const toppedUp = toppedUpMicros > 0n ? `, ${whole} topped up until ${end}` : '';
    return [[`limit ${name}`, `${window}${period}${toppedUp}`]];
  });
}

function formatTemplate(template: BudgetTemplate, unit: string): string {
  const { kind, limits, rates, shape, uncapped, overrun, childTemplate } = template;
  const policy = formatOverrun(overrun);
  const parts = [
    kind === '' ? 'budget' : kind,
    ...limits.map((limit) => `${formatAmount(limit.amountMicros, unit)}/${formatWindow(limit.window)}`),
    ...rates.map(formatRate),
    ...formatBounds(shape, unit),
    ...(uncapped ? ['uncapped'] : []),
    ...(policy === undefined ? [] : [`overrun ${policy}`]),
    ...[...enforcementFacts(template, unit), ...shareFacts(template, unit), ...modelFacts(template)].flatMap(
      ([name, value]) => (value ? [`${name} ${value}`] : []),
    ),
  ];
  const inner = childTemplate === undefined ? '' : ` > ${formatTemplate(childTemplate, unit)}`;
  return parts.join(', ') + inner;
}
