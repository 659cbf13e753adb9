// One tree in memory: the very rows that PostgreSQL would hold, as encoded bytes with their hash chain, and projections
// folded by the same code. Reading decodes, so that what a test sees went through the codec.
import type { BudgetState, Counter } from '../kernel/budget.ts';
import type { Entry } from '../kernel/entry.ts';
import type { ReservationId, TreeId } from '../kernel/names.ts';
import { labelsAfter } from '../kernel/records-after.ts';
import type { Reservation } from '../kernel/reservation.ts';
import type { JournalRow } from './audit.ts';
import type { PersonalRow } from './decode-entry.ts';
import { decodeEntries } from './entry-codec.ts';
import { type AlertRow, alertsAfter, marksOf } from './fold-alerts.ts';
import { type BudgetRow, type CounterRow, foldChanges, type RateRow, type ReservationRow } from './fold-changes.ts';
import { GENESIS_HASH, type Head, ProjectionMismatchError } from './port.ts';
import { countersOf, levelsOf } from './projected-rows.ts';

/** State of one tree. Owned by MemoryDatabase. */
export class MemoryTree {
  readonly treeId: TreeId;
  head: Head = { seq: 0, hash: GENESIS_HASH, atMs: 0 };
  readonly rows: JournalRow[] = [];
  /** Sequence by digest. */
  readonly keys = new Map<string, number>();
  readonly personal = new Map<number, PersonalRow>();
  projectedSeq = 0;
  /** Time of the last projected entry. */
  projectedMs = 0;
  budgetCount = 0;
  quarantine: string | undefined;
  readonly #budgets = new Map<number, BudgetRow>();
  readonly #counters = new Map<number, Map<string, CounterRow>>();
  readonly #rates = new Map<string, RateRow>();
  readonly #alerts = new Map<string, readonly AlertRow[]>();
  readonly #reservations = new Map<
    ReservationId,
    Omit<ReservationRow, 'replaces'> & { readonly made: NonNullable<ReservationRow['made']> }
  >();

  constructor(treeId: TreeId) {
    this.treeId = treeId;
  }

  /** Rows with entries after a sequence, until they hold about `countMax`, at least one. */
  entriesAfter(seq: number, countMax: number): Entry[] {
    const rows = this.rows.filter((row) => row.lastSeq > seq);
    const first = rows[0];
    if (first === undefined) return [];
    const lastSeq = Math.max(first.lastSeq, seq + countMax);
    return rows
      .filter((row) => row.lastSeq <= lastSeq)
      .flatMap((row) => decodeEntries(row.entriesText, (at) => this.personal.get(at)))
      .filter((entry) => entry.seq > seq);
  }

  /** Folds entries into the projection, as far as they follow it. */
  project(entries: readonly Entry[]): void {
    const rest = entries.filter((entry) => entry.seq > this.projectedSeq);
    if (rest[0]?.seq !== this.projectedSeq + 1) return;
    const changes = foldChanges(rest);
    for (const [no, row] of changes.budgets) {
      this.#budgets.set(no, { def: row.def, labelSeq: row.labelSeq ?? this.#budgets.get(no)?.labelSeq });
    }
    for (const [key, row] of changes.counters) this.#moveCounter(key, row);
    for (const [key, row] of changes.rates) this.#rates.set(key, row);
    for (const [key, rows] of changes.alerts) this.#alerts.set(key, alertsAfter(this.#alerts.get(key) ?? [], rows));
    for (const [id, row] of changes.reservations) {
      const before = this.#reservations.get(id);
      if (row.replaces && before?.figures.state !== 'QUEUED') {
        throw new ProjectionMismatchError(`an entry grants reservation ${id}, which does not wait`);
      }
      const made = row.made ?? before?.made;
      if (made === undefined) {
        throw new ProjectionMismatchError(`an entry changes reservation ${id}, which is not projected`);
      }
      const labelSeqs = row.made === undefined ? [...(before?.labelSeqs ?? []), ...row.labelSeqs] : row.labelSeqs;
      const price = row.price ?? before?.price;
      const priced = row.priced ?? before?.priced;
      this.#reservations.set(id, { id, made, price, priced, labelSeqs, figures: row.figures });
    }
    this.budgetCount = Math.max(this.budgetCount, changes.budgetNoMax);
    this.projectedSeq = changes.toSeq;
    this.projectedMs = changes.atMs;
  }

