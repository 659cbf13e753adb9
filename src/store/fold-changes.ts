// Journal entries to net changes of projected rows: a hold that opens and closes among them becomes one row, a counter one
// difference. Pure, and shared by every store, so that projections cannot differ between them.
import type { Account, BudgetDef } from '../kernel/budget.ts';
import type { Alert, BudgetChange, Effect, Enqueued, Entry, Granted, RateMove } from '../kernel/entry.ts';
import type { ReservationId } from '../kernel/names.ts';
import type { PricedUsage, PriceRecord } from '../kernel/price.ts';
import type { ReservationFigures } from '../kernel/reservation.ts';
import { type AlertRow, alertRow, alertsAfter } from './fold-alerts.ts';

/** A budget that is new or changed. */
export interface BudgetRow {
  readonly def: BudgetDef;
  /** The entry whose personal fields hold its labels from now on; undefined: as before. */
  readonly labelSeq: number | undefined;
}

/**
 * What a counter moves by. `active` counts live reservations, `openChildren` budgets right below that are not closed; they and
 * `movedMs`, the time of the last move (0: none), go with the lifetime window only.
 */
export interface CounterRow {
  readonly budgetNo: number;
  readonly windowNo: number;
  readonly periodMs: number;
  heldMicros: bigint;
  settledMicros: bigint;
  overrunMicros: bigint;
  active: number;
  openChildren: number;
  movedMs: number;
}

/** How full a rate is after its last use. */
export interface RateRow {
  readonly budgetNo: number;
  readonly rateNo: number;
  readonly level: bigint;
  readonly atMs: number;
}

/** A reservation that is new (`made` is its entry) or changed. */
export interface ReservationRow {
  readonly id: ReservationId;
  readonly made: Granted | Enqueued | undefined;
  /** Whether a row is there already, of when it waited, which this one takes the place of. */
  readonly replaces: boolean;
  /** What is written of prices; undefined: as it was, and of a new one none. */
  readonly price: PriceRecord | undefined;
  readonly priced: PricedUsage | undefined;
  /** Entries after that one whose personal fields hold labels for it, in order. */
  readonly labelSeqs: readonly number[];
  readonly figures: ReservationFigures;
}

/** Net changes of one tree. */
export interface TreeChanges {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly atMs: number;
  /** Highest number among new budgets; 0 where none is new. */
  readonly budgetNoMax: number;
  readonly budgets: ReadonlyMap<number, BudgetRow>;
  readonly counters: ReadonlyMap<string, CounterRow>;
  readonly rates: ReadonlyMap<string, RateRow>;
  readonly reservations: ReadonlyMap<ReservationId, ReservationRow>;
  /** By limit. */
  readonly alerts: ReadonlyMap<string, readonly AlertRow[]>;
}

/** Of a tree without entries. No tree is projected to -1, so that the guard lets nothing of it pass. */
export const NO_CHANGES: TreeChanges = {
  fromSeq: -1,
  toSeq: -1,
  atMs: 0,
  budgetNoMax: 0,
  budgets: new Map(),
  counters: new Map(),
  rates: new Map(),
  reservations: new Map(),
  alerts: new Map(),
};

/** Folds entries that follow each other, at least one. */
export function foldChanges(entries: readonly Entry[]): TreeChanges {
  const fold = new Fold();
  for (const entry of entries) fold.add(entry);
  const first = entries[0] as Entry;
  const last = entries.at(-1) as Entry;
  return {
    fromSeq: first.seq - 1,
    toSeq: last.seq,
    atMs: last.atMs,
    budgetNoMax: fold.budgetNoMax,
    budgets: fold.budgets,
    counters: fold.counters,
    rates: fold.rates,
    reservations: fold.reservations,
    alerts: fold.alerts,
  };
}

class Fold {
  budgetNoMax = 0;
  readonly budgets = new Map<number, BudgetRow>();
  readonly counters = new Map<string, CounterRow>();
  readonly rates = new Map<string, RateRow>();
  readonly reservations = new Map<ReservationId, ReservationRow>();
  readonly alerts = new Map<string, readonly AlertRow[]>();
  /** Many effects share one list of accounts. */
  readonly #rows = new Map<readonly Account[], readonly CounterRow[]>();

