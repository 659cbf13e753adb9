// Row changes as the parameters of budgetd.project_batch: a row's numbers side by side in one array, its texts in another
// (sql/0006 says which). On the hot path of every reservation, so it is written as plain loops that only append to text.
import type { Account } from '../kernel/budget.ts';
import type { Outcome, ReservationFigures, ReservationState } from '../kernel/reservation.ts';
import { budgetDefText } from './budget-def-codec.ts';
import type { BudgetRow, CounterRow, ReservationRow, TreeChanges } from './fold-changes.ts';
import { quoted, scalarArray } from './pg-array.ts';

// Places in the arrays of sql/0006, from 1.
const STATE_NOS: Readonly<Record<ReservationState, number>> = { ACTIVE: 1, SETTLED: 2, RELEASED: 3, EXPIRED: 4 };
const OUTCOME_NOS: Readonly<Record<Outcome, number>> = { succeeded: 1, failed: 2, cancelled: 3 };

/** Array literals, but for `newCount`. */
export interface ProjectColumns {
  readonly budgetNumbers: string;
  readonly budgetTexts: string;
  readonly counterNumbers: string;
  /** Reservations that are new; they come first. */
  readonly newCount: number;
  readonly figureNumbers: string;
  readonly figureTexts: string;
  readonly grantNumbers: string;
  readonly grantTexts: string;
}

/** Columns of the changes of many trees; a tree's place is that in `changes`, from 1. */
export function columnsOf(changes: readonly TreeChanges[]): ProjectColumns {
  const budgetNumbers = new ArrayText();
  const budgetTexts = new ArrayText();
  const counterNumbers = new ArrayText();
  const fresh = new ReservationColumns();
  const changed = new ReservationColumns();
  changes.forEach((change, i) => {
    for (const row of change.budgets.values()) {
      budgetNumbers.add(budgetNumbersOf(i + 1, row));
      budgetTexts.add(`${quoted(row.def.path)},${row.def.uncapped},${quoted(budgetDefText(row.def))}`);
    }
    for (const row of change.counters.values()) counterNumbers.add(counterNumbersOf(i + 1, row));
    for (const row of change.reservations.values()) {
      if (row.granted === undefined) changed.add(i + 1, row);
      else fresh.add(i + 1, row);
    }
  });
  return {
    budgetNumbers: budgetNumbers.end(),
    budgetTexts: budgetTexts.end(),
    counterNumbers: counterNumbers.end(),
    newCount: fresh.count,
    figureNumbers: fresh.figureNumbers.end(changed.figureNumbers),
    figureTexts: fresh.figureTexts.end(changed.figureTexts),
    grantNumbers: fresh.grantNumbers.end(),
    grantTexts: fresh.grantTexts.end(),
  };
}

/** The text of an array literal while it grows. */
class ArrayText {
  #text = '';

  /** Adds elements, written as they stand in a literal. */
  add(elements: string): void {
    this.#text += this.#text === '' ? elements : `,${elements}`;
  }

  /** The literal, with the elements of `more` behind its own. */
  end(more?: ArrayText): string {
    if (more !== undefined && more.#text !== '') this.add(more.#text);
    return `{${this.#text}}`;
  }
}

class ReservationColumns {
  count = 0;
  readonly figureNumbers = new ArrayText();
  readonly figureTexts = new ArrayText();
  readonly grantNumbers = new ArrayText();
  readonly grantTexts = new ArrayText();

  add(treePlace: number, row: ReservationRow): void {
    const { id, granted, labelSeqs, figures } = row;
    this.count++;
    this.figureNumbers.add(figureNumbersOf(treePlace, figures));
    const labels = labelSeqs.length === 0 ? 'NULL' : `"${scalarArray(labelSeqs)}"`;
    this.figureTexts.add(`${quoted(id)},${labels},${quoted(figures.releaseReason)}`);
    if (granted === undefined) return;
    const { budgetNo, createMs, holder, accounts } = granted.reservation;
    this.grantNumbers.add(`${budgetNo},${createMs},${granted.seq}`);
    this.grantTexts.add(`${quoted(holder)},${accountsLiteral(accounts)}`);
  }
}

function budgetNumbersOf(treePlace: number, { def, labelSeq }: BudgetRow): string {
  return `${treePlace},${def.no},${def.parentNo ?? 'NULL'},${labelSeq ?? 'NULL'}`;
}

function counterNumbersOf(treePlace: number, row: CounterRow): string {
  return (
    `${treePlace},${row.budgetNo},${row.windowNo},${row.periodMs},` +
    `${row.heldMicros},${row.settledMicros},${row.overrunMicros},${row.active}`
  );
}

function figureNumbersOf(treePlace: number, f: ReservationFigures): string {
  const marks = (f.late ? 1 : 0) + (f.estimated ? 2 : 0) + (f.started ? 4 : 0);
  return (
    `${treePlace},${STATE_NOS[f.state]},${f.outcome === undefined ? 'NULL' : OUTCOME_NOS[f.outcome]},${marks},` +
    `${f.requestedMicros},${f.grantedMicros},${f.heldMicros},${f.settledMicros},${f.releasedMicros},` +
    `${f.overrunMicros},${f.estimatedMicros},${f.lapsedHeldMicros},` +
    `${f.expireMs},${f.reclaimMs},${f.ttlMs},${f.endMs ?? 'NULL'}`
  );
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
