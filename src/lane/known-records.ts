// Whether all is in memory that a decision on a tree looks at. What was asked for and does not exist counts as known.
import type { Account } from '../kernel/budget.ts';
import type { Command, Renew } from '../kernel/command.ts';
import { type BudgetPath, parentOf, type ReservationId } from '../kernel/names.ts';
import { reservationOf } from '../kernel/replay.ts';
import type { Reservation } from '../kernel/reservation.ts';
import type { TreeState } from '../kernel/tree-state.ts';
import type { Head } from '../store/port.ts';
import type { AbsentNames } from './absent-names.ts';
import { type Missing, mergeMissing, pathsOf, reservationsOf } from './missing.ts';
import { hasAll, missingPeriods } from './missing-periods.ts';

/** See the head of this file. */
export class KnownRecords {
  readonly #tree: { readonly state: TreeState; readonly head: Head };
  readonly #absent: AbsentNames;

  constructor(tree: { readonly state: TreeState; readonly head: Head }, absent: AbsentNames) {
    this.#tree = tree;
    this.#absent = absent;
  }

  /** What must be loaded before `command` can be decided; undefined where nothing is. */
  missingFor(command: Command): Missing | undefined {
    // The usual case makes nothing: each command of a busy tree comes by here.
    if (this.#hasAllOf(command)) return undefined;
    const has =
      command.kind === 'Reserve' ? (path: BudgetPath) => this.#hasWay(path) : (path: BudgetPath) => this.#hasPath(path);
    const paths = pathsOf(command).filter((path) => !has(path));
    const reservationIds: ReservationId[] = [];
    const incomplete: Reservation[] = [];
    for (const id of [...reservationsOf(command), this.#repeatedBy(command)]) {
      if (id === undefined || this.#hasReservation(id)) continue;
      const reservation = this.#tree.state.reservation(id);
      if (reservation === undefined) reservationIds.push(id);
      else incomplete.push(reservation);
    }
    return mergeMissing([{ paths, reservationIds, leases: false }, this.missingOf(incomplete)]);
  }

  /** The same of reservations that are in memory: budgets that they charge, and counters of those budgets. */
  missingOf(reservations: readonly Reservation[]): Missing {
    const paths = new Set<BudgetPath>();
    const periods: Account[] = [];
    for (const reservation of reservations) {
      const { accounts, budget, also } = reservation;
      const hasBudgets = accounts.every(({ budgetNo }) => this.#tree.state.budget(budgetNo) !== undefined);
      if (!hasBudgets) for (const path of [budget, ...also]) paths.add(path);
      // Those of budgets that come now are asked for with them.
      const unknown = accounts.filter(({ budgetNo }) => this.#tree.state.budget(budgetNo) === undefined);
      periods.push(
        ...missingPeriods(this.#tree.state, reservation),
        ...unknown.filter(({ windowNo }) => windowNo !== 0),
      );
    }
    const missing = { paths: [...paths], reservationIds: [], leases: false };
    return periods.length === 0 ? missing : { ...missing, periods };
  }

  #hasAllOf(command: Command): boolean {
    if (command.kind === 'Reserve') {
      if (!this.#hasWay(command.budget)) return false;
      for (const path of command.also) if (!this.#hasWay(path)) return false;
    } else if ('budget' in command && !this.#hasPath(command.budget)) return false;
    switch (command.kind) {
      case 'CreateBudget': {
        const parent = parentOf(command.budget);
        if (parent !== undefined && !this.#hasPath(parent)) return false;
        break;
      }
      case 'Renew':
        if (!this.#hasLeasesOf(command)) return false;
        break;
      case 'ApplyBudgets':
        if (!pathsOf(command).every((path) => this.#hasPath(path))) return false;
        break;
      case 'Extend':
      case 'Settle':
      case 'Release':
      case 'LeaveQueue':
      case 'GetReservation':
        if (!this.#hasReservation(command.id)) return false;
        break;
      default:
    }
    const repeated = this.#repeatedBy(command);
    return repeated === undefined || this.#hasReservation(repeated);
  }

  #hasLeasesOf({ renewals }: Renew): boolean {
    for (const { id } of renewals) if (!this.#hasReservation(id)) return false;
    return true;
  }

  // The reservation that a repeat is answered with.
  #repeatedBy({ key }: Command): ReservationId | undefined {
    const remembered = key === undefined ? undefined : this.#tree.state.remembered(key.digest);
    return remembered === undefined ? undefined : reservationOf(remembered);
  }

  #hasPath(path: BudgetPath): boolean {
    return this.#tree.state.budgetAt(path) !== undefined || this.#absent.hasPath(path) || this.#isEmpty();
  }

  // A budget that does not exist is made from the template of one above it: the nearest that exists is needed, and with a
  // budget those above it are always in memory.
  #hasWay(path: BudgetPath): boolean {
    let at: BudgetPath | undefined = path;
    for (; at !== undefined; at = parentOf(at)) {
      if (this.#tree.state.budgetAt(at) !== undefined) return true;
      if (!this.#absent.hasPath(at)) return this.#isEmpty();
    }
    return true;
  }

  // With all that it charges: one that came with the tail may charge budgets that nobody has asked for yet, and budgets are
  // forgotten before reservations.
  #hasReservation(id: ReservationId): boolean {
    const reservation = this.#tree.state.reservation(id);
    if (reservation === undefined) return this.#absent.hasId(id) || this.#isEmpty();
    return hasAll(this.#tree.state, reservation);
  }

  // Nothing was ever written: whatever is not in memory is not there.
  #isEmpty(): boolean {
    return this.#tree.head.seq === 0;
  }
}
