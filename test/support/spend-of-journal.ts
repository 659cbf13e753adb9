// When each reservation spent what, read off the figures in the journal: no effect and no counter is looked at, so that counters can
// be judged by it.
import type { Entry } from '../../src/kernel/entry.ts';
import type { ReservationId } from '../../src/kernel/names.ts';
import type { ReservationFigures } from '../../src/kernel/reservation.ts';

/** An amount that counts from an instant on; below 0 where it takes back what was assumed at that instant. */
export interface Spend {
  readonly atMs: number;
  readonly micros: bigint;
}

/** Settled and overrun amounts, in the order in which they became known. */
export function spendOfJournal(journal: readonly Entry[]): Map<ReservationId, Spend[]> {
  const spends = new Map<ReservationId, Spend[]>();
  const figures = new Map<ReservationId, ReservationFigures>();
  const move = (id: ReservationId, after: ReservationFigures, spent: readonly Spend[]) => {
    figures.set(id, after);
    spends.set(id, [...(spends.get(id) ?? []), ...spent.filter(({ micros }) => micros !== 0n)]);
  };
  for (const entry of journal) {
    if (entry.type === 'Granted') move(entry.reservation.id, entry.reservation.figures, []);
    else if (entry.type === 'Settled') {
      const before = figures.get(entry.id) as ReservationFigures;
      move(entry.id, entry.figures, settled(before, entry.figures, entry.atMs, entry.actualMicros));
    } else if (entry.type === 'Expired') {
      for (const lapse of entry.lapses) {
        const before = figures.get(lapse.id) as ReservationFigures;
        const micros = spentOf(lapse.figures) - spentOf(before);
        move(lapse.id, lapse.figures, [{ atMs: before.reclaimMs, micros }]);
      }
    } else if ('figures' in entry) move(entry.id, entry.figures, []);
    else if ('moves' in entry) for (const each of entry.moves) move(each.id, each.figures, []);
  }
  return spends;
}

function settled(
  before: ReservationFigures,
  after: ReservationFigures,
  atMs: number,
  actualMicros: bigint | undefined,
): Spend[] {
  const moreMicros = spentOf(after) - spentOf(before);
  if (before.state !== 'EXPIRED') return [{ atMs, micros: moreMicros }];
  // All of a late cost counts from now on, and what it does not add replaces an estimate of the lapse.
  const costMicros = actualMicros ?? before.lapsedHeldMicros;
  return [
    { atMs, micros: costMicros },
    { atMs: before.reclaimMs, micros: moreMicros - costMicros },
  ];
}

function spentOf({ settledMicros, overrunMicros }: ReservationFigures): bigint {
  return settledMicros + overrunMicros;
}
