// Projected rows, as the functions in sql/0005 give them, to the kernel's records. Used by load, by lists and by audit.
import type { Account, BudgetState, Counter, Labels } from '../kernel/budget.ts';
import type { BudgetPath, ReservationId } from '../kernel/names.ts';
import { labelsAfter } from '../kernel/records-after.ts';
import type { Reservation } from '../kernel/reservation.ts';
import { budgetDefOf } from './budget-def-codec.ts';
import type { PersonalRow } from './decode-entry.ts';
import { figuresOf } from './figures-codec.ts';
import { accountsOf, amountOf, arrayOf, integerOf, stringOf } from './json-text.ts';
import { labelsOf } from './labels-codec.ts';

/** Reads budgetd.budget_json. Throws CorruptJournalError. */
export function budgetStateOf(value: unknown): BudgetState {
  const [def, labels, counterRows] = arrayOf(value, 3);
  const rows = arrayOf(counterRows ?? []).map((row) => arrayOf(row, 6));
  return {
    def: budgetDefOf(def),
    labels: labelsOf(labels),
    counters: rows.map(counterOf),
    activeCount: rows.reduce((sum, row) => sum + integerOf(row[5]), 0),
  };
}

function counterOf(row: readonly unknown[]): Counter {
  return {
    windowNo: integerOf(row[0]),
    periodMs: integerOf(row[1]),
    heldMicros: amountOf(row[2]),
    settledMicros: amountOf(row[3]),
    overrunMicros: amountOf(row[4]),
  };
}

/** Reads budgetd.reservation_json, many of them: those with equal accounts share one array. Throws CorruptJournalError. */
export function reservationsOf(values: readonly unknown[]): Reservation[] {
  const shared = new Map<string, readonly Account[]>();
  return values.map((value) => {
    const [id, budgetNo, flat, createMs, holder, personal, figures, budget] = arrayOf(value, 8);
    const [path, unit] = arrayOf(budget, 2);
    const [actingFor, labels] = personalOf(personal);
    const key = String(flat);
    const accounts = shared.get(key) ?? accountsOf(flat, undefined);
    shared.set(key, accounts);
    return {
      id: stringOf(id) as ReservationId,
      budgetNo: integerOf(budgetNo),
      budget: stringOf(path) as BudgetPath,
      unit: stringOf(unit),
      accounts,
      createMs: integerOf(createMs),
      holder: stringOf(holder),
      actingFor,
      labels,
      figures: figuresOf(figures),
    };
  });
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
