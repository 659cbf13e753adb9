// The picture of a budget tree: box characters for the shape, one line a limit, bars and figures. Pure, so that tests
// can hold the picture itself.
import { type Budget, BudgetState } from '../../gen/budgetd/v1/budget_pb.ts';
import type { LimitBalance } from '../../gen/budgetd/v1/limit_pb.ts';
import { minMicros } from '../../kernel/money.ts';
import { formatMicros } from './amount.ts';
import { formatBounds } from './bounds.ts';
import { BAR_LEGEND, BAR_WIDTH, type BarFigures, drawBar } from './draw-bar.ts';
import { formatInstant } from './instant.ts';
import { formatRates } from './rate.ts';
import { flooredFacts, shareFacts } from './shares.ts';
import { type Cell, type Column, drawTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface Node {
  readonly budget: Budget;
  readonly children: Node[];
}

/** One line of the picture: a limit, or a budget without one (then there is no bar). */
interface Line {
  readonly label: string;
  readonly limit: string;
  readonly bar: BarFigures | undefined;
  readonly settledMicros: bigint;
  readonly heldMicros: bigint;
  readonly overrunMicros: bigint;
  /** Undefined where no limit applies. */
  readonly availableMicros: bigint | undefined;
  /** Undefined where the budget has no limit of its own. */
  readonly amountMicros: bigint | undefined;
  readonly unit: string;
  /** End of the limit's current period; empty where it has none. */
  readonly ends: string;
  readonly note: string;
}

/** Below this many columns the bars are drawn half as wide, so that the figures still fit on 80. */
const WIDE_COLUMNS_MIN = 110;
/** Name of a limit that was given none: a column of nothing else would only take room. */
const DEFAULT_LIMIT = 'lifetime';

/** Unit of a budget's tree; empty where the service did not say. */
export function unitOf(budget: Budget): string {
  return budget.unit !== '' ? budget.unit : (budget.availability?.unit ?? '');
}

/**
 * Draws budgets as trees, in any order given. A budget whose parent is not among them stands at the left with its whole
 * path. Columns that would say nothing are left out. Without `showsTerms` the notes leave out rates, bounds, floors and shares.
 */
export function drawTree(budgets: readonly Budget[], terminal: Terminal, showsTerms = true): string {
  const lines: Line[] = [];
  const note = (budget: Budget): string => [...noteOf(budget), ...(showsTerms ? termsOf(budget) : [])].join(', ');
  for (const root of plant(budgets)) addLines(lines, note, root, root.budget.budget, '', '');
  const barWidth = terminal.columns === undefined || terminal.columns >= WIDE_COLUMNS_MIN ? BAR_WIDTH : BAR_WIDTH / 2;
  const columns: (Column & { readonly cell: (line: Line) => Cell; readonly isShown?: boolean })[] = [
    { title: 'BUDGET', shrinkTo: 16, cell: (line) => line.label },
    {
      title: 'LIMIT',
      shrinkTo: 8,
      cell: (line) => line.limit,
      isShown: lines.some((line) => line.bar !== undefined && line.limit !== DEFAULT_LIMIT),
    },
    { title: '', cell: (line) => (line.bar === undefined ? '' : drawBar(line.bar, barWidth)) },
    { title: 'SETTLED', align: 'amount', cell: (line) => formatMicros(line.settledMicros) },
    { title: 'HELD', align: 'amount', cell: (line) => formatMicros(line.heldMicros) },
    {
      title: 'OVERRUN',
      align: 'amount',
      cell: (line) => formatMicros(line.overrunMicros),
      isShown: lines.some((line) => line.overrunMicros > 0n),
    },
    {
      title: 'AVAILABLE',
      align: 'amount',
      cell: (line) => (line.availableMicros === undefined ? '∞' : formatMicros(line.availableMicros)),
    },
    {
      title: 'OF',
      align: 'amount',
      cell: (line) => (line.amountMicros === undefined ? '-' : formatMicros(line.amountMicros)),
    },
    { title: 'UNIT', cell: (line) => line.unit },
    { title: 'PERIOD ENDS', cell: (line) => line.ends, isShown: lines.some((line) => line.ends !== '') },
    { title: 'NOTE', shrinkTo: 8, cell: (line) => line.note, isShown: lines.some((line) => line.note !== '') },
  ];
  const shown = columns.filter((column) => column.isShown ?? true);
  const rows = lines.map((line) => shown.map((column) => column.cell(line)));
  return `${drawTable(shown, rows, terminal)}\n\n${terminal.paint('faint', BAR_LEGEND)}`;
}

function plant(budgets: readonly Budget[]): Node[] {
  const nodes = new Map(budgets.map((budget): [string, Node] => [budget.budget, { budget, children: [] }]));
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const slash = node.budget.budget.lastIndexOf('/');
    const parent = slash === -1 ? undefined : nodes.get(node.budget.budget.slice(0, slash));
    (parent?.children ?? roots).push(node);
  }
  return roots;
}

