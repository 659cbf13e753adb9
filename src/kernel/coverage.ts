// How much of a cost the ceilings cover (DESIGN, promise 5): the same at every level, as far as the least over all limits reaches.
// What is past that is overrun.
import { type Charge, stepCounts } from './charge.ts';
import { binds, isSpecial } from './enforcement.ts';
import { coverableMicros, type LimitRoom, limitRooms } from './headroom.ts';
import { atLeastZero } from './money.ts';
import { rollingRuleOf } from './window.ts';

/**
 * The most that can be covered for a live hold of `heldMicros`; undefined where no limit applies. The hold itself covers, and
 * past it what is available to it does: floors of others are not. A budget that only watches let the hold pass its amount: it covers what is not spent of it.
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
    binds(room.budget) ? heldMicros + atLeastZero(coverableMicros(room)) : atLeastZero(room.unspentMicros),
  );
}

/**
 * The rooms that there are for a late settlement, once `replacedMicros` of an estimate made at `lapsedMs` are taken out. From a
 * rolling window it may have gone by itself already.
 */
export function roomsOnceReplaced(
  charge: Charge,
  replacedMicros: bigint,
  lapsedMs: number,
  nowMs: number,
): LimitRoom[] {
  return limitRooms(charge, nowMs).map((room) => {
    const rule = rollingRuleOf(room.budget.def.windows, room.account.windowNo);
    if (rule !== undefined && !stepCounts(rule, lapsedMs, nowMs)) return room;
    const { roomMicros, unspentMicros, uses } = room;
    return {
      ...room,
      roomMicros: roomMicros + replacedMicros,
      unspentMicros: unspentMicros + replacedMicros,
      uses: uses?.map((use) =>
        use.isOwn ? { ...use, spentMicros: atLeastZero(use.spentMicros - replacedMicros) } : use,
      ),
    };
  });
}

/** The most that can be covered in such rooms, now that the hold has gone back; undefined where no limit applies. */
export function coveredLate(rooms: readonly LimitRoom[]): bigint | undefined {
  return leastOf(rooms, (room) => atLeastZero(binds(room.budget) ? coverableMicros(room) : room.unspentMicros));
}

function leastOf(rooms: readonly LimitRoom[], size: (room: LimitRoom) => bigint): bigint | undefined {
  let least: bigint | undefined;
  for (const room of rooms) {
    const own = size(room);
    if (least === undefined || own < least) least = own;
  }
  return least;
}
