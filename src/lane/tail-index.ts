// Finds the entries of a tree's tail that touch given records, so that a load is brought forward by those alone: a busy tree
// has thousands of entries that are not projected yet, and a load of one leaf of it is touched by a few. Built when a load
// first asks, and from then on by the entries that came since: a tree that loads nothing pays nothing.
import type { Effect, Entry } from '../kernel/entry.ts';
import type { BudgetPath, ReservationId } from '../kernel/names.ts';

/** The entries of one tail, which may grow at its end. A tail that was cut at its start needs a new index. */
export class TailIndex {
  readonly #byBudget = new Map<number, Entry[]>();
  readonly #byReservation = new Map<ReservationId, Entry[]>();
  readonly #created = new Map<BudgetPath, number>();
  #count = 0;

  /** Takes up the entries that came since the last time. */
  extend(tail: readonly Entry[]): void {
    for (; this.#count < tail.length; this.#count += 1) this.#add(tail[this.#count] as Entry);
  }

  /** Number of a budget that an entry of the tail created. */
  created(path: BudgetPath): number | undefined {
    return this.#created.get(path);
  }

  /** Entries that touch any of these records, each once, oldest first. */
  touching(budgetNos: Iterable<number>, ids: Iterable<ReservationId>): Entry[] {
    const found = new Set<Entry>();
    for (const no of budgetNos) for (const entry of this.#byBudget.get(no) ?? []) found.add(entry);
    for (const id of ids) for (const entry of this.#byReservation.get(id) ?? []) found.add(entry);
    return [...found].sort((a, b) => a.seq - b.seq);
  }

  #add(entry: Entry): void {
    switch (entry.type) {
      case 'Granted':
        this.#touch(entry.reservation.id, entry);
        this.#move(entry.effects, entry);
        return;
      case 'Extended':
      case 'Settled':
      case 'Released':
        this.#touch(entry.id, entry);
        this.#move(entry.effects, entry);
        return;
      case 'Renewed':
      case 'Graced':
        for (const { id } of entry.moves) this.#touch(id, entry);
        return;
      case 'Expired':
        for (const { id, effects } of entry.lapses) {
          this.#touch(id, entry);
          this.#move(effects, entry);
        }
        return;
      case 'Enqueued':
        this.#touch(entry.reservation.id, entry);
        return;
      case 'LeftQueue':
        for (const { id } of entry.leaves) this.#touch(id, entry);
        return;
      case 'Refused':
        return;
      case 'Alerted':
        for (const { budgetNo } of entry.alerts) this.#touchBudget(budgetNo, entry);
        return;
      default:
        listed(this.#byBudget, entry.def.no).push(entry);
        // It counts among the children of the one above.
        if (entry.openChildren !== 0 && entry.def.parentNo !== undefined) {
          listed(this.#byBudget, entry.def.parentNo).push(entry);
        }
        if (entry.type === 'BudgetCreated') this.#created.set(entry.def.path, entry.def.no);
    }
  }

  #touch(id: ReservationId, entry: Entry): void {
    listed(this.#byReservation, id).push(entry);
  }

  // Thousands of lapses in one entry move the same budgets.
  #touchBudget(budgetNo: number, entry: Entry): void {
    const entries = listed(this.#byBudget, budgetNo);
    if (entries.at(-1) !== entry) entries.push(entry);
  }

  #move(effects: readonly Effect[], entry: Entry): void {
    for (const { accounts } of effects) {
      for (const { budgetNo } of accounts) this.#touchBudget(budgetNo, entry);
    }
  }
}

function listed<Key>(lists: Map<Key, Entry[]>, key: Key): Entry[] {
  let list = lists.get(key);
  if (list === undefined) {
    list = [];
    lists.set(key, list);
  }
  return list;
}
