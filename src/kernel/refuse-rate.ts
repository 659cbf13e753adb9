// Rates and slots: refusals of a Reserve for how often and how many at once, and what a granted one uses of the rates.
import type { BudgetState } from './budget.ts';
import type { RateMove } from './entry.ts';
import { atLeastZero } from './money.ts';
import { fillMs, levelAt, type RateDef, type RateUse, rateCost, unitsAt } from './rate.ts';
import type { Refusal } from './refusal.ts';
import { HELD_RETRY_MS } from './refuse-money.ts';

/** A rate that a request uses, as it stands. */
export interface RateRoom {
  readonly budget: BudgetState;
  readonly rate: RateDef;
  /** In units x perMs. */
  readonly level: bigint;
  readonly cost: number;
}

/** Every rate that a request uses something of, nearest the root first. */
export function rateRooms(budgets: readonly BudgetState[], use: RateUse, nowMs: number): RateRoom[] {
  const rooms: RateRoom[] = [];
  for (const budget of budgets) {
    for (const rate of budget.def.rates) {
      const cost = rateCost(rate, use);
      if (cost > 0) rooms.push({ budget, rate, cost, level: levelAt(rate, budget.rateLevels, nowMs) });
    }
  }
  return rooms;
}

/** Whether a rate does not hold what a request uses. */
export function rateFails({ rate, level, cost }: RateRoom): boolean {
  return level < BigInt(cost) * BigInt(rate.perMs);
}

/** EXCEEDS_LIMIT where a request uses more than a rate ever holds; undefined where none does. */
export function aboveBurstRefusal(rooms: readonly RateRoom[]): Refusal | undefined {
  let named: RateRoom | undefined;
  for (const room of rooms) {
    if (room.cost > room.rate.burst && (named === undefined || room.rate.burst < named.rate.burst)) named = room;
  }
  return named && rateRefusal('EXCEEDS_LIMIT', 'can never hold what it uses', named);
}

/** RATE_LIMITED by the rate that takes longest to hold what is used; undefined where all do. Without RetryInfo. */
export function rateLimitedRefusal(failing: readonly RateRoom[]): Refusal | undefined {
  let named: RateRoom | undefined;
  for (const room of failing) if (named === undefined || waitMs(room) > waitMs(named)) named = room;
  return named && rateRefusal('RATE_LIMITED', 'does not hold what it uses yet', named);
}

/** Milliseconds until a failing rate holds what is used. */
export function waitMs({ rate, level, cost }: RateRoom): number {
  return fillMs(rate, level, cost);
}

function rateRefusal(
  reason: 'EXCEEDS_LIMIT' | 'RATE_LIMITED',
  why: string,
  { budget, rate, level, cost }: RateRoom,
): Refusal {
  const { kind, count, perMs, burst } = rate;
  const availableCount = unitsAt(rate, level);
  return {
    kind: 'refusal',
    reason,
    message:
      `the rate of ${budget.def.path} (${count} ${kind} in ${perMs} ms, at most ${burst} at once) ${why}: ` +
      `${availableCount} available, ${cost} needed`,
    budget: budget.def.path,
    rate: { kind, count, perMs, burst, availableCount, requestedCount: cost },
  };
}

/** How full the rates are after a request; empty where a budget that only watches let more pass than a rate held. */
export function rateMoves(rooms: readonly RateRoom[]): RateMove[] {
  return rooms.map(({ budget, rate, level, cost }) => ({
    budgetNo: budget.def.no,
    rateNo: rate.no,
    level: atLeastZero(level - BigInt(cost) * BigInt(rate.perMs)),
  }));
}

/** Budgets that have as many live reservations as they may. */
export function fullBudgets(budgets: readonly BudgetState[]): BudgetState[] {
  return budgets.filter(({ def, activeCount }) => {
    const { maxActive } = def.shape;
    return maxActive !== undefined && activeCount >= maxActive;
  });
}

/** CONCURRENCY_LIMIT by the budget with the fewest slots; undefined where none is full. Without RetryInfo. */
export function concurrencyRefusal(full: readonly BudgetState[]): Refusal | undefined {
  let named: BudgetState | undefined;
  for (const budget of full) if (named === undefined || slots(budget) < slots(named)) named = budget;
  if (named === undefined) return undefined;
  const { path } = named.def;
  const bound = { name: 'max_active', max: slots(named), observed: named.activeCount } as const;
  const message = `budget ${path} has ${bound.observed} live reservations and may have ${bound.max}`;
  return { kind: 'refusal', reason: 'CONCURRENCY_LIMIT', message, budget: path, bound };
}

/** A slot comes back as a hold does, unless there is none at all. */
export function slotWaitMs(full: BudgetState): number | undefined {
  return slots(full) === 0 ? undefined : HELD_RETRY_MS;
}

function slots({ def }: BudgetState): number {
  return def.shape.maxActive ?? 0;
}
