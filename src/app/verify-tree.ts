// Verifies one tree: its chain of hashes, then everything that follows from its entries: no ceiling passed, every counter,
// reservation and budget as projected, every remembered key. The kernel's own `apply` rebuilds, and counters are added up
// besides; nothing is taken on trust but the entries.
import { apply } from '../kernel/apply.ts';
import type { BudgetState } from '../kernel/budget.ts';
import type { Entry, Granted } from '../kernel/entry.ts';
import { InvariantError } from '../kernel/invariant.ts';
import type { ReservationId, TreeId } from '../kernel/names.ts';
import { TreeState } from '../kernel/tree-state.ts';
import type { Audit } from '../store/audit.ts';
import { readCheckedRows } from '../store/journal-reader.ts';
import { CorruptJournalError } from '../store/port.ts';
import { CeilingCheck } from './verify-ceiling.ts';
import { CounterSums } from './verify-sums.ts';
import { budgetText, countingCounters, reservationText } from './verify-text.ts';

/** What verifyTree found. */
export interface TreeReport {
  readonly differences: readonly string[];
  readonly entries: number;
}

/** Differences reported of one tree; the first few tell what happened. */
const DIFFERENCES_MAX = 20;

/** Verifies one tree. `audit` must be one snapshot. */
export async function verifyTree(audit: Audit, treeId: TreeId): Promise<TreeReport> {
  const check = new TreeCheck(audit, treeId);
  try {
    await check.run();
  } catch (error) {
    if (!(error instanceof CorruptJournalError) && !(error instanceof InvariantError)) throw error;
    check.differs(error.message);
  }
  return { differences: check.differences, entries: check.entries };
}

class TreeCheck {
  readonly #audit: Audit;
  readonly #treeId: TreeId;
  readonly #state: TreeState;
  readonly #sums = new CounterSums();
  readonly #ceilings: CeilingCheck;
  /** Ended reservations as text, so that a long journal does not fill the memory. */
  readonly #ended = new Map<ReservationId, string>();
  readonly #keys = new Map<string, number>();
  readonly differences: string[] = [];
  entries = 0;

  constructor(audit: Audit, treeId: TreeId) {
    this.#audit = audit;
    this.#treeId = treeId;
    this.#state = new TreeState(treeId, { seq: 0, atMs: 0, budgetCount: 0 });
    this.#ceilings = new CeilingCheck(this.#state, ({ def }, account) => this.#sums.of(def.no, account));
  }

  differs(difference: string): void {
    if (this.differences.length < DIFFERENCES_MAX) this.differences.push(difference);
  }

