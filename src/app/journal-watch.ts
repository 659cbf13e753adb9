// Follows one tree's journal a piece at a time: the chain of hashes, the ceilings, and every counter as projected. Keeps
// budgets and the sums of what is not over yet, so that it can go on for ever beside a working service; what it can't see
// (single reservations, remembered keys, periods that are over) the full verifier does.
import { apply } from '../kernel/apply.ts';
import type { BudgetState } from '../kernel/budget.ts';
import type { Entry } from '../kernel/entry.ts';
import type { TreeId } from '../kernel/names.ts';
import { TreeState } from '../kernel/tree-state.ts';
import { entryWeight } from '../kernel/weight.ts';
import type { Audit } from '../store/audit.ts';
import { readCheckedRows } from '../store/journal-reader.ts';
import { GENESIS_HASH, type Head } from '../store/port.ts';
import { CeilingCheck } from './verify-ceiling.ts';
import { budgetText, countingCounters, isAmong } from './verify-text.ts';

/** What one step found and how far it came. */
export interface WatchStep {
  readonly entries: number;
  /** What they weigh: as many where they are usual ones. */
  readonly weight: number;
  /** Entries that are left. */
  readonly behind: number;
  /** What is wrong, in words. */
  readonly differences: readonly string[];
}

/** Least time between two looks at all projected budgets of a tree. */
const COMPARE_MS = 10_000;

/** See the head of this file. */
export class JournalWatch {
  readonly #treeId: TreeId;
  readonly #state: TreeState;
  readonly #ceilings: CeilingCheck;
  /** End of the last stored row that was seen whole. */
  #rowHead: Head = { seq: 0, hash: GENESIS_HASH, atMs: 0 };

  readonly #nowMs: () => number;
  #comparedMs = Number.NEGATIVE_INFINITY;
  #comparedSeq = -1;

  /** `nowMs` is a monotonic clock. */
  constructor(treeId: TreeId, nowMs: () => number) {
    this.#treeId = treeId;
    this.#nowMs = nowMs;
    this.#state = new TreeState(treeId, { seq: 0, atMs: 0, budgetCount: 0 });
    this.#ceilings = new CeilingCheck(this.#state);
  }

  /**
   * Checks further entries that weigh about `weightMax`. `audit` must be one snapshot. Throws CorruptJournalError or InvariantError at
   * an entry that is not as it was written.
   */
  async step(audit: Audit, weightMax: number): Promise<WatchStep> {
    const standing = await audit.readStanding(this.#treeId);
    if (standing === undefined) return { entries: 0, weight: 0, behind: 0, differences: ['it has lost its head'] };
    const differences: string[] = [];
    const startSeq = this.#state.position.seq;
    let weight = 0;
    for await (const { row, entries } of readCheckedRows(audit, this.#treeId, this.#rowHead)) {
      for (const entry of entries) {
        if (entry.seq <= this.#state.position.seq) continue;
        // The projection may stand in the middle of a row; it is compared where it stands.
        if (entry.seq === standing.projectedSeq + 1) differences.push(...(await this.#compareNowAndThen(audit)));
        differences.push(...this.#take(entry));
        weight += entryWeight(entry);
      }
      this.#rowHead = { seq: row.lastSeq, hash: row.hash, atMs: row.atMs };
      if (weight >= weightMax) break;
    }
    const { seq } = this.#state.position;
    if (seq === standing.projectedSeq && seq > this.#comparedSeq) {
      differences.push(...(await this.#compareNowAndThen(audit)));
    }
    if (seq === standing.head.seq && this.#rowHead.hash !== standing.head.hash) {
      differences.push(`its journal does not lead to its head at ${seq}`);
    }
    return { entries: seq - startSeq, weight, behind: standing.head.seq - seq, differences };
  }

  #take(entry: Entry): readonly string[] {
    const problems = this.#ceilings.problems(entry);
    apply(this.#state, entry);
    this.#state.commit();
    this.#state.evictRemembered(0);
    this.#state.evictPast(entry.atMs);
    if (entry.type === 'Granted' || entry.type === 'Enqueued') this.#state.evictReservation(entry.reservation.id);
    return problems;
  }

  // A tree may have 100,000 budgets: reading all of them at every step would cost more than all else here.
  async #compareNowAndThen(audit: Audit): Promise<string[]> {
    if (this.#nowMs() - this.#comparedMs < COMPARE_MS) return [];
    this.#comparedMs = this.#nowMs();
    this.#comparedSeq = this.#state.position.seq;
    const differences: string[] = [];
    for await (const projected of audit.readBudgets(this.#treeId)) {
      const rebuilt = this.#state.budget(projected.def.no);
      if (rebuilt === undefined || !this.#isAs(rebuilt, projected)) {
        differences.push(`budget ${projected.def.path} is not projected as the journal has it`);
      }
    }
    return differences;
  }

  #isAs(rebuilt: BudgetState, projected: BudgetState): boolean {
    const counting = countingCounters(rebuilt, this.#state.position.atMs);
    return (
      budgetText(rebuilt) === budgetText(projected) && isAmong(counting, [...projected.counters, ...projected.steps])
    );
  }
}