  add(entry: Entry): void {
    switch (entry.type) {
      case 'Granted':
        this.#make(entry, entry.enqueuedSeq !== undefined && !this.reservations.has(entry.reservation.id));
        this.#move(entry.effects, entry.atMs);
        this.#moveRates(entry.rateMoves, entry.atMs);
        break;
      case 'Enqueued':
        this.#make(entry, false);
        break;
      case 'LeftQueue':
        for (const { id, figures } of entry.leaves) this.#change(id, figures);
        break;
      case 'Extended':
      case 'Settled':
      case 'Released':
        this.#change(entry.id, entry.figures, entry);
        this.#move(entry.effects, entry.atMs);
        break;
      case 'Renewed':
      case 'Graced':
        for (const move of entry.moves) this.#change(move.id, move.figures);
        break;
      case 'Expired':
        for (const lapse of entry.lapses) {
          this.#change(lapse.id, lapse.figures);
          this.#move(lapse.effects, lapse.figures.reclaimMs);
        }
        break;
      case 'Alerted':
        this.#tell(entry.alerts, entry.atMs);
        break;
      case 'Refused':
        break;
      default:
        this.#changeBudget(entry);
    }
  }

  #make(made: Granted | Enqueued, replaces: boolean): void {
    const { id, price, priced, figures } = made.reservation;
    this.reservations.set(id, { id, made, replaces, price, priced, labelSeqs: [], figures });
  }

  #changeBudget(entry: BudgetChange): void {
    const { def, openChildren } = entry;
    const labelSeq = entry.replaceLabels ? entry.seq : this.budgets.get(def.no)?.labelSeq;
    this.budgets.set(def.no, { def, labelSeq });
    // The lifetime counter counts even without a limit, so it exists from the start.
    if (entry.type === 'BudgetCreated') {
      if (def.no > this.budgetNoMax) this.budgetNoMax = def.no;
      this.#counter(def.no, 0, 0).movedMs = entry.atMs;
    }
    if (def.parentNo !== undefined && openChildren !== 0) {
      this.#counter(def.parentNo, 0, 0).openChildren += openChildren;
    }
    this.#moveRates(entry.rateMoves, entry.atMs);
    for (const { windowNo, periodMs, heldMicros, settledMicros, overrunMicros } of entry.opening) {
      const counter = this.#counter(def.no, windowNo, periodMs);
      counter.heldMicros += heldMicros;
      counter.settledMicros += settledMicros;
      counter.overrunMicros += overrunMicros;
    }
  }

  #tell(alerts: readonly Alert[], atMs: number): void {
    const byLimit = Map.groupBy(alerts, ({ budgetNo, limitNo }) => `${budgetNo}:${limitNo}`);
    for (const [key, told] of byLimit) {
      const rows = told.map((alert) => alertRow(alert, atMs));
      this.alerts.set(key, alertsAfter(this.alerts.get(key) ?? [], rows));
    }
  }

  #moveRates(moves: readonly RateMove[], atMs: number): void {
    for (const { budgetNo, rateNo, level } of moves) {
      this.rates.set(`${budgetNo}:${rateNo}`, { budgetNo, rateNo, level, atMs });
    }
  }

  #change(id: ReservationId, figures: ReservationFigures, entry?: Entry): void {
    const before = this.reservations.get(id);
    let labelSeqs = before?.labelSeqs ?? [];
    // A settlement's labels are laid over those of the Reserve.
    if (entry?.type === 'Settled' && (entry.personal?.labels.length ?? 0) > 0) labelSeqs = [...labelSeqs, entry.seq];
    const made = before?.made;
    const price = (entry?.type === 'Extended' ? entry.price : undefined) ?? before?.price;
    const priced = (entry?.type === 'Settled' ? entry.priced : undefined) ?? before?.priced;
    const replaces = before?.replaces ?? false;
    this.reservations.set(id, { id, made, replaces, price, priced, labelSeqs, figures });
  }

  #move(effects: readonly Effect[], atMs: number): void {
    for (const effect of effects) {
      for (const counter of this.#rowsOf(effect.accounts)) {
        counter.heldMicros += effect.heldMicros;
        counter.settledMicros += effect.settledMicros;
        counter.overrunMicros += effect.overrunMicros;
        if (counter.windowNo !== 0) continue;
        counter.active += effect.active;
        // A lapse may be written down after later moves.
        if (atMs > counter.movedMs) counter.movedMs = atMs;
      }
    }
  }

  #rowsOf(accounts: readonly Account[]): readonly CounterRow[] {
    let rows = this.#rows.get(accounts);
    if (rows === undefined) {
      rows = accounts.map(({ budgetNo, windowNo, periodMs }) => this.#counter(budgetNo, windowNo, periodMs));
      this.#rows.set(accounts, rows);
    }
    return rows;
  }

  #counter(budgetNo: number, windowNo: number, periodMs: number): CounterRow {
    const key = `${budgetNo}:${windowNo}:${periodMs}`;
    const known = this.counters.get(key);
    if (known !== undefined) return known;
    const counter: CounterRow = {
      budgetNo,
      windowNo,
      periodMs,
      heldMicros: 0n,
      settledMicros: 0n,
      overrunMicros: 0n,
      active: 0,
      openChildren: 0,
      movedMs: 0,
    };
    this.counters.set(key, counter);
    return counter;
  }
}
