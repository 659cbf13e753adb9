// Knows when leases end, from the reservations that answers have shown, so that `advance` can stop at every instant at
// which something falls due and nothing is skipped by a leap of the clock.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Reservation, ReservationState } from '../../../src/gen/budgetd/v1/reservation_pb.ts';

/** An instant at which something falls due, and a budget where a read shows it. */
export interface DueInstant {
  readonly atMs: number;
  readonly budget: string;
}

/** The leases of one scenario. */
export class LeaseBook {
  readonly #graceMs: number;
  readonly #leases = new Map<string, { readonly expireMs: number; readonly budget: string }>();
  readonly #deadlines: DueInstant[] = [];

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /** Takes note of a reservation as an answer shows it. */
  see(reservation: Reservation | undefined): void {
    if (reservation === undefined || reservation.reservationId === '') return;
    const { reservationId, budget, state, expireTime } = reservation;
    if (state === ReservationState.ACTIVE && expireTime !== undefined) {
      this.#leases.set(reservationId, { expireMs: timestampMs(expireTime), budget });
    } else {
      this.#leases.delete(reservationId);
    }
  }

  /** Takes note of an instant that no reservation tells, such as the end of a wait. */
  expect(instant: DueInstant): void {
    this.#deadlines.push(instant);
  }

  /** What falls due after one instant and up to another, in order. The end of a lease and its reclaim are two instants. */
  dueBetween(afterMs: number, untilMs: number): readonly DueInstant[] {
    const ends = [...this.#leases.values()].flatMap(({ expireMs, budget }) => [
      { atMs: expireMs, budget },
      { atMs: expireMs + this.#graceMs, budget },
    ]);
    const due = new Map<string, DueInstant>();
    for (const instant of [...ends, ...this.#deadlines]) {
      if (instant.atMs > afterMs && instant.atMs <= untilMs) due.set(`${instant.atMs} ${instant.budget}`, instant);
    }
    return [...due.values()].sort((one, other) => one.atMs - other.atMs);
  }
}
