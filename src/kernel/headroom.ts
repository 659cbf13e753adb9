// What is available: the least, over every limit of the budgets that a reservation charges, of
// amount - settled - held - overrun (DESIGN, "available"). The only place where a ceiling is compared with what is used.
import type { Account, BudgetState, Counter, LimitDef } from './budget.ts';
import type { Charge } from './charge.ts';
import { binds, isSpecial, leewayMicros, type Priority, toleranceMicros } from './enforcement.ts';
import type { Headroom } from './entry.ts';
import { atLeastZero, minMicros as least, MICROS_MAX } from './money.ts';
import { rollingSpend } from './rolling-spend.ts';
import {
  ALL,
  type Counting,
  flooredMicros,
  NOTHING,
  type ShareUse,
  shareLeftMicros,
  shareUses,
  spentAnd,
} from './share-room.ts';
import { isOpen, rollingRuleOf } from './window.ts';

/** One limit as it stands in one period. */
export interface LimitRoom {
  readonly budget: BudgetState;
  readonly limit: LimitDef;
  readonly account: Account;
  /** The ceiling in this period: with what was topped up for it. */
  readonly amountMicros: bigint;
  /** amount - settled - held - overrun; below 0 where an edit or an overrun went past the amount. */
  readonly roomMicros: bigint;
  /** amount - settled - overrun: what would be left if every hold came back. */
  readonly unspentMicros: bigint;
  /** What children with a floor or a share use of it; undefined where the budget lists none. */
  readonly uses: readonly ShareUse[] | undefined;
}

/** Every limit on the accounts of a charge at `nowMs`, nearest the root first, those of one budget window by window. */
export function limitRooms({ budgets, accounts }: Charge, nowMs: number): LimitRoom[] {
  const rooms: LimitRoom[] = [];
  let at = 0;
  for (const account of accounts) {
    while (budgets[at]?.def.no !== account.budgetNo) at += 1;
    const budget = budgets[at] as BudgetState;
    for (const limit of budget.def.limits) {
      if (limit.windowNo === account.windowNo) rooms.push(roomOf(budget, limit, account, budgets, nowMs));
    }
  }
  return rooms;
}

function roomOf(
  budget: BudgetState,
  limit: LimitDef,
  account: Account,
  budgets: readonly BudgetState[],
  nowMs: number,
): LimitRoom {
  const amountMicros = amountIn(limit, account.periodMs);
  const counter = counterAt(budget, account, nowMs);
  const unspentMicros = amountMicros - counter.settledMicros - counter.overrunMicros;
  const roomMicros = unspentMicros - counter.heldMicros;
  const uses =
    budget.def.childShares.length === 0
      ? undefined
      : shareUses(budget, account, (no) => budgets.some(({ def }) => def.no === no), nowMs);
  return { budget, limit, account, amountMicros, roomMicros, unspentMicros, uses };
}

/**
 * The limit with the least room, below 0 where an amount was lowered or an overrun passed it: what amounts are reckoned with.
 * The one to name is headroomAfter's. Undefined where no limit applies. Every decision asks: only the room found is made.
 */
export function tightest({ budgets, accounts }: Charge, nowMs: number): LimitRoom | undefined {
  let found: { readonly budget: BudgetState; readonly limit: LimitDef; readonly account: Account } | undefined;
  let leastMicros = 0n;
  let at = 0;
  for (const account of accounts) {
    while (budgets[at]?.def.no !== account.budgetNo) at += 1;
    const budget = budgets[at] as BudgetState;
    let usedMicros: bigint | undefined;
    for (const limit of budget.def.limits) {
      if (limit.windowNo !== account.windowNo) continue;
      usedMicros ??= usedOf(counterAt(budget, account, nowMs));
      const roomMicros = amountIn(limit, account.periodMs) - usedMicros;
      if (found !== undefined && roomMicros >= leastMicros) continue;
      found = { budget, limit, account };
      leastMicros = roomMicros;
    }
  }
  return found && roomOf(found.budget, found.limit, found.account, budgets, nowMs);
}

/**
 * What a request of a class can have of a limit: what is left of it, with the budget's leeway, without floors of children that it
 * does not go through, and within the shares of those that it does. Below 0 where past it.
 */
