// What a decision needs and memory does not have, in the words of the store's port. Its own file because the lane, the cache
// and the trees in it all speak of it.
import type { Command } from '../kernel/command.ts';
import type { BudgetPath, ReservationId } from '../kernel/names.ts';

/** What a command needs and the cache does not have. */
export interface Missing {
  readonly paths: readonly BudgetPath[];
  readonly reservationIds: readonly ReservationId[];
  /** Whether more live reservations by reclaim time are needed. */
  readonly leases: boolean;
}

/** What a command needs of a tree of which nothing is loaded. */
export function needsOf(command: Command): Missing {
  const paths: BudgetPath[] = 'budget' in command ? [command.budget] : [];
  return { paths, reservationIds: reservationsOf(command), leases: true };
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
    leases: all.some((missing) => missing.leases),
  };
}
