// Sums of a tree's counters, added up from what the entries say and nothing else: the auditor's own arithmetic, which shares no
// code with the coordinator's state or with the projection. Also the sums of periods that are over, which the state lets go.
import type { BudgetState, Counter } from '../kernel/budget.ts';
import type { Effect, Entry } from '../kernel/entry.ts';

/** Sums of one period. */
export type Sums = Omit<Counter, 'windowNo' | 'periodMs'>;

const NOTHING: Sums = { heldMicros: 0n, settledMicros: 0n, overrunMicros: 0n };

/** Window and period of a counter. */
type Place = Pick<Counter, 'windowNo' | 'periodMs'>;

/** See the head of this file. */
export class CounterSums {
  readonly #budgets = new Map<number, Map<string, Sums>>();

  /** Adds what an entry moves and what it opens. */
  add(entry: Entry): void {
    for (const effect of effectsOf(entry)) {
      for (const account of effect.accounts) this.#move(account.budgetNo, account, effect);
    }
    if ('opening' in entry) for (const counter of entry.opening) this.#move(entry.def.no, counter, counter);
  }

  /** Sums of one period; zeros where nothing was moved. */
  of(budgetNo: number, place: Place): Sums {
    return this.#budgets.get(budgetNo)?.get(keyOf(place)) ?? NOTHING;
  }

  /**
   * What is wrong with counters that somebody keeps of a budget: each must be what its entries give. With `all` none may be left
   * out either. Windows that an edit took away count no more, and are passed over.
   */
  problems({ def }: BudgetState, counters: readonly Counter[], all: boolean): string[] {
    const problems: string[] = [];
    const left = new Map(this.#budgets.get(def.no));
    for (const counter of counters) {
      const key = keyOf(counter);
      const sums = left.get(key) ?? NOTHING;
      left.delete(key);
      if (!isEqual(sums, counter)) problems.push(`${key} has ${text(counter)}, its entries give ${text(sums)}`);
    }
    for (const [key, sums] of all ? left : []) {
      const counts = def.windows.some(({ no }) => key.startsWith(`window ${no} `));
      if (counts && !isEqual(sums, NOTHING)) problems.push(`${key} is missing, its entries give ${text(sums)}`);
    }
    return problems;
  }

  #move(budgetNo: number, place: Place, by: Sums): void {
    let sums = this.#budgets.get(budgetNo);
    if (sums === undefined) {
      sums = new Map();
      this.#budgets.set(budgetNo, sums);
    }
    const key = keyOf(place);
    const before = sums.get(key) ?? NOTHING;
    sums.set(key, {
      heldMicros: before.heldMicros + by.heldMicros,
      settledMicros: before.settledMicros + by.settledMicros,
      overrunMicros: before.overrunMicros + by.overrunMicros,
    });
  }
}

/** Every effect of an entry, in order. */
export function effectsOf(entry: Entry): readonly Effect[] {
  if (entry.type === 'Expired') return entry.lapses.flatMap((lapse) => lapse.effects);
  return 'effects' in entry ? entry.effects : [];
}

function keyOf({ windowNo, periodMs }: Place): string {
  return `window ${windowNo} at ${periodMs}`;
}

function isEqual(a: Sums, b: Sums): boolean {
  return a.heldMicros === b.heldMicros && a.settledMicros === b.settledMicros && a.overrunMicros === b.overrunMicros;
}

function text({ heldMicros, settledMicros, overrunMicros }: Sums): string {
  return `held ${heldMicros}, settled ${settledMicros}, overrun ${overrunMicros}`;
}