export function admissibleMicros(room: LimitRoom, priority: Priority): bigint {
  return admissible(room, priority, room.roomMicros, room.amountMicros, ALL);
}

/** The same limit as a request sees it that goes through other children. */
export function roomThrough(room: LimitRoom, isOn: (no: number) => boolean, nowMs: number): LimitRoom {
  return room.uses === undefined ? room : { ...room, uses: shareUses(room.budget, room.account, isOn, nowMs) };
}

/** Children on the way of a request whose shares of a limit leave less than `minMicros`. */
export function sharesShortOf({ budget, uses, amountMicros }: LimitRoom, minMicros: bigint): number[] {
  if (uses === undefined || !binds(budget)) return [];
  const short = uses.filter((use) => (shareLeftMicros([use], amountMicros, ALL) ?? minMicros) < minMicros);
  return short.map(({ share }) => share.childNo);
}

/** What a request of a class can have of a limit but for shares: they are its own. */
export function openMicros({ budget, uses, roomMicros }: LimitRoom, priority: Priority): bigint {
  const allMicros = roomMicros + leewayMicros(budget, priority);
  if (uses === undefined || !binds(budget)) return allMicros;
  return allMicros - flooredMicros(uses, roomMicros + toleranceMicros(budget), ALL);
}

/** The same once every hold has come back, but for `ownHeldMicros` of the reservation that asks for more. */
export function admissibleUnspentMicros(room: LimitRoom, priority: Priority, ownHeldMicros = 0n): bigint {
  return admissible(room, priority, room.unspentMicros - ownHeldMicros, room.amountMicros, spentAnd(ownHeldMicros));
}

/** The same of a whole amount, of which nothing is used. */
export function admissibleWholeMicros(room: LimitRoom, priority: Priority, amountMicros = room.amountMicros): bigint {
  return admissible(room, priority, amountMicros, amountMicros, NOTHING);
}

/** The same with so much left of the amount, and uses of children that count so. */
export function admissible(
  { budget, uses }: LimitRoom,
  priority: Priority,
  leftMicros: bigint,
  amountMicros: bigint,
  counting: Counting,
): bigint {
  const allMicros = leftMicros + leewayMicros(budget, priority);
  if (uses === undefined || !binds(budget)) return allMicros;
  const floored = flooredMicros(uses, leftMicros + toleranceMicros(budget), counting);
  return least(allMicros - floored, shareLeftMicros(uses, amountMicros, counting) ?? allMicros);
}

/** What is kept back of a limit in a period for floors of children, as it stands. */
export function flooredIn(budget: BudgetState, limit: LimitDef, periodMs: number, nowMs: number): bigint {
  if (!binds(budget)) return 0n;
  const account = { budgetNo: budget.def.no, windowNo: limit.windowNo, periodMs };
  const { uses, roomMicros } = roomOf(budget, limit, account, [], nowMs);
  return uses === undefined ? 0n : flooredMicros(uses, roomMicros + toleranceMicros(budget), ALL);
}

/** What a limit covers of a cost beyond its hold: as much as is admitted, whatever is kept for urgent work. Below 0 where past it. */
export function coverableMicros({ budget, uses, roomMicros, amountMicros }: LimitRoom): bigint {
  const allMicros = roomMicros + toleranceMicros(budget);
  if (uses === undefined) return allMicros;
  const coveredMicros = allMicros - flooredMicros(uses, allMicros, ALL);
  return least(coveredMicros, shareLeftMicros(uses, amountMicros, ALL) ?? coveredMicros);
}

/**
 * The least that the limits of a charge admit for a request of a class; undefined where no limit applies. `binding`: their
 * tightest limit, which says it all in the usual case.
 */
export function admitted(
  charge: Charge,
  binding: LimitRoom | undefined,
  priority: Priority,
  nowMs: number,
): bigint | undefined {
  if (binding === undefined || !isSpecial(charge.budgets)) return binding?.roomMicros;
  const size = (room: LimitRoom): bigint => admissibleMicros(room, priority);
  const named = leastBy(limitRooms(charge, nowMs), size);
  return named && size(named);
}

/** The ceiling of a limit in a period. */
export function amountIn({ amountMicros, topUp }: LimitDef, periodMs: number): bigint {
  if (topUp === undefined || topUp.periodMs !== periodMs) return amountMicros;
  // An edit after the top-up may have raised the amount to where the two pass int64.
  return least(amountMicros + topUp.addMicros, MICROS_MAX);
}

