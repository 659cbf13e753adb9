// What a request has to wait for: the points at which somebody is before it, and those at which it does not fit itself, as the order of
// the queue names them (wait-queue.ts).
import type { BudgetState } from './budget.ts';
import type { Charge } from './charge.ts';
import type { Reserve } from './command.ts';
import type { DecideContext, QueueContext } from './decision.ts';
import { leewayMicros } from './enforcement.ts';
import {
  admissibleMicros,
  admissibleWholeMicros,
  type LimitRoom,
  limitRooms,
  openMicros,
  roomThrough,
  sharesShortOf,
} from './headroom.ts';
import { atLeastZero, minMicros as least, MICROS_MAX } from './money.ts';
import { type BudgetPath, parentOf } from './names.ts';
import { type Ask, failingRooms } from './refuse-money.ts';
import type { RateRoom } from './refuse-rate.ts';
import { fullBudgets, rateFails, waitMs } from './refuse-rate.ts';
import { rollingFreeMs, rollingSpend } from './rolling-spend.ts';
import { ALL, shareLeftMicros } from './share-room.ts';
import type { TreeState } from './tree-state.ts';
import { childAt, isAhead, lowerOf, rankOf, type Standing } from './wait-order.ts';
import type { PointName, WaitPoint } from './wait-point.ts';
import type { WaitQueue } from './wait-queue.ts';
import type { RollingRule } from './window.ts';

/** Points at which somebody is before a request, and what those leave to it there: more than nothing of limits alone. */
export interface Behind {
  readonly points: readonly WaitPoint[];
  readonly left: ReadonlyMap<WaitPoint, bigint>;
}

/** Nobody is before it. */
export const NOT_BEHIND: Behind = { points: [], left: new Map() };

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
  const left = new Map<WaitPoint, bigint>();
  for (const budget of asked.charge.budgets) {
    const binding = asked.judging.includes(budget);
    for (const point of queue.pointsAt(budget.def.path)) {
      if (!uses(point, binding, asked.rates)) continue;
      const own = standingAt(queue, point, command, context);
      const first = point.first(context.nowMs);
      if (first === undefined || first.seq === own.seq || !isAhead(first, own)) continue;
      points.push(point);
      left.set(point, point.kind === 'limit' ? leftAt(state, asked, point, own, command, context) : 0n);
    }
  }
  return points.length === 0 ? NOT_BEHIND : { points, left };
}

// A share is of a limit above: it binds whether the budget itself does or not.
function uses({ kind, budget: path, no }: PointName, binding: boolean, rates: readonly RateRoom[]): boolean {
  if (kind === 'rate') return rates.some(({ budget, rate }) => budget.def.path === path && rate.no === no);
  return kind === 'share' || binding;
}

function standingAt(
  queue: WaitQueue,
  point: WaitPoint,
  command: Reserve,
  { nowMs, queue: { ageMs } }: DecideContext,
): Standing {
  const own = queue.byId(command.id);
  const seq = own?.queued.seq ?? Number.POSITIVE_INFINITY;
  const rank = rankOf(command.priority, own?.createMs ?? nowMs, nowMs, ageMs);
  const child = childAt(point.budget, pathsOf(command)) ?? '';
  return { rank, child, seq, share: point.shareOf(child, nowMs) };
}

// Nothing, unless something is open to this request that is not to those before it: floors of children that it goes through and they
// do not, what is kept for its class, what is past a share of theirs. Of the limit alone: its own shares are points of their own.
function leftAt(
  state: TreeState,
  { charge }: Asked,
  point: WaitPoint,
  own: Standing,
  command: Reserve,
  { nowMs }: DecideContext,
): bigint {
  const room = point.hasViews ? limitRooms(charge, nowMs).find((each) => isOf(point, each)) : undefined;
  if (room === undefined) return 0n;
  const { priority } = command;
  const open = atLeastZero(openMicros(room, priority));
  const isOwn = isThrough(state, room, pathsOf(command));
  let common = 0n;
  for (const { head, paths } of point.aheadOf(own, nowMs)) {
    const isTheirs = isThrough(state, room, paths);
    const both = roomThrough(room, (no) => isOwn(no) && isTheirs(no), nowMs);
    const others = roomThrough(room, (no) => isTheirs(no) && !isOwn(no), nowMs);
    const bothMicros = openMicros(both, lowerOf(priority, head.priority));
    const micros = least(bothMicros, shareLeftMicros(others.uses ?? [], room.amountMicros, ALL) ?? bothMicros);
    if (micros > common) common = micros;
  }
  return atLeastZero(open - common);
}

// One that a grant will make keeps nothing from anybody yet: its number is past those that were given. One that exists and is not in
// memory is gone through by neither of the two: all that those name who ask or wait is. Asked several times of each child that the
// budget lists.
function isThrough(state: TreeState, { uses = [] }: LimitRoom, paths: readonly BudgetPath[]): (no: number) => boolean {
  const through = new Set<number>();
  for (const { share } of uses) {
    const path = state.budget(share.childNo)?.def.path;
    const isMade = share.childNo > state.position.budgetCount;
    if (isMade || (path !== undefined && childAt(path, paths) !== undefined)) through.add(share.childNo);
  }
  return (no) => through.has(no);
}

function isOf({ budget: path, no }: PointName, { budget, limit }: LimitRoom): boolean {
  return budget.def.path === path && limit.no === no;
}

/** What those who come first leave of a limit; MICROS_MAX where nobody waits for it. */
export function leftMicros({ points, left }: Behind, room: LimitRoom): bigint {
  let micros = MICROS_MAX;
  for (const point of points) {
    const isThere = point.kind === 'share' ? isShareOf(point, room) : point.kind === 'limit' && isOf(point, room);
    if (isThere) micros = least(micros, left.get(point) ?? 0n);
  }
  return micros;
}

