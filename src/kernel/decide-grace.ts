// One more grace after a time without a leader: leases that ran out, and holds that would have lapsed, while nobody could
// renew or settle them. Stands alone because no caller asks for it: it follows from the gap between two leaders alone, so
// whoever records it, and whenever, records the same.
import { type DecideContext, entryBase } from './decision.ts';
import type { Graced } from './entry.ts';
import type { ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

/** The time before an epoch in which no process could take a command. */
export interface LeaderGap {
  /** The epoch that began when it ended. */
  readonly epoch: number;
  /** When a leader was known to serve for the last time, in milliseconds of the coordinator's clock. */
  readonly fromMs: number;
  /** When the leader of `epoch` took over. */
  readonly toMs: number;
}

/** Entries to append, none or one, and whether more leases have to be moved than one entry takes. */
export interface GraceDecision {
  readonly entries: readonly Graced[];
  readonly more: boolean;
}

/**
 * Moves up to `countMax` leases, oldest first. A lease that ran out in the gap (fromMs < expireMs <= toMs) runs on until
 * toMs + grace and may be renewed until then; a hold that would have lapsed in it is reclaimed then and not before. With a
 * grace of 0 nothing moves. A second call finds nothing: what was moved lies behind the gap. A lease whose reclaim time is
 * later than toMs + grace as it is keeps it. Every reservation with a reclaim time up to toMs + grace must be loaded.
 */
export function decideGrace(state: TreeState, gap: LeaderGap, context: DecideContext, countMax: number): GraceDecision {
  if (context.graceMs === 0) return { entries: [], more: false };
  const untilMs = gap.toMs + context.graceMs;
  const moves: { id: Graced['moves'][number]['id']; figures: ReservationFigures }[] = [];
  // What lapsed before the gap is not looked at, and what was moved already lies at the end: a page costs what it moves.
  for (const { id, figures } of state.reclaimedBetween(gap.fromMs, untilMs)) {
    const ranOut = isWithin(gap, figures.expireMs);
    if (!ranOut && !isWithin(gap, figures.reclaimMs)) continue;
    if (moves.length === countMax) return { entries: [graced(state, gap, context, moves)], more: true };
    moves.push({ id, figures: { ...figures, expireMs: ranOut ? untilMs : figures.expireMs, reclaimMs: untilMs } });
  }
  return { entries: moves.length === 0 ? [] : [graced(state, gap, context, moves)], more: false };
}

function isWithin(gap: LeaderGap, atMs: number): boolean {
  return atMs > gap.fromMs && atMs <= gap.toMs;
}

function graced(state: TreeState, gap: LeaderGap, context: DecideContext, moves: Graced['moves']): Graced {
  const base = entryBase(state, { actor: 'budgetd', key: undefined, personal: undefined }, context);
  return { ...base, type: 'Graced', epoch: gap.epoch, fromMs: gap.fromMs, toMs: gap.toMs, moves };
}
