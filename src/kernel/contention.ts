// What a request has to wait for: the points at which somebody is before it, and those at which it does not fit itself, as the order of
// the queue names them (wait-queue.ts).
import type { BudgetState } from './budget.ts';
import type { Charge } from './charge.ts';
import type { Reserve } from './command.ts';
import type { DecideContext, QueueContext } from './decision.ts';
import { leewayMicros } from './enforcement.ts';
import type { LimitRoom } from './headroom.ts';
import { atLeastZero } from './money.ts';
import type { BudgetPath } from './names.ts';
import { type Ask, failingRooms } from './refuse-money.ts';
import type { RateRoom } from './refuse-rate.ts';
import { fullBudgets, rateFails, waitMs } from './refuse-rate.ts';
import { rollingFreeMs, rollingSpend } from './rolling-spend.ts';
import type { TreeState } from './tree-state.ts';
import { childAt, isAhead, rankOf } from './wait-order.ts';
import type { PointName, WaitPoint } from './wait-point.ts';
import type { WaitQueue } from './wait-queue.ts';

/** Points at which somebody is before a request. */
export interface Behind {
  readonly points: readonly WaitPoint[];
}

/** Nobody is before it. */
export const NOT_BEHIND: Behind = { points: [] };

/** What a request asks that can be contended. */
export interface Asked {
  readonly charge: Charge;
  /** Budgets whose bounds bind. */
  readonly judging: readonly BudgetState[];
  readonly rates: readonly RateRoom[];
}

/**
 * Where somebody is before a request: one that comes now is behind all of its class and child. In the usual case nobody waits in
 * the tree at all.
 */
export function behindOf(state: TreeState, asked: Asked, command: Reserve, context: DecideContext): Behind {
  const { queue } = state;
  if (queue === undefined) return NOT_BEHIND;
  const points: WaitPoint[] = [];
  for (const budget of asked.judging) {
    for (const point of queue.pointsAt(budget.def.path)) {
      if (uses(point, asked.rates) && isBehind(queue, point, command, context)) points.push(point);
    }
  }
  return points.length === 0 ? NOT_BEHIND : { points };
}

function uses({ kind, budget: path, no }: PointName, rates: readonly RateRoom[]): boolean {
  return kind !== 'rate' || rates.some(({ budget, rate }) => budget.def.path === path && rate.no === no);
}

function isBehind(
  queue: WaitQueue,
  point: WaitPoint,
  command: Reserve,
  { nowMs, queue: { ageMs } }: DecideContext,
): boolean {
  const first = point.first(nowMs);
  if (first === undefined) return false;
  const own = queue.byId(command.id);
  const seq = own?.queued.seq ?? Number.POSITIVE_INFINITY;
  if (first.seq === seq) return false;
  const rank = rankOf(command.priority, own?.createMs ?? nowMs, nowMs, ageMs);
  const child = childAt(point.budget, [command.budget, ...command.also]) ?? '';
  return isAhead(first, { rank, child, seq, share: point.shareOf(child, nowMs) });
}

/** Whether somebody is before it at a limit. */
export function isBehindAt({ points }: Behind, { budget, limit }: LimitRoom): boolean {
  for (const { kind, budget: path, no } of points)
    if (kind === 'limit' && no === limit.no && path === budget.def.path) return true;
  return false;
}

/** The points that hold a request back, and when to look again though nothing happens: where a rate fills or a window turns. */
export interface Contended {
  readonly points: readonly PointName[];
  readonly wakeMs: number;
}

/** Finds them. `rooms`: every limit of the charge. */
export function contendedBy(asked: Asked, rooms: readonly LimitRoom[], behind: Behind, ask: Ask): Contended {
  const points: PointName[] = behind.points.map(({ budget, kind, no }) => ({ budget, kind, no }));
  let wakeMs = Number.POSITIVE_INFINITY;
  const add = ({ def: { path } }: BudgetState, kind: PointName['kind'], no: number): void => {
    const isKnown = points.some((each) => each.budget === path && each.kind === kind && each.no === no);
    if (!isKnown) points.push({ budget: path, kind, no });
  };
  for (const room of failingRooms(rooms, ask)) {
    add(room.budget, 'limit', room.limit.no);
    wakeMs = Math.min(wakeMs, roomMs(room, ask));
  }
  for (const room of asked.rates) {
    if (!rateFails(room)) continue;
    add(room.budget, 'rate', room.rate.no);
    wakeMs = Math.min(wakeMs, ask.nowMs + waitMs(room));
  }
  for (const full of fullBudgets(asked.judging)) add(full, 'slots', 0);
  return { points, wakeMs };
}

