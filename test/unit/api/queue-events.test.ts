// Events of what waited, read by watches that begin anywhere: the reservation that they show is that of the grant from the grant on,
// whatever was seen of it before.
import { expect, it } from 'vitest';
import { TreeEvents } from '../../../src/api/events/tree-events.ts';
import { type Event, EventKind } from '../../../src/gen/budgetd/v1/event_pb.ts';
import { ReservationState } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import type { Entry } from '../../../src/kernel/entry.ts';
import type { Reservation } from '../../../src/kernel/reservation.ts';
import {
  created,
  definition,
  enqueued,
  granted,
  held,
  leftQueue,
  rid,
  START_MS,
  settled,
  tree,
} from '../../store/sample-entries.ts';

const UNTIL_MS = START_MS + 9_000;
const hold = held(5n, START_MS + 60_000);
const waits = (seq: number, id: string) => enqueued({ seq }, rid(id), { path: 'acme', nos: [1] }, UNTIL_MS);
const grant = (seq: number, id: string, enqueuedSeq: number) =>
  granted({ seq, atMs: START_MS + 500 }, rid(id), { path: 'acme', nos: [1], enqueuedSeq }, hold);
const JOURNAL: readonly Entry[] = [
  created({ seq: 1 }, definition(1, 'acme', undefined)),
  waits(2, 'a'),
  waits(3, 'b'),
  grant(4, 'a', 2),
  settled({ seq: 5, atMs: START_MS + 600 }, rid('a'), [1], hold),
  leftQueue({ seq: 6, atMs: UNTIL_MS }, rid('b')),
];

/** Reads whose projection gives these, one answer after the other, the last one again and again. */
function eventsOver(...projections: readonly (readonly Reservation[])[]) {
  let looks = 0;
  const reads = {
    readEvents: async (_: unknown, afterSeq: number, countMax: number) =>
      JOURNAL.filter(({ seq }) => seq > afterSeq).slice(0, countMax),
    findReservations: async (_: unknown, ids: readonly string[]) => {
      looks += 1;
      const rows = projections[Math.min(looks, projections.length) - 1] ?? [];
      return rows.filter(({ id }) => ids.includes(id));
    },
  };
  const events = new TreeEvents(reads);
  const after = async (seq: number): Promise<readonly Event[]> =>
    (await events.pageAfter(tree('acme'), { seq, told: 0 }))?.events.map(({ event }) => event) ?? [];
  return { after, looks: () => looks };
}

const rowOf = (seq: number): Reservation => {
  const entry = JOURNAL[seq - 1];
  if (entry?.type !== 'Enqueued' && entry?.type !== 'Granted') throw new Error(`entry ${seq} makes none`);
  return entry.reservation;
};
const shown = (event: Event | undefined) => (event?.subject.case === 'reservation' ? event.subject.value : undefined);

it('are those of coming, of the grant and of leaving, with the reason', async () => {
  const events = await eventsOver().after(1);
  expect(events.map(({ kind, reason }) => [kind, reason])).toEqual([
    [EventKind.RESERVATION_QUEUED, ''],
    [EventKind.RESERVATION_QUEUED, ''],
    [EventKind.RESERVATION_GRANTED, ''],
    [EventKind.RESERVATION_SETTLED, ''],
    [EventKind.RESERVATION_LEFT_QUEUE, 'QUEUE_TIMEOUT'],
  ]);
  expect(shown(events[0])).toMatchObject({
    state: ReservationState.QUEUED,
    waiting: { reason: 'CAPACITY_HELD', budget: 'acme', limit: 'lifetime' },
  });
  expect(shown(events[0])?.expireTime).toBeUndefined();
  expect(shown(events[3])).toMatchObject({ state: ReservationState.SETTLED, settledMicros: 5n });
  expect(shown(events[3])?.expireTime).toBeDefined();
  expect(shown(events[4])).toMatchObject({ state: ReservationState.RELEASED });
  expect([shown(events[4])?.waiting, shown(events[4])?.expireTime]).toEqual([undefined, undefined]);
});

it('of a settlement show the grant, also after the wait was seen', async () => {
  // The projection is behind: it would show the wait.
  const { after } = eventsOver([rowOf(2), rowOf(3)]);
  await after(0);
  const [settlement] = await after(4);
  expect(shown(settlement)?.createTime).toMatchObject({ nanos: 500_000_000 });
});

it('of a settlement wait for the projection to have the grant; of leaving they do not', async () => {
  const late = eventsOver([rowOf(2), rowOf(3)], [rowOf(2)], [rowOf(4)]);
  const [settlement, left] = await late.after(4);
  expect(shown(settlement)?.createTime).toMatchObject({ nanos: 500_000_000 });
  expect(shown(left)).toMatchObject({ state: ReservationState.RELEASED });
  expect(late.looks()).toBe(3);
});