function addLines(
  lines: Line[],
  noteOn: (budget: Budget) => string,
  node: Node,
  name: string,
  stem: string,
  below: string,
): void {
  const { budget, children } = node;
  const [first, ...others] = budget.balances;
  const note = noteOn(budget);
  lines.push(
    first === undefined ? lineWithoutLimit(budget, stem + name, note) : lineOfLimit(budget, first, stem + name, note),
  );
  const beside = below + (children.length > 0 ? '│' : '');
  for (const balance of others) lines.push(lineOfLimit(budget, balance, beside, ''));
  for (const [index, child] of children.entries()) {
    const isLast = index === children.length - 1;
    const childName = child.budget.budget.slice(child.budget.budget.lastIndexOf('/') + 1);
    addLines(lines, noteOn, child, childName, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`);
  }
}

function lineOfLimit(budget: Budget, balance: LimitBalance, label: string, note: string): Line {
  const { limit, amountMicros, settledMicros, heldMicros, overrunMicros } = balance;
  const onChain = budget.availability?.availableMicros ?? balance.availableMicros;
  const bar = {
    amountMicros,
    settledMicros,
    heldMicros,
    overrunMicros,
    availableMicros: minMicros(onChain, balance.availableMicros),
  };
  const ends = formatInstant(balance.periodEndTime) ?? '';
  return { ...bar, label, limit, bar, unit: unitOf(budget), ends, note };
}

function lineWithoutLimit(budget: Budget, label: string, note: string): Line {
  return {
    label,
    limit: '-',
    bar: undefined,
    settledMicros: budget.totals?.settledMicros ?? 0n,
    heldMicros: budget.totals?.heldMicros ?? 0n,
    overrunMicros: budget.totals?.overrunMicros ?? 0n,
    availableMicros: budget.availability?.availableMicros,
    amountMicros: undefined,
    unit: unitOf(budget),
    ends: '',
    note,
  };
}

function termsOf(budget: Budget): string[] {
  const unit = unitOf(budget);
  return [
    ...[...shareFacts(budget, unit), ...flooredFacts(budget, unit)].flatMap(([name, value]) =>
      value === undefined ? [] : [`${name} ${value}`],
    ),
    ...formatRates(budget.rates, budget.rateStandings),
    ...formatBounds(budget.shape, unit),
  ];
}

function noteOf(budget: Budget): string[] {
  const { availability } = budget;
  const isBoundAbove =
    availability !== undefined && availability.budget !== '' && availability.budget !== budget.budget;
  return [
    budget.state === BudgetState.SUSPENDED ? stoppedBy('suspended', budget.suspendedBy, budget) : '',
    budget.state === BudgetState.CLOSING ? stoppedBy('closing', budget.closedBy, budget) : '',
    budget.state === BudgetState.CLOSED ? stoppedBy('closed', budget.closedBy, budget) : '',
    budget.uncapped ? 'uncapped' : '',
    isBoundAbove ? `bound by ${availability.budget} ${availability.limit}` : '',
  ].filter((part) => part !== '');
}

// Which budget's state it is says something only where it is another's.
function stoppedBy(word: string, path: string, { budget }: Budget): string {
  return path === budget ? word : `${word} by ${path}`;
}
