// The order of those who wait: the higher class first, then the child that has had least for its weight, then first come. Its own
// file because who comes new, who waits and whoever looks at the queue must reckon it alike.
import { PRIORITIES } from './enforcement.ts';
import type { BudgetPath } from './names.ts';
import type { Queued, Reservation } from './reservation.ts';

/** A reservation that waits. */
export interface Waiting extends Reservation {
  readonly queued: Queued;
}

/** Whether a reservation waits. */
export function isWaiting(reservation: Reservation | undefined): reservation is Waiting {
  return reservation?.figures.state === 'QUEUED';
}

/** What a child has had, and its weight. */
export interface Share {
  readonly useMicros: bigint;
  readonly weight: bigint;
  /** Whether some of it lies back, and counts less and less. */
  readonly isFading: boolean;
}

/** By what the order at a point goes. */
export interface Standing {
  /** Place of its class in PRIORITIES, with what it rose by waiting. */
  readonly rank: number;
  readonly child: string;
  readonly share: Share;
  readonly seq: number;
}

/** Place of the highest class in PRIORITIES. */
export const RANK_MAX = PRIORITIES.length - 1;

/** Whether `a` comes before `b` at a point. */
export function isAhead(a: Standing, b: Standing): boolean {
  if (a.rank !== b.rank) return a.rank > b.rank;
  if (a.child === b.child) return a.seq < b.seq;
  const less = lessOf(a.share, b.share);
  return less === 0 ? a.seq < b.seq : less < 0;
}

/** Below 0 where the first has had less for its weight. */
export function lessOf(a: Share, b: Share): number {
  const left = a.useMicros * b.weight;
  const right = b.useMicros * a.weight;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Place in PRIORITIES of the class that a request counts as once it has waited since `sinceMs`: one higher after each `ageMs`. */
export function rankOf(priority: Reservation['priority'], sinceMs: number, nowMs: number, ageMs: number): number {
  const risen = Math.max(0, Math.floor((nowMs - sinceMs) / ageMs));
  return Math.min(RANK_MAX, PRIORITIES.indexOf(priority) + risen);
}

/** The less urgent of two classes. */
export function lowerOf(a: Reservation['priority'], b: Reservation['priority']): Reservation['priority'] {
  return PRIORITIES.indexOf(a) < PRIORITIES.indexOf(b) ? a : b;
}

/** The child of a budget through which paths lead; empty where one names the budget itself, undefined where none leads there. */
export function childAt(budget: BudgetPath, paths: readonly BudgetPath[]): string | undefined {
  for (const path of paths) {
    if (path === budget) return '';
    if (!path.startsWith(budget) || path[budget.length] !== '/') continue;
    const end = path.indexOf('/', budget.length + 1);
    return end === -1 ? path : path.slice(0, end);
  }
  return undefined;
}
