// The things that a request asks for in the naive queue (naive-queue.ts) and that can be short. Its own file because what there is of a
// thing is one question, and who comes first for it another.
import type { BudgetState } from '../../src/kernel/budget.ts';
import type { Reserve } from '../../src/kernel/command.ts';
import { leewayMicros, PRIORITIES, type Priority, toleranceMicros } from '../../src/kernel/enforcement.ts';
import {
  admissibleUnspentMicros,
  admissibleWholeMicros,
  type LimitRoom,
  limitRooms,
} from '../../src/kernel/headroom.ts';
import { atLeastZero, minMicros as least } from '../../src/kernel/money.ts';
import { rateRooms } from '../../src/kernel/refuse-rate.ts';
import type { RequestedCharge } from '../../src/kernel/requested-charge.ts';
import { ALL, flooredMicros, shareLeftMicros } from '../../src/kernel/share-room.ts';

/** One thing that a request asks for and that can be short. */
export interface Thing {
  readonly name: string;
  /** By whose children it is shared out. */
  readonly budget: BudgetState;
  /** share: what a child on its way may use of a limit. */
  readonly kind: 'limit' | 'share' | 'rate' | 'slots';
  /** Limits, and shares of them. */
  readonly room: LimitRoom | undefined;
  /** What there is of a limit for it but for shares, or of a share; below 0 where it is passed. */
  readonly openMicros: bigint;
  /** Limits: what there would be without holds, never below 0, and ever. */
  readonly unspentMicros: bigint;
  readonly wholeMicros: bigint;
  /** Rates and slots: whether there is too little. */
  readonly isShort: boolean;
  readonly isNever: boolean;
}

/** One who asks, and the paths of the budgets that exist, by number. */
interface Asking {
  readonly command: Reserve;
  readonly existing: ReadonlyMap<number, string>;
}

/** All that a request asks of the budgets that judge it. */
export function thingsOf(
  charge: RequestedCharge,
  judging: readonly BudgetState[],
  command: Reserve,
  nowMs: number,
): Thing[] {
  const nothing = { room: undefined, openMicros: 0n, unspentMicros: 0n, wholeMicros: 0n, isNever: false };
  const rooms = limitRooms(charge, nowMs).filter(({ budget }) => judging.includes(budget));
  const limits = rooms.flatMap((room) => moneyThings(room, command.priority, charge));
  const use = { requests: 1, tokens: command.tokens, toolCalls: command.toolCalls };
  const rates = rateRooms(judging, use, nowMs).map(({ budget, rate, level, cost }): Thing => {
    const isShort = level < BigInt(cost) * BigInt(rate.perMs);
    return {
      ...nothing,
      name: `${budget.def.path} rate ${rate.no}`,
      budget,
      kind: 'rate',
      isShort,
      isNever: cost > rate.burst,
    };
  });
  const slots = judging.flatMap((budget): Thing[] => {
    const { maxActive } = budget.def.shape;
    if (maxActive === undefined) return [];
    const isShort = budget.activeCount >= maxActive;
    return [{ ...nothing, name: `${budget.def.path} slots`, budget, kind: 'slots', isShort }];
  });
  return [...limits, ...rates, ...slots];
}

// A limit, and the shares of it that the children on the way have.
function moneyThings(room: LimitRoom, priority: Priority, { budgets }: RequestedCharge): Thing[] {
  const { budget, limit, uses = [], amountMicros } = room;
  const own = uses.filter(({ isOwn }) => isOwn);
  const whole = admissibleWholeMicros(room, priority);
  const unspent = admissibleUnspentMicros(room, priority);
  const thing: Thing = {
    name: `${budget.def.path} limit ${limit.no}`,
    budget,
    kind: 'limit',
    room,
    openMicros: openMicros(
      room,
      priority,
      own.map(({ share }) => share.childNo),
    ),
    unspentMicros: atLeastZero(unspent),
    // One hold uses the floors of two children.
    wholeMicros: uses.length > 0 && unspent > whole ? unspent : whole,
    isShort: false,
    isNever: false,
  };
  const shares = own.flatMap((use): Thing[] => {
    const child = budgets.find(({ def }) => def.no === use.share.childNo);
    const left = shareLeftMicros([use], amountMicros, ALL);
    if (child === undefined || left === undefined) return [];
    return [{ ...thing, name: `${child.def.path} share ${limit.no}`, budget: child, kind: 'share', openMicros: left }];
  });
  return [thing, ...shares];
}

/** What a limit has for a class that goes through some of its children, but for shares. */
function openMicros({ budget, roomMicros, uses = [] }: LimitRoom, priority: Priority, childNos: number[]): bigint {
  const through = uses.map((use) => ({ ...use, isOwn: childNos.includes(use.share.childNo) }));
  const floored = flooredMicros(through, roomMicros + toleranceMicros(budget), ALL);
  return roomMicros + leewayMicros(budget, priority) - floored;
}

/**
 * What of a limit both of two could have: through the children of both, in the lower class, and within the shares that only `other`
 * has. Children that a grant would make have nothing for themselves yet.
 */
export function commonMicros(ask: Asking, other: Asking, { room }: Thing): bigint {
  if (room === undefined) throw new Error('a limit has room');
  const { uses = [], amountMicros } = room;
  const asks = ({ command: { budget, also } }: Asking, no: number): boolean => {
    const path = ask.existing.get(no);
    return path === undefined || [budget, ...also].some((each) => `${each}/`.startsWith(`${path}/`));
  };
  const [a, b] = [ask.command.priority, other.command.priority];
  const lower = PRIORITIES.indexOf(a) < PRIORITIES.indexOf(b) ? a : b;
  const nos = uses.map(({ share }) => share.childNo);
  const both = nos.filter((no) => asks(ask, no) && asks(other, no));
  const alone = uses
    .filter(({ share: { childNo } }) => asks(other, childNo) && !asks(ask, childNo))
    .map((use) => ({ ...use, isOwn: true }));
  const common = openMicros(room, lower, both);
  return atLeastZero(least(common, shareLeftMicros(alone, amountMicros, ALL) ?? common));
}
