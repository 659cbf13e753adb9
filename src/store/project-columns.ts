// Row changes as the parameters of budgetd.project_batch: a row's numbers side by side in one array, its texts in another
// (sql/0006 says which). On the hot path of every reservation, so rows are pushed onto flat lists.
import type { Account } from '../kernel/budget.ts';
import { PRIORITY_DEFAULT } from '../kernel/enforcement.ts';
import type { Outcome, ReservationFigures, ReservationState } from '../kernel/reservation.ts';
import { budgetDefText } from './budget-def-codec.ts';
import type { AlertRow } from './fold-alerts.ts';
import type { BudgetRow, CounterRow, RateRow, ReservationRow, TreeChanges } from './fold-changes.ts';
import { quoted, scalarArray, textArray } from './pg-array.ts';
import { pricedText, priceText } from './price-codec.ts';
import { queueRowText } from './queued-codec.ts';

// Places in the arrays of sql/0006, from 1.
const STATE_NOS: Readonly<Record<ReservationState, number>> = {
  ACTIVE: 1,
  SETTLED: 2,
  RELEASED: 3,
  EXPIRED: 4,
  QUEUED: 5,
};
const OUTCOME_NOS: Readonly<Record<Outcome, number>> = { succeeded: 1, failed: 2, cancelled: 3 };

/** As it stands in a literal. */
type Element = number | bigint | string;

/** Array literals, but for `newCount` and `priceLines`. */
export interface ProjectColumns {
  readonly budgetNumbers: string;
  readonly budgetTexts: string;
  readonly counterNumbers: string;
  readonly rateNumbers: string;
  readonly rateLevels: string;
  readonly alertNumbers: string;
  /** Reservations that are new; they come first. */
  readonly newCount: number;
  readonly figureNumbers: string;
  readonly figureTexts: string;
  readonly grantNumbers: string;
  readonly grantTexts: string;
  /** What is written of their prices, two lines a reservation; none at all where nothing is. */
  readonly priceLines: string;
  /** Reservations whose rows of when they waited are taken away first. */
  readonly replacedNumbers: string;
  readonly replacedTexts: string;
  /** New ones that wait, or left the queue ungranted. */
  readonly queueNumbers: string;
  readonly queueTexts: string;
}

/** Columns of the changes of many trees; a tree's place is that in `changes`, from 1. */
export function columnsOf(changes: readonly TreeChanges[]): ProjectColumns {
  const budgetNumbers: Element[] = [];
  const budgetTexts: Element[] = [];
  const counterNumbers: Element[] = [];
  const rates: RateColumns = { numbers: [], levels: [] };
  const alertNumbers: Element[] = [];
  const fresh = new ReservationColumns();
  const changed = new ReservationColumns();
  const queue = new QueueColumns();
  changes.forEach((change, i) => {
    for (const row of change.budgets.values()) {
      pushBudget(budgetNumbers, i + 1, row);
      budgetTexts.push(quoted(row.def.path), row.def.uncapped ? 'true' : 'false', quoted(budgetDefText(row.def)));
    }
    for (const row of change.counters.values()) pushCounter(counterNumbers, i + 1, row);
    for (const row of change.rates.values()) pushRate(rates, i + 1, row);
    for (const rows of change.alerts.values()) for (const row of rows) pushAlert(alertNumbers, i + 1, row);
    for (const row of change.reservations.values()) {
      if (row.made === undefined) changed.push(i + 1, row);
      else fresh.push(i + 1, row);
      if (row.made?.type === 'Enqueued' || row.replaces) queue.push(i + 1, row);
    }
  });
  return {
    budgetNumbers: literalOf(budgetNumbers),
    budgetTexts: literalOf(budgetTexts),
    counterNumbers: literalOf(counterNumbers),
    rateNumbers: literalOf(rates.numbers),
    rateLevels: literalOf(rates.levels),
    alertNumbers: literalOf(alertNumbers),
    newCount: fresh.count,
    figureNumbers: literalOf(fresh.figureNumbers, changed.figureNumbers),
    figureTexts: literalOf(fresh.figureTexts, changed.figureTexts),
    grantNumbers: literalOf(fresh.grantNumbers),
    grantTexts: literalOf(fresh.grantTexts),
    priceLines: fresh.isPriced || changed.isPriced ? [...fresh.allPrices(), ...changed.allPrices()].join('\n') : '',
    replacedNumbers: literalOf(queue.replacedNumbers),
    replacedTexts: literalOf(queue.replacedTexts),
    queueNumbers: literalOf(queue.numbers),
    queueTexts: literalOf(queue.texts),
  };
}

// Joined once at the end: text that grows piece by piece is a chain of pieces, which costs more to flatten than it saves.
function literalOf(elements: readonly Element[], more: readonly Element[] = []): string {
  if (more.length === 0) return `{${elements.join(',')}}`;
  if (elements.length === 0) return `{${more.join(',')}}`;
  return `{${elements.join(',')},${more.join(',')}}`;
}

class ReservationColumns {
  count = 0;
  readonly figureNumbers: Element[] = [];
  readonly figureTexts: Element[] = [];
  readonly grantNumbers: Element[] = [];
  readonly grantTexts: Element[] = [];
  /** Two a reservation; none at all until the first of which anything is written. */
  readonly priceTexts: string[] = [];