// When time alone may have made more room under a limit, with every hold where it is: what is held in a period that is over is not
// in the way of one that begins. Infinite where it never does.
function roomMs({ budget, limit, roomMicros }: LimitRoom, { minMicros, priority, nowMs, calendar }: Ask): number {
  const window = budget.def.windows.find(({ no }) => no === limit.windowNo);
  const missingMicros = minMicros - atLeastZero(roomMicros + leewayMicros(budget, priority));
  // Somebody before it is all that is in the way.
  if (missingMicros <= 0n) return Number.POSITIVE_INFINITY;
  switch (window?.rule.kind) {
    case 'calendar':
      return calendar.period(window.rule, nowMs).endMs;
    case 'rolling': {
      const spent = rollingSpend(budget.steps, window.no, window.rule, nowMs);
      const leftMicros =
        spent.settledMicros + spent.overrunMicros + roomMicros + leewayMicros(budget, priority) - minMicros;
      return rollingFreeMs(budget.steps, window.no, window.rule, nowMs, leftMicros) ?? Number.POSITIVE_INFINITY;
    }
    default:
      return Number.POSITIVE_INFINITY;
  }
}

/**
 * When what a request asks for may be gone for good, by time alone: a range is over, or what was topped up for a period. Infinite where
 * it can't be.
 */
export function goneMs(rooms: readonly LimitRoom[], { nowMs, calendar }: DecideContext): number {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const { budget, limit, account } of rooms) {
    const rule = budget.def.windows.find(({ no }) => no === limit.windowNo)?.rule;
    // One of a budget that only watches may be over already.
    if (rule?.kind === 'range' && rule.endMs > nowMs) firstMs = Math.min(firstMs, rule.endMs);
    const isToppedUp = rule?.kind === 'calendar' && limit.topUp?.periodMs === account.periodMs;
    if (isToppedUp) firstMs = Math.min(firstMs, calendar.period(rule, nowMs).endMs);
  }
  return firstMs;
}

/** Every point that a request asks for: where one that fits stands until it is its turn, or until its caller is back. */
export function allPoints(asked: Asked, rooms: readonly LimitRoom[]): PointName[] {
  const binding = new Set(asked.judging);
  return [
    ...rooms.filter(({ budget }) => binding.has(budget)).map(({ budget, limit }) => nameOf(budget, 'limit', limit.no)),
    ...asked.rates.map(({ budget, rate }) => nameOf(budget, 'rate', rate.no)),
    ...asked.judging.filter(({ def }) => def.shape.maxActive !== undefined).map((each) => nameOf(each, 'slots', 0)),
  ];
}

function nameOf({ def }: BudgetState, kind: PointName['kind'], no: number): PointName {
  return { budget: def.path, kind, no };
}

/** When a request that waits rises a class next; infinite where it can't any more. */
export function nextRiseMs(
  { priority, createMs }: { readonly priority: Reserve['priority']; readonly createMs: number },
  nowMs: number,
  { ageMs }: Pick<QueueContext, 'ageMs'>,
): number {
  const isHighest = rankOf(priority, createMs, nowMs, ageMs) === rankOf('critical', createMs, createMs, ageMs);
  if (isHighest) return Number.POSITIVE_INFINITY;
  return createMs + (Math.floor(Math.max(0, nowMs - createMs) / ageMs) + 1) * ageMs;
}

/** Paths that a request names. */
export function pathsOf({ budget, also }: Pick<Reserve, 'budget' | 'also'>): readonly BudgetPath[] {
  return [budget, ...also];
}
