// What a decision needs and memory does not have, in the words of the store's port. Its own file because the lane, the cache
// and the trees in it all speak of it.
import type { Account } from '../kernel/budget.ts';
import type { Command } from '../kernel/command.ts';
import { type BudgetPath, parentOf, type ReservationId } from '../kernel/names.ts';

/** What a command needs and the cache does not have. */
export interface Missing {
  readonly paths: readonly BudgetPath[];
  readonly reservationIds: readonly ReservationId[];
  /** Counters of periods, of budgets that may be in memory. Default: none. */
  readonly periods?: readonly Account[];
  /** Whether more live reservations by reclaim time are needed. */
  readonly leases: boolean;
}

/** What a command needs of a tree of which nothing is loaded. */
export function needsOf(command: Command): Missing {
  return { paths: pathsOf(command), reservationIds: reservationsOf(command), leases: true };
}

/** Budgets that a command names, and the one above one that it makes. */
export function pathsOf(command: Command): BudgetPath[] {
  switch (command.kind) {
    case 'Reserve':
      return [command.budget, ...command.also];
    case 'CreateBudget': {
      const parent = parentOf(command.budget);
      return parent === undefined ? [command.budget] : [command.budget, parent];
    }
    case 'ApplyBudgets':
      return [...new Set(command.changes.flatMap(pathsOf))];
    default:
      return 'budget' in command ? [command.budget] : [];
  }
}

/** Digests of the keys that a command's entries have. */
export function digestsOf(command: Command): string[] {
  const keys = command.kind === 'ApplyBudgets' ? command.changes.map(({ key }) => key) : [command.key];
  return keys.flatMap((key) => (key === undefined ? [] : [key.digest]));
}

/** Reservations that a command names. */
export function reservationsOf(command: Command): ReservationId[] {
  if (command.kind === 'Renew') return command.renewals.map(({ id }) => id);
  return 'id' in command && command.kind !== 'Reserve' ? [command.id] : [];
}

/** Several needs as one. */
export function mergeMissing(all: readonly Missing[]): Missing {
  return {
    paths: [...new Set(all.flatMap((missing) => missing.paths))],
    reservationIds: [...new Set(all.flatMap((missing) => missing.reservationIds))],
    ...(all.some(({ periods }) => periods !== undefined) && {
      periods: distinctPeriods(all.flatMap((each) => each.periods ?? [])),
    }),
    leases: all.some((missing) => missing.leases),
  };
}

/** Each period once. */
export function distinctPeriods(periods: readonly Account[]): Account[] {
  const byName = new Map(periods.map((each) => [`${each.budgetNo}:${each.windowNo}:${each.periodMs}`, each]));
  return [...byName.values()];
}