  get isPriced(): boolean {
    return this.priceTexts.length > 0;
  }

  /** Those of all reservations. */
  allPrices(): readonly string[] {
    this.#fillPrices(this.count);
    return this.priceTexts;
  }

  push(treePlace: number, row: ReservationRow): void {
    const { id, made, price, priced, labelSeqs, figures } = row;
    if (this.isPriced || price !== undefined || priced !== undefined) {
      this.#fillPrices(this.count);
      this.priceTexts.push(price === undefined ? '' : priceText(price), priced === undefined ? '' : pricedText(priced));
    }
    this.count++;
    pushFigures(this.figureNumbers, treePlace, figures);
    const labels = labelSeqs.length === 0 ? 'NULL' : `"${scalarArray(labelSeqs)}"`;
    this.figureTexts.push(quoted(id), labels, quoted(figures.releaseReason));
    if (made === undefined) return;
    const { budgetNo, createMs, holder, accounts, also, priority, alternative, shadow } = made.reservation;
    this.grantNumbers.push(budgetNo, createMs, made.seq);
    this.grantTexts.push(
      quoted(holder),
      accountsLiteral(accounts),
      also.length === 0 ? 'NULL' : quoted(textArray(also)),
      priority === PRIORITY_DEFAULT ? 'NULL' : priority,
      alternative === '' ? 'NULL' : quoted(alternative),
      shadow === undefined ? 'NULL' : quoted(textArray([shadow.mode, shadow.reason, shadow.budget])),
    );
  }

  // Those that came before the first have none.
  #fillPrices(count: number): void {
    while (this.priceTexts.length < 2 * count) this.priceTexts.push('');
  }
}

/** Apart from the rest, so that those that never wait, which are nearly all, pay nothing for it. */
class QueueColumns {
  readonly replacedNumbers: Element[] = [];
  readonly replacedTexts: Element[] = [];
  readonly numbers: Element[] = [];
  readonly texts: Element[] = [];

  push(treePlace: number, { id, made, replaces }: ReservationRow): void {
    if (replaces) {
      this.replacedNumbers.push(treePlace);
      this.replacedTexts.push(quoted(id));
    }
    const { queued, budget } = made?.reservation ?? {};
    if (queued === undefined || budget === undefined) return;
    this.numbers.push(treePlace);
    this.texts.push(quoted(id), quoted(queueRowText(budget, queued)));
  }
}

// One that closes by age is looked at when it could be idle at the earliest: it may never have moved since it was made.
function pushBudget(to: Element[], treePlace: number, { def, labelSeq }: BudgetRow): void {
  const closeAfterMs = def.closed ? undefined : def.shape.closeAfterMs;
  const lookMs = closeAfterMs === undefined ? 'NULL' : def.createMs + closeAfterMs;
  to.push(treePlace, def.no, def.parentNo ?? 'NULL', labelSeq ?? 'NULL', closeAfterMs ?? 'NULL', lookMs);
}

function pushCounter(to: Element[], treePlace: number, row: CounterRow): void {
  const { budgetNo, windowNo, periodMs, heldMicros, settledMicros, overrunMicros, active, openChildren, movedMs } = row;
  to.push(treePlace, budgetNo, windowNo, periodMs, heldMicros, settledMicros, overrunMicros);
  to.push(active, openChildren, movedMs);
}

/** Levels stand apart: they may pass int64. */
interface RateColumns {
  readonly numbers: Element[];
  readonly levels: Element[];
}

function pushRate(to: RateColumns, treePlace: number, { budgetNo, rateNo, level, atMs }: RateRow): void {
  to.numbers.push(treePlace, budgetNo, rateNo, atMs);
  to.levels.push(level);
}

function pushAlert(to: Element[], treePlace: number, row: AlertRow): void {
  const { budgetNo, limitNo, periodMs, percent, atMs, usedMicros, amountMicros } = row;
  to.push(treePlace, budgetNo, limitNo, periodMs, percent, atMs, usedMicros, amountMicros);
}

function pushFigures(to: Element[], treePlace: number, f: ReservationFigures): void {
  const marks = (f.late ? 1 : 0) + (f.estimated ? 2 : 0) + (f.started ? 4 : 0);
  to.push(treePlace, STATE_NOS[f.state], f.outcome === undefined ? 'NULL' : OUTCOME_NOS[f.outcome], marks);
  to.push(f.requestedMicros, f.grantedMicros, f.heldMicros, f.settledMicros, f.releasedMicros, f.overrunMicros);
  to.push(f.estimatedMicros, f.lapsedHeldMicros, f.expireMs, f.reclaimMs, f.ttlMs, f.endMs ?? 'NULL');
  to.push(f.renewalCount);
}

// The kernel shares one array of accounts between all reservations of a budget.
const accountLiterals = new WeakMap<readonly Account[], string>();

function accountsLiteral(accounts: readonly Account[]): string {
  const known = accountLiterals.get(accounts);
  if (known !== undefined) return known;
  const literal = `"${scalarArray(accounts.flatMap((a) => [a.budgetNo, a.windowNo, a.periodMs]))}"`;
  accountLiterals.set(accounts, literal);
  return literal;
}
