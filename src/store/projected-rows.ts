// Projected rows, as the functions in sql/0005 give them, to the kernel's records. Used by load, by lists and by audit.
import type { AlertMark } from '../kernel/alert-mark.ts';
import type { Account, BudgetDef, BudgetState, Counter, Labels } from '../kernel/budget.ts';
import { PRIORITY_DEFAULT } from '../kernel/enforcement.ts';
import type { BudgetPath, ReservationId } from '../kernel/names.ts';
import type { RateLevel } from '../kernel/rate.ts';
import { labelsAfter } from '../kernel/records-after.ts';
import type { Queued, Reservation } from '../kernel/reservation.ts';
import { budgetDefOf } from './budget-def-codec.ts';
import type { PersonalRow } from './decode-entry.ts';
import { priorityOf, shadowOf } from './enforcement-codec.ts';
import { figuresOf } from './figures-codec.ts';
import { marksOf } from './fold-alerts.ts';
import { accountsOf, amountOf, arrayOf, integerOf, levelOf, stringOf } from './json-text.ts';
import { labelsOf } from './labels-codec.ts';
import { pricedOf, priceOf } from './price-codec.ts';
import { queueRowOf } from './queued-codec.ts';

/** Reads budgetd.budget_json. Throws CorruptJournalError. */
export function budgetStateOf(value: unknown): BudgetState {
  const [defJson, labels, counterRows, counts, rateRows, markRows] = arrayOf(value, 6);
  const [activeCount, openChildCount, movedMs] = arrayOf(counts, 3);
  const def = budgetDefOf(defJson);
  const rates = arrayOf(rateRows ?? []).map(rateLevelOf);
  return {
    def,
    labels: labelsOf(labels),
    ...countersOf(def, arrayOf(counterRows ?? []).map(counterOf)),
    rateLevels: levelsOf(def, rates),
    alertMarks: marksOf(def, arrayOf(markRows ?? []).map(markOf)),
    activeCount: integerOf(activeCount),
    openChildCount: integerOf(openChildCount),
    movedMs: integerOf(movedMs),
  };
}

/**
 * Rows of a budget's counters, in the order of their keys, as decisions see them: what settled in the steps of its rolling
 * windows apart from the rest. A window that an edit took away counts no more, so that its rows are left out.
 */
export function countersOf(def: BudgetDef, rows: readonly Counter[]): Pick<BudgetState, 'counters' | 'steps'> {
  if (def.windows.length === 1 && rows.length === 1) return { counters: rows, steps: [] };
  const kinds = new Map(def.windows.map(({ no, rule }) => [no, rule.kind]));
  const isStep = ({ windowNo, periodMs }: Counter) => periodMs > 0 && kinds.get(windowNo) === 'rolling';
  return {
    counters: rows.filter((row) => kinds.has(row.windowNo) && !isStep(row)),
    steps: rows.filter(isStep).sort((a, b) => a.windowNo - b.windowNo || a.periodMs - b.periodMs),
  };
}

/** Levels of the rates that a budget has; one that an edit took away is full should it come again, under another number. */
export function levelsOf(def: BudgetDef, levels: readonly RateLevel[]): readonly RateLevel[] {
  return levels.filter(({ no }) => def.rates.some((rate) => rate.no === no));
}

function rateLevelOf(value: unknown): RateLevel {
  const [no, level, atMs] = arrayOf(value, 3);
  return { no: integerOf(no), level: levelOf(level), atMs: integerOf(atMs) };
}

function markOf(value: unknown): AlertMark {
  const [limitNo, periodMs, percent] = arrayOf(value, 3);
  return { limitNo: integerOf(limitNo), periodMs: integerOf(periodMs), percent: integerOf(percent) };
}

function counterOf(value: unknown): Counter {
  const [windowNo, periodMs, held, settled, overrun] = arrayOf(value, 5);
  return {
    windowNo: integerOf(windowNo),
    periodMs: integerOf(periodMs),
    heldMicros: amountOf(held),
    settledMicros: amountOf(settled),
    overrunMicros: amountOf(overrun),
  };
}

/** Reads budgetd.reservation_json, many of them: those with equal accounts share one array. Throws CorruptJournalError. */
export function reservationsOf(values: readonly unknown[]): Reservation[] {
  const shared = new Map<string, readonly Account[]>();
  return values.map((value) => {
    const row = arrayOf(value, 16);
    const [id, budgetNo, flat, createMs, holder, personal, figures, budget, also, priority, alternative, shadow] = row;
    const [path, unit] = arrayOf(budget, 2);
    const [named, queued] = waitOf(row[12], row[13]);
    const [price, priced] = row.slice(14);
    const [actingFor, labels] = personalOf(personal);
    const key = String(flat);
    const accounts = shared.get(key) ?? accountsOf(flat, []);
    shared.set(key, accounts);
    return {
      id: stringOf(id) as ReservationId,
      budgetNo: integerOf(budgetNo),
      budget: named ?? (stringOf(path) as BudgetPath),
      also: arrayOf(also ?? []).map((each) => stringOf(each) as BudgetPath),
      unit: stringOf(unit),
      accounts,
      createMs: integerOf(createMs),
      priority: priority === null ? PRIORITY_DEFAULT : priorityOf(priority),
      alternative: alternative === null ? '' : stringOf(alternative),
      shadow: shadow === null ? undefined : shadowOf(shadow),
      price: price === null ? undefined : priceOf(price),
      priced: priced === null ? undefined : pricedOf(priced),
      queued,
      holder: stringOf(holder),
      actingFor,
      labels,
      figures: figuresOf(figures),
    };
  });
}

// One that was granted says nothing here.
function waitOf(queue: unknown, salt: unknown): readonly [path?: BudgetPath, queued?: Queued] {
  return queue === null ? [] : queueRowOf(queue, salt === null ? undefined : stringOf(salt));
}

// The grant's fields first, then the labels of settlements, each laid over the ones before it.
function personalOf(value: unknown): readonly [actingFor: string, labels: Labels] {
  let actingFor = '';
  let labels: Labels = [];
  for (const row of arrayOf(value ?? [])) {
    const [rowActingFor, rowLabels] = arrayOf(row, 2);
    if (actingFor === '') actingFor = stringOf(rowActingFor);
    labels = labelsAfter(labels, labelsOf(rowLabels));
  }
  return [actingFor, labels];
}

/** Reads rows of the side table ([seq, salt, acting_for, labels]) into a lookup by sequence. */
export function personalLookup(value: unknown): (seq: number) => PersonalRow | undefined {
  const rows = new Map<number, PersonalRow>();
  for (const row of arrayOf(value ?? [])) {
    const [seq, salt, actingFor, labels] = arrayOf(row, 4);
    rows.set(integerOf(seq), { salt: stringOf(salt), actingFor: stringOf(actingFor), labels: labelsOf(labels) });
  }
  return (seq) => rows.get(seq);
}