function isShareOf({ budget: path, no }: PointName, { budget, limit }: LimitRoom): boolean {
  return limit.no === no && budget.def.path === parentOf(path);
}

/** The points that hold a request back, and when to look again though nothing happens: where a rate fills or a window turns. */
export interface Contended {
  readonly points: readonly PointName[];
  readonly wakeMs: number;
}

/** Finds them. `rooms`: every limit of the charge. */
export function contendedBy(asked: Asked, rooms: readonly LimitRoom[], behind: Behind, ask: Ask): Contended {
  const isHere = (point: WaitPoint): boolean =>
    point.kind === 'rate' || point.kind === 'slots' || (behind.left.get(point) ?? 0n) < ask.minMicros;
  const points: PointName[] = behind.points.filter(isHere).map(({ budget, kind, no }) => ({ budget, kind, no }));
  let wakeMs = Number.POSITIVE_INFINITY;
  const add = ({ def: { path } }: BudgetState, kind: PointName['kind'], no: number): void => {
    const isKnown = points.some((each) => each.budget === path && each.kind === kind && each.no === no);
    if (!isKnown) points.push({ budget: path, kind, no });
  };
  for (const room of failingRooms(rooms, ask)) {
    for (const childNo of sharesShortOf(room, ask.minMicros)) {
      const child = asked.charge.budgets.find(({ def }) => def.no === childNo);
      if (child !== undefined) add(child, 'share', room.limit.no);
    }
    if (openMicros(room, ask.priority) < ask.minMicros) add(room.budget, 'limit', room.limit.no);
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
function roomMs(room: LimitRoom, { minMicros, priority, nowMs, calendar }: Ask): number {
  const { budget, limit, roomMicros, uses } = room;
  const window = budget.def.windows.find(({ no }) => no === limit.windowNo);
  const missingMicros = minMicros - atLeastZero(admissibleMicros(room, priority));
  // Somebody before it is all that is in the way, and time alone makes nothing its own: no floor is used less.
  if (missingMicros <= 0n && uses === undefined) return Number.POSITIVE_INFINITY;
  switch (window?.rule.kind) {
    case 'calendar':
      return calendar.period(window.rule, nowMs).endMs;
    case 'rolling': {
      // What children have used decides as well there.
      if (uses !== undefined) return spendGoesMs(budget, window.no, window.rule, nowMs);
      const spentMicros = spentIn(budget, window.no, window.rule, nowMs);
      const leftMicros = spentMicros + roomMicros + leewayMicros(budget, priority) - minMicros;
      return rollingFreeMs(budget.steps, window.no, window.rule, nowMs, leftMicros) ?? Number.POSITIVE_INFINITY;
    }
    default:
      return Number.POSITIVE_INFINITY;
  }
}

// When the next of what counts of spend in a rolling window goes; infinite where nothing does.
function spendGoesMs(budget: BudgetState, windowNo: number, rule: RollingRule, nowMs: number): number {
  const leftMicros = spentIn(budget, windowNo, rule, nowMs) - 1n;
  return rollingFreeMs(budget.steps, windowNo, rule, nowMs, leftMicros) ?? Number.POSITIVE_INFINITY;
}

function spentIn({ steps }: BudgetState, windowNo: number, rule: RollingRule, nowMs: number): bigint {
  const { settledMicros, overrunMicros } = rollingSpend(steps, windowNo, rule, nowMs);
  return settledMicros + overrunMicros;
}

/**
 * When what a request asks for may be gone for good, by time alone: a range is over, what was topped up for a period, or what one hold
 * through two children with floors left of both. Infinite where it can't be.
 */
export function goneMs(
  rooms: readonly LimitRoom[],
  { priority, minMicros }: Pick<Ask, 'priority' | 'minMicros'>,
  { nowMs, calendar }: DecideContext,
): number {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const room of rooms) {
    const { budget, limit, account, uses } = room;
    const rule = budget.def.windows.find(({ no }) => no === limit.windowNo)?.rule;
    // One of a budget that only watches may be over already.
    if (rule?.kind === 'range' && rule.endMs > nowMs) firstMs = Math.min(firstMs, rule.endMs);
    const isToppedUp = rule?.kind === 'calendar' && limit.topUp?.periodMs === account.periodMs;
    const isLent = uses !== undefined && admissibleWholeMicros(room, priority) < minMicros;
    if (isToppedUp || (isLent && rule?.kind === 'calendar')) {
      firstMs = Math.min(firstMs, calendar.period(rule, nowMs).endMs);
    }
    if (isLent && rule?.kind === 'rolling')
      firstMs = Math.min(firstMs, spendGoesMs(budget, limit.windowNo, rule, nowMs));
  }
  return firstMs;
}

/** Every point that a request asks for: where one that fits stands until it is its turn, or until its caller is back. */
export function allPoints(asked: Asked, rooms: readonly LimitRoom[]): PointName[] {
  const binding = new Set(asked.judging);
  const binds = rooms.filter(({ budget }) => binding.has(budget));
  const shares = binds.flatMap(({ uses = [], limit }) =>
    uses
      .filter(({ isOwn, share }) => isOwn && share.sharePercent !== undefined)
      .flatMap(({ share }) => asked.charge.budgets.filter(({ def }) => def.no === share.childNo))
      .map((child) => nameOf(child, 'share', limit.no)),
  );
  return [
    ...binds.map(({ budget, limit }) => nameOf(budget, 'limit', limit.no)),
    ...shares,
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

// Paths that a request names.
function pathsOf({ budget, also }: Pick<Reserve, 'budget' | 'also'>): readonly BudgetPath[] {
  return [budget, ...also];
}
