// Who waits in a tree, in no order: found by id, by key, by the end of the wait, and counted by path. Apart from the queue, which says
// who comes first, and from which nothing here can differ but by a fault.
import { IndexedHeap } from './indexed-heap.ts';
import type { BudgetPath, ReservationId } from './names.ts';
import { pathsOf } from './wait-line.ts';
import type { Waiting } from './wait-order.ts';
import { waitingWeight } from './weight.ts';

/** See the head of this file. */
export class Waiters {
  readonly #byId = new Map<ReservationId, Waiting>();
  readonly #byDigest = new Map<string, ReservationId>();
  readonly #ends = new IndexedHeap<Waiting>((a, b) => this.endMsOf(a) < this.endMsOf(b));
  /** When the end of those is tried again that could not be ended in time. */
  readonly #laterEnds = new Map<ReservationId, number>();
  /** How many wait on each path and below it. */
  readonly #counts = new Map<BudgetPath, number>();
  /** What those weigh together. */
  readonly #weights = new Map<BudgetPath, number>();

  get count(): number {
    return this.#byId.size;
  }

  all(): IterableIterator<Waiting> {
    return this.#byId.values();
  }

  byId(id: ReservationId): Waiting | undefined {
    return this.#byId.get(id);
  }

  byKey(digest: string): Waiting | undefined {
    const id = this.#byDigest.get(digest);
    return id === undefined ? undefined : this.#byId.get(id);
  }

  countAt(path: BudgetPath): number {
    return this.#counts.get(path) ?? 0;
  }

  /** Their count where they are usual ones. */
  weightAt(path: BudgetPath): number {
    return this.#weights.get(path) ?? 0;
  }

  add(waiting: Waiting): void {
    const { id, queued } = waiting;
    this.#byId.set(id, waiting);
    this.#byDigest.set(queued.key.digest, id);
    this.#ends.add(waiting);
    const paths = pathsOf(waiting);
    const weight = weightOf(waiting, paths);
    for (const path of paths) {
      this.#counts.set(path, this.countAt(path) + 1);
      this.#weights.set(path, this.weightAt(path) + weight);
    }
  }

  /** Takes one out that is in. */
  remove(waiting: Waiting): void {
    this.#byId.delete(waiting.id);
    this.#byDigest.delete(waiting.queued.key.digest);
    this.#ends.remove(waiting);
    this.#laterEnds.delete(waiting.id);
    const paths = pathsOf(waiting);
    const weight = weightOf(waiting, paths);
    for (const path of paths) {
      const count = this.countAt(path) - 1;
      if (count > 0) {
        this.#counts.set(path, count);
        this.#weights.set(path, this.weightAt(path) - weight);
      } else {
        this.#counts.delete(path);
        this.#weights.delete(path);
      }
    }
  }

  /** When the first wait is over; infinite where nobody waits. */
  get firstEndMs(): number {
    const first = this.#ends.top;
    return first === undefined ? Number.POSITIVE_INFINITY : this.endMsOf(first);
  }

  /** When the wait of one is over, or is tried again to be ended. */
  endMsOf({ id, queued }: Waiting): number {
    return this.#laterEnds.get(id) ?? queued.untilMs;
  }

  /** Has the end of one that waits be due at an instant, and not before. */
  putOffEnd(waiting: Waiting, untilMs: number): void {
    this.#laterEnds.set(waiting.id, untilMs);
    this.#ends.moved(waiting);
  }

  /** Puts off the ends of those who wait here too as others have them. */
  putOffAs(others: Waiters): void {
    for (const [id, untilMs] of others.#laterEnds) {
      const waiting = this.#byId.get(id);
      if (waiting !== undefined) this.putOffEnd(waiting, untilMs);
    }
  }

  /** Those whose time is over, whose was first over first. Nothing may change until the last one is read. */
  *ended(nowMs: number): Generator<Waiting> {
    const found: Waiting[] = [];
    try {
      for (let next = this.#ends.top; next !== undefined && this.endMsOf(next) <= nowMs; next = this.#ends.top) {
        found.push(next);
        this.#ends.remove(next);
        yield next;
      }
    } finally {
      for (const each of found) this.#ends.add(each);
    }
  }
}

function weightOf(waiting: Waiting, { length: levelCount }: readonly BudgetPath[]): number {
  const { budget, also, holder, actingFor, labels, price, queued } = waiting;
  const { actor, alternatives, call } = queued;
  return waitingWeight({ budget, also, holder, actor, actingFor, labels, alternatives, call, price, levelCount });
}
