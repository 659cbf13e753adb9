// The events of one tree's journal after a position, page by page. Reads nothing ahead: the next page is read when the one
// before has been taken.
import type { Event } from '../../gen/budgetd/v1/event_pb.ts';
import type { Entry } from '../../kernel/entry.ts';
import { publicReservationId, type ReservationId, type TreeId } from '../../kernel/names.ts';
import type { Reservation } from '../../kernel/reservation.ts';
import type { ReadModels } from '../../store/reads.ts';
import type { Position } from './event-cursor.ts';
import { eventsOf, reservationIdsOf } from './events-of-entry.ts';
import { ENTRIES_AT_ONCE } from './watch-limits.ts';

// Reservations of some 600 bytes each: 10 MB. One that is forgotten costs a look-up.
const KNOWN_MAX = 16_384;

// Entries name reservations that the projection may not have yet: it is some 300 ms behind, or as long as a takeover takes.
const LOOK_UP_PAUSE_MS = 100;
const LOOK_UP_COUNT_MAX = 100;
// An entry on lapses names up to 1,000.
const IDS_AT_ONCE = 1_000;

/** An event and where a watch stands right after it. */
export interface PlacedEvent {
  readonly event: Event;
  readonly position: Position;
}

/** A page of a tree's journal. */
export interface EventPage {
  /** May be none, where its entries told nothing. */
  readonly events: readonly PlacedEvent[];
  /** After the page. */
  readonly position: Position;
  /** Time of its last entry. */
  readonly atMs: number;
}

/** Thrown where a reservation stays unknown: the projection does not come forward. */
export class BehindError extends Error {
  override readonly name = 'BehindError';
}

/** Reads events. One for all watches, since what it remembers of reservations and units never changes. */
export class TreeEvents {
  readonly #reads: Pick<ReadModels, 'readEvents' | 'findReservations'>;
  readonly #known = new Map<string, Reservation>();
  readonly #units = new Map<TreeId, string>();

  constructor(reads: Pick<ReadModels, 'readEvents' | 'findReservations'>) {
    this.#reads = reads;
  }

  /** The next page; undefined where there is none. */
  async pageAfter(treeId: TreeId, { seq: afterSeq, told }: Position): Promise<EventPage | undefined> {
    const entries = await this.#reads.readEvents(treeId, afterSeq, ENTRIES_AT_ONCE);
    const last = entries.at(-1);
    if (last === undefined) return undefined;
    const found = await this.#reservationsOf(treeId, entries);
    const unit = entries.some(({ type }) => type === 'Alerted') ? await this.#unitOf(treeId) : '';
    const reservationOf = (id: ReservationId): Reservation => {
      const reservation = found.get(id);
      if (reservation === undefined) throw new BehindError(`reservation ${id} of ${treeId} is not known`);
      return reservation;
    };
    const events = entries.flatMap((entry) =>
      eventsOf(entry, { treeId, unit, reservationOf }).map((event, index, { length }): PlacedEvent => {
        const isLast = index === length - 1;
        return { event, position: isLast ? { seq: entry.seq, told: 0 } : { seq: entry.seq - 1, told: index + 1 } };
      }),
    );
    const { atMs, seq } = last;
    return { events: told === 0 ? events : events.slice(told), position: { seq, told: 0 }, atMs };
  }

  async #reservationsOf(treeId: TreeId, entries: readonly Entry[]): Promise<ReadonlyMap<ReservationId, Reservation>> {
    const found = new Map<ReservationId, Reservation>();
    const unknown = new Set<ReservationId>();
    const leaving = new Set<ReservationId>();
    for (const entry of entries) {
      if (entry.type === 'Granted' || entry.type === 'Enqueued') found.set(entry.reservation.id, entry.reservation);
      for (const id of reservationIdsOf(entry)) {
        if (entry.type === 'LeftQueue') leaving.add(id);
        const known = found.get(id) ?? this.#known.get(publicReservationId(treeId, id));
        if (known === undefined) unknown.add(id);
        else found.set(id, known);
      }
    }
    for (let count = 0; unknown.size > 0; count += 1) {
      if (count > 1) await new Promise((resolve) => setTimeout(resolve, LOOK_UP_PAUSE_MS));
      if (count === LOOK_UP_COUNT_MAX) throw new BehindError(`reservations of ${treeId} are not projected`);
      for (const reservation of await this.#reads.findReservations(treeId, [...unknown].slice(0, IDS_AT_ONCE))) {
        // It was granted since: the projection has yet to say so.
        if (reservation.figures.state === 'QUEUED' && !leaving.has(reservation.id)) continue;
        found.set(reservation.id, reservation);
        unknown.delete(reservation.id);
        // Only a look that finds nothing says that the projection is behind.
        count = 0;
      }
    }
    // What waits becomes another by its grant.
    for (const [id, reservation] of found) {
      if (reservation.queued === undefined) this.#know(publicReservationId(treeId, id), reservation);
    }
    return found;
  }

  #know(publicId: string, reservation: Reservation): void {
    const known = this.#known;
    if (known.size >= KNOWN_MAX) {
      const oldest = known.keys().next();
      if (oldest.done !== true) known.delete(oldest.value);
    }
    known.set(publicId, reservation);
  }

  // The first entry of every tree makes its root, which has the unit. A journal whose beginning was archived does not say.
  async #unitOf(treeId: TreeId): Promise<string> {
    const known = this.#units.get(treeId);
    if (known !== undefined) return known;
    const [first] = await this.#reads.readEvents(treeId, 0, 1);
    const unit = first?.type === 'BudgetCreated' ? first.def.unit : '';
    if (this.#units.size >= KNOWN_MAX) this.#units.clear();
    this.#units.set(treeId, unit);
    return unit;
  }
}