/**
 * What is available on the accounts after `usedMicros` more were used at every level. `binding`: their tightest limit. Named is
 * the limit that leaves the least, of equals the one nearest the root; all that leave nothing are equal, however far past
 * their amounts they are.
 */
export function headroomAfter(
  charge: Charge,
  nowMs: number,
  binding: LimitRoom | undefined,
  usedMicros: bigint,
): Headroom {
  if (binding === undefined) return NO_LIMIT;
  const leftMicros = binding.roomMicros - usedMicros;
  // The usual case looks at no other limit: what is least without going below 0 is least with it.
  if (leftMicros >= 0n) return headroom(binding, leftMicros);
  return headroomIn(limitRooms(charge, nowMs), usedMicros);
}

/** The same, of rooms that are at hand. */
export function headroomIn(rooms: readonly LimitRoom[], usedMicros: bigint): Headroom {
  const size = (room: LimitRoom): bigint => atLeastZero(room.roomMicros - usedMicros);
  const named = leastBy(rooms, size);
  return named === undefined ? NO_LIMIT : headroom(named, size(named));
}

/** What is available to a new reservation on a charge now: nothing where a range is not open. */
export function headroomOf(charge: Charge, nowMs: number): Headroom {
  const rooms = limitRooms(charge, nowMs);
  return headroomIn(
    rooms.map((room) => (isClosed(room, nowMs) ? { ...room, roomMicros: 0n } : room)),
    0n,
  );
}

function isClosed({ budget, account }: LimitRoom, nowMs: number): boolean {
  return budget.def.windows.some(({ no, rule }) => no === account.windowNo && !isOpen(rule, nowMs));
}

/** The limit of the least size; of equals the first, which is the one nearest the root. Undefined where there is none. */
export function leastBy(rooms: readonly LimitRoom[], size: (room: LimitRoom) => bigint): LimitRoom | undefined {
  let found: LimitRoom | undefined;
  for (const room of rooms) if (found === undefined || size(room) < size(found)) found = room;
  return found;
}

const NO_LIMIT: Headroom = { micros: undefined, budget: '', limit: '' };

function headroom({ budget, limit }: LimitRoom, micros: bigint): Headroom {
  return { micros, budget: budget.def.path, limit: limit.name };
}

/** How much more fits in the counters themselves: a sum past int64 is refused, even where no limit applies. */
export function counterRoomMicros({ budgets, accounts }: Charge, nowMs: number): bigint {
  let mostMicros = 0n;
  let at = 0;
  for (const account of accounts) {
    while (budgets[at]?.def.no !== account.budgetNo) at += 1;
    const usedMicros = usedOf(counterAt(budgets[at] as BudgetState, account, nowMs));
    if (usedMicros > mostMicros) mostMicros = usedMicros;
  }
  return MICROS_MAX - mostMicros;
}

function usedOf({ heldMicros, settledMicros, overrunMicros }: Sums): bigint {
  return heldMicros + settledMicros + overrunMicros;
}

type Sums = Omit<Counter, 'windowNo' | 'periodMs'>;

const NO_COUNTER: Sums = { heldMicros: 0n, settledMicros: 0n, overrunMicros: 0n };

/** The sums of an account as they count at `nowMs`; zeros where nothing was counted in it. */
export function counterAt(budget: BudgetState, account: Omit<Account, 'budgetNo'>, nowMs: number): Sums {
  const counter = counterOf(budget, account);
  if (account.windowNo === 0 || account.periodMs !== 0) return counter;
  const rule = rollingRuleOf(budget.def.windows, account.windowNo);
  if (rule === undefined) return counter;
  const { settledMicros, overrunMicros } = rollingSpend(budget.steps, account.windowNo, rule, nowMs);
  return { heldMicros: counter.heldMicros, settledMicros, overrunMicros };
}

function counterOf(budget: BudgetState, account: Omit<Account, 'budgetNo'>): Sums {
  const { counters } = budget;
  const { windowNo, periodMs } = account;
  for (let at = 0; at < counters.length; at += 1) {
    const counter = counters[at] as Counter;
    if (counter.windowNo === windowNo && counter.periodMs === periodMs) return counter;
  }
  return NO_COUNTER;
}
