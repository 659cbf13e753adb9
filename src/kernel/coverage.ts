// How much of a cost the ceilings cover (DESIGN, promise 5): the same at every level, as far as the least over all limits reaches.
// What is past that is overrun.
import { type Charge, stepCounts } from './charge.ts';
import { binds, type Enforcement, isSpecial } from './enforcement.ts';
import { type LimitRoom, limitRooms } from './headroom.ts';
import { atLeastZero } from './money.ts';

/**
 * The most that can be covered for a live hold of `heldMicros`; undefined where no limit applies. The hold itself covers, and
 * past it what is available does. A budget that only watches let the hold pass its amount: it covers what is not spent of it.
 */
export function coveredLive(
  charge: Charge,
  binding: LimitRoom | undefined,
  heldMicros: bigint,
  nowMs: number,
): bigint | undefined {
  if (binding === undefined) return undefined;
  if (!isSpecial(charge.budgets)) return heldMicros + atLeastZero(binding.roomMicros);
  return leastOf(limitRooms(charge, nowMs), (room) =>
    binds(room.budget)
      ? heldMicros + atLeastZero(room.roomMicros + toleranceMicros(room))
      : atLeastZero(room.unspentMicros),
  );
}

/**
 * The most that can be covered once the hold has gone back, after `replacedMicros` of an estimate made at `lapsedMs` were taken
 * out; undefined where no limit applies. In a rolling window the estimate may have left the count by itself already.
 */
export function coveredLate(
  charge: Charge,
  replacedMicros: bigint,
  lapsedMs: number,
  nowMs: number,
): bigint | undefined {
  return leastOf(limitRooms(charge, nowMs), (room) => {
    const { account, budget, roomMicros, unspentMicros } = room;
    const rolling = account.windowNo !== 0 && account.periodMs === 0;
    const counts = !rolling || stepCounts(charge.budgets, account, lapsedMs, nowMs);
    const leftMicros = binds(budget) ? roomMicros + toleranceMicros(room) : unspentMicros;
    return atLeastZero(counts ? leftMicros + replacedMicros : leftMicros);
  });
}

function toleranceMicros({ budget }: LimitRoom): bigint {
  const { mode, toleranceMicros: tolerance }: Enforcement = budget.def.enforcement;
  return mode === 'soft' ? tolerance : 0n;
}

function leastOf(rooms: readonly LimitRoom[], size: (room: LimitRoom) => bigint): bigint | undefined {
  let least: bigint | undefined;
  for (const room of rooms) {
    const own = size(room);
    if (least === undefined || own < least) least = own;
  }
  return least;
}
