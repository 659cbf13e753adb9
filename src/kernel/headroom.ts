// What is available: the least, over every limit of the budgets that a reservation charges, of
// amount - settled - held - overrun (DESIGN, "available"). The only place where a ceiling is compared with what is used.
import type { Account, BudgetState, Counter, LimitDef } from './budget.ts';
import type { Headroom } from './entry.ts';
import { atLeastZero, MICROS_MAX } from './money.ts';
import type { TreeState } from './tree-state.ts';

/** One limit as it stands. */
export interface LimitRoom {
  readonly budget: BudgetState;
  readonly limit: LimitDef;
  /** amount - settled - held - overrun; below 0 where an edit or an overrun went past the amount. */
  readonly roomMicros: bigint;
  /** amount - settled - overrun: what would be left if every hold came back. */
  readonly unspentMicros: bigint;
}

/** Every limit on the accounts, root first, in the order in which its budget lists them. */
export function limitRooms(state: TreeState, accounts: readonly Account[]): LimitRoom[] {
  const rooms: LimitRoom[] = [];
  for (const account of accounts) {
    const budget = state.mustBudget(account.budgetNo);
    for (const limit of budget.def.limits) {
      if (limit.windowNo === account.windowNo) rooms.push(roomOf(budget, limit, account));
    }
  }
  return rooms;
}

/**
 * The limit on the accounts with the least room, below 0 where an amount was lowered or an overrun passed it: what amounts are
 * reckoned with. The one to name is headroomAfter's. Undefined where no limit applies.
 */
export function tightest(state: TreeState, accounts: readonly Account[]): LimitRoom | undefined {
  let least: LimitRoom | undefined;
  for (const account of accounts) least = tighter(least, state.mustBudget(account.budgetNo), account);
  return least;
}

/** What is available to a budget now; its chain, root first. */
export function headroomOf(chain: readonly BudgetState[]): Headroom {
  const rooms = chain.flatMap((budget) => budget.def.limits.map((limit) => roomOf(budget, limit, LIFETIME)));
  const named = leastBy(rooms, availableMicros);
  return named === undefined ? NO_LIMIT : headroom(named, availableMicros(named));
}

function tighter(
  least: LimitRoom | undefined,
  budget: BudgetState,
  account: Pick<Account, 'windowNo' | 'periodMs'>,
): LimitRoom | undefined {
  let found = least;
  for (const limit of budget.def.limits) {
    if (limit.windowNo !== account.windowNo) continue;
    const room = roomOf(budget, limit, account);
    if (found === undefined || room.roomMicros < found.roomMicros) found = room;
  }
  return found;
}

function roomOf(budget: BudgetState, limit: LimitDef, account: Pick<Account, 'windowNo' | 'periodMs'>): LimitRoom {
  const counter = counterOf(budget, account);
  const unspentMicros = limit.amountMicros - counter.settledMicros - counter.overrunMicros;
  return { budget, limit, roomMicros: unspentMicros - counter.heldMicros, unspentMicros };
}

/**
 * What is available on the accounts after `usedMicros` more were used at every level. `binding`: their tightest limit. Named is
 * the limit that leaves the least, of equals the one nearest the root; all that leave nothing are equal, however far past
 * their amounts they are.
 */
export function headroomAfter(
  state: TreeState,
  accounts: readonly Account[],
  binding: LimitRoom | undefined,
  usedMicros: bigint,
): Headroom {
  if (binding === undefined) return NO_LIMIT;
  const leftMicros = binding.roomMicros - usedMicros;
  // The usual case looks at no other limit: what is least without going below 0 is least with it.
  if (leftMicros >= 0n) return headroom(binding, leftMicros);
  const named = limitRooms(state, accounts).find((room) => room.roomMicros <= usedMicros);
  return headroom(named ?? binding, 0n);
}

/** What a limit has available. */
export function availableMicros(room: LimitRoom): bigint {
  return atLeastZero(room.roomMicros);
}

/** The limit of the least size; of equals the first, which is the one nearest the root. Undefined where there is none. */
export function leastBy(rooms: readonly LimitRoom[], size: (room: LimitRoom) => bigint): LimitRoom | undefined {
  let least: LimitRoom | undefined;
  for (const room of rooms) if (least === undefined || size(room) < size(least)) least = room;
  return least;
}

const NO_LIMIT: Headroom = { micros: undefined, budget: '', limit: '' };

function headroom({ budget, limit }: LimitRoom, micros: bigint): Headroom {
  return { micros, budget: budget.def.path, limit: limit.name };
}

/** How much more fits in the counters themselves: a sum past int64 is refused, even where no limit applies. */
export function counterRoomMicros(state: TreeState, accounts: readonly Account[]): bigint {
  let least = MICROS_MAX;
  for (const account of accounts) {
    const counter = counterOf(state.mustBudget(account.budgetNo), account);
    const room = MICROS_MAX - counter.heldMicros - counter.settledMicros - counter.overrunMicros;
    if (room < least) least = room;
  }
  return least;
}

const LIFETIME = { windowNo: 0, periodMs: 0 };

const NO_COUNTER: Omit<Counter, 'windowNo' | 'periodMs'> = { heldMicros: 0n, settledMicros: 0n, overrunMicros: 0n };

/** The counter of an account, in its budget; zeros where the budget is loaded without it. */
export function counterOf(
  budget: BudgetState,
  account: Pick<Account, 'windowNo' | 'periodMs'>,
): Omit<Counter, 'windowNo' | 'periodMs'> {
  for (const counter of budget.counters) {
    if (counter.windowNo === account.windowNo && counter.periodMs === account.periodMs) return counter;
  }
  return NO_COUNTER;
}