  /** Projected budgets, by number. */
  budgets(): BudgetState[] {
    return [...this.#budgets.values()].map((row) => this.#budgetState(row)).sort((a, b) => a.def.no - b.def.no);
  }

  /** A projected reservation. */
  reservation(id: ReservationId): Reservation | undefined {
    const row = this.#reservations.get(id);
    if (row === undefined) return undefined;
    const { made, price, priced, figures } = row;
    const personal = this.personal.get(made.seq);
    let labels = personal?.labels ?? [];
    for (const seq of row.labelSeqs) labels = labelsAfter(labels, this.personal.get(seq)?.labels ?? []);
    const { queued } = made.reservation;
    return {
      ...made.reservation,
      ...(queued !== undefined && { queued: { ...queued, salt: personal?.salt } }),
      actingFor: personal?.actingFor ?? '',
      labels,
      price,
      priced,
      figures,
    };
  }

  /** Projected reservations, by id. */
  reservations(): Reservation[] {
    const ids = [...this.#reservations.keys()].sort();
    return ids.map((id) => this.reservation(id) as Reservation);
  }

  /** Live ones with a reclaim time after an instant, earliest first. */
  leasesAfter(reclaimMs: number): Reservation[] {
    return this.reservations()
      .filter(({ figures }) => figures.state === 'ACTIVE' && figures.reclaimMs > reclaimMs)
      .sort((a, b) => a.figures.reclaimMs - b.figures.reclaimMs);
  }

  /** Those that wait, by id. */
  waiting(): Reservation[] {
    return this.reservations().filter(({ figures }) => figures.state === 'QUEUED');
  }

  /** First instant at which a hold lapses or a wait ends; undefined where nothing is live or waits. */
  get dueMs(): number | undefined {
    const reclaimMs = this.leasesAfter(Number.NEGATIVE_INFINITY)[0]?.figures.reclaimMs;
    const ends = this.waiting().flatMap(({ queued }) => queued?.untilMs ?? []);
    const dueMs = Math.min(reclaimMs ?? Number.POSITIVE_INFINITY, ...ends);
    return Number.isFinite(dueMs) ? dueMs : undefined;
  }

  #moveCounter(key: string, row: CounterRow): void {
    const counters = this.#counters.get(row.budgetNo) ?? new Map<string, CounterRow>();
    this.#counters.set(row.budgetNo, counters);
    const before = counters.get(key);
    counters.set(key, {
      ...row,
      heldMicros: (before?.heldMicros ?? 0n) + row.heldMicros,
      settledMicros: (before?.settledMicros ?? 0n) + row.settledMicros,
      overrunMicros: (before?.overrunMicros ?? 0n) + row.overrunMicros,
      active: (before?.active ?? 0) + row.active,
      openChildren: (before?.openChildren ?? 0) + row.openChildren,
      movedMs: Math.max(before?.movedMs ?? 0, row.movedMs),
    });
  }

  #budgetState(row: BudgetRow): BudgetState {
    const { def } = row;
    const rows = [...(this.#counters.get(def.no)?.values() ?? [])].sort(
      (a, b) => a.windowNo - b.windowNo || a.periodMs - b.periodMs,
    );
    const [lifetime] = rows;
    const rates = [...this.#rates.values()].filter(({ budgetNo }) => budgetNo === def.no);
    const marks = [...this.#alerts.values()].flat().filter(({ budgetNo }) => budgetNo === def.no);
    return {
      def,
      labels: (row.labelSeq !== undefined ? this.personal.get(row.labelSeq)?.labels : undefined) ?? [],
      ...countersOf(def, rows.map(counterOf)),
      rateLevels: levelsOf(
        def,
        rates.map(({ rateNo, level, atMs }) => ({ no: rateNo, level, atMs })).sort((a, b) => a.no - b.no),
      ),
      alertMarks: marksOf(
        def,
        marks
          .map(({ limitNo, periodMs, percent }) => ({ limitNo, periodMs, percent }))
          .sort((a, b) => a.limitNo - b.limitNo || a.periodMs - b.periodMs || a.percent - b.percent),
      ),
      activeCount: lifetime?.active ?? 0,
      openChildCount: lifetime?.openChildren ?? 0,
      movedMs: lifetime?.movedMs ?? 0,
    };
  }
}

function counterOf({ windowNo, periodMs, heldMicros, settledMicros, overrunMicros }: CounterRow): Counter {
  return { windowNo, periodMs, heldMicros, settledMicros, overrunMicros };
}