  async run(): Promise<void> {
    const standing = await this.#audit.readStanding(this.#treeId);
    if (standing === undefined) {
      this.differs('it has journal rows but no head');
      return;
    }
    let compared = false;
    let lastHash = '';
    for await (const { row, entries } of readCheckedRows(this.#audit, this.#treeId)) {
      for (const entry of entries) {
        // The projection may stand in the middle of a row.
        if (!compared && entry.seq > standing.projectedSeq) {
          compared = true;
          await this.#compareProjection(standing.budgetCount);
        }
        this.#take(entry);
      }
      lastHash = row.hash;
    }
    if (!compared) await this.#compareProjection(standing.budgetCount);
    if (this.#state.position.seq !== standing.head.seq || lastHash !== standing.head.hash) {
      this.differs(`its journal ends at ${this.#state.position.seq}, its head says ${standing.head.seq}`);
    }
    if (standing.projectedSeq > standing.head.seq) this.differs('its projection is ahead of its journal');
    await this.#compareKeys();
    if (standing.quarantine !== undefined) this.differs(`it is out of service: ${standing.quarantine}`);
  }

  #take(entry: Entry): void {
    this.#bringBack(entry);
    for (const problem of this.#ceilings.problems(entry)) this.differs(problem);
    apply(this.#state, entry);
    this.#sums.add(entry);
    if (entry.key !== undefined) {
      if (this.#keys.has(entry.key.digest)) this.differs(`entry ${entry.seq} has a key that was remembered before`);
      this.#keys.set(entry.key.digest, entry.seq);
    }
    this.#state.commit();
    this.#state.evictRemembered(0);
    // The sums keep what is over; a state that kept years of it would be slow to move.
    this.#state.evictPast(entry.atMs);
    this.entries += 1;
    this.#putAway(entry);
  }

  // `apply` passes over records that a partial state does not hold; here everything must be there.
  #bringBack(entry: Entry): void {
    if (entry.type === 'Granted') this.#checkPlace(entry);
    for (const id of idsOf(entry)) {
      if (this.#state.reservation(id) !== undefined) continue;
      const text = this.#ended.get(id);
      if (text === undefined) this.differs(`entry ${entry.seq} changes reservation ${id}, which was never granted`);
      else if (entry.type !== 'Renewed') this.differs(`entry ${entry.seq} changes reservation ${id}, which had ended`);
    }
  }

  // What waited is granted under the very id that it waited with, and nothing is granted twice.
  #checkPlace({ seq, reservation: { id }, enqueuedSeq }: Granted): void {
    const before = this.#state.reservation(id);
    const isKnown = before !== undefined || this.#ended.has(id);
    if (enqueuedSeq === undefined) {
      if (isKnown) this.differs(`entry ${seq} grants reservation ${id}, which there is already`);
    } else if (before?.figures.state !== 'QUEUED' || before.queued?.seq !== enqueuedSeq) {
      this.differs(`entry ${seq} grants reservation ${id} out of the queue, where it is not`);
    }
  }

  #putAway(entry: Entry): void {
    const isEnd = entry.type === 'Settled' || entry.type === 'Released' || entry.type === 'LeftQueue';
    for (const id of isEnd ? idsOf(entry) : []) {
      const reservation = this.#state.reservation(id);
      const state = reservation?.figures.state;
      if (reservation === undefined || (state !== 'SETTLED' && state !== 'RELEASED')) continue;
      this.#ended.set(id, reservationText(reservation));
      this.#state.evictReservation(id);
    }
  }

  async #compareProjection(budgetCount: number): Promise<void> {
    if (budgetCount !== this.#state.position.budgetCount) {
      this.differs(`it has ${this.#state.position.budgetCount} budgets, its projection says ${budgetCount}`);
    }
    let budgets = 0;
    for await (const projected of this.#audit.readBudgets(this.#treeId)) {
      budgets += 1;
      const rebuilt = this.#state.budget(projected.def.no);
      this.#compare(`budget ${projected.def.path}`, rebuilt && budgetText(rebuilt), budgetText(projected));
      this.#compareCounters(projected, rebuilt);
    }
    if (budgets !== this.#state.counts().budgets) this.differs(`${budgets} budgets are projected`);
    await this.#compareReservations();
  }

  #compareCounters(projected: BudgetState, rebuilt: BudgetState | undefined): void {
    const { path } = projected.def;
    for (const problem of this.#sums.problems(projected, [...projected.counters, ...projected.steps], true)) {
      this.differs(`budget ${path} as projected: ${problem}`);
    }
    const counting = rebuilt === undefined ? [] : countingCounters(rebuilt, this.#state.position.atMs);
    for (const problem of this.#sums.problems(projected, counting, false)) {
      this.differs(`budget ${path} as rebuilt: ${problem}`);
    }
  }

  async #compareReservations(): Promise<void> {
    let count = 0;
    for await (const projected of this.#audit.readReservations(this.#treeId)) {
      count += 1;
      const open = this.#state.reservation(projected.id);
      const rebuilt = open === undefined ? this.#ended.get(projected.id) : reservationText(open);
      this.#compare(`reservation ${projected.id}`, rebuilt, reservationText(projected));
    }
    const expected = this.#ended.size + this.#state.counts().reservations;
    if (count !== expected) this.differs(`${expected} reservations were granted, ${count} are projected`);
  }

  async #compareKeys(): Promise<void> {
    let count = 0;
    for await (const { digest, seq } of this.#audit.readKeys(this.#treeId)) {
      count += 1;
      const rebuilt = this.#keys.get(digest);
      if (rebuilt !== seq) this.differs(`key ${digest} leads to entry ${seq}, the journal says ${rebuilt ?? 'none'}`);
    }
    if (count !== this.#keys.size) this.differs(`${this.#keys.size} keys are remembered, ${count} are stored`);
  }

  #compare(what: string, rebuilt: string | undefined, projected: string): void {
    if (rebuilt === projected) return;
    this.differs(`${what} differs: the journal gives ${rebuilt ?? 'nothing'}, the projection has ${projected}`);
  }
}

/** Reservations that an entry changes, those that it makes left out. */
function idsOf(entry: Entry): readonly ReservationId[] {
  switch (entry.type) {
    case 'Extended':
    case 'Settled':
    case 'Released':
      return [entry.id];
    case 'Renewed':
    case 'Graced':
      return entry.moves.map(({ id }) => id);
    case 'Expired':
      return entry.lapses.map(({ id }) => id);
    case 'LeftQueue':
      return entry.leaves.map(({ id }) => id);
    default:
      return [];
  }
}
