// The wait queue of a tree as its state keeps it: there while somebody waits, told of what moves, and made anew from the records where
// that fails by a fault of the program. Its own file because such a fault must never be taken for one of the records.
import type { TreeId } from './names.ts';
import { type Budgets, queueOf } from './queue-of-tree.ts';
import type { Reservation } from './reservation.ts';
import { isWaiting } from './wait-order.ts';
import type { WaitQueue } from './wait-queue.ts';

/**
 * Thrown where a queue can't be kept up, or be made anew, by a fault of the program. It follows from the records of its tree and says
 * nothing about them: no InvariantError, whatever the cause.
 */
export class QueueIndexError extends Error {
  override readonly name = 'QueueIndexError';
}

/** Of what a queue is made. */
interface Records extends Budgets {
  readonly treeId: TreeId;
  readonly reservations: () => Iterable<Reservation>;
}

/** See the head of this file. */
export class KeptQueue {
  readonly #records: Records;
  readonly #failed: ((error: unknown) => void) | undefined;
  #queue: WaitQueue | undefined;

  /** `failed`: told of a fault in keeping the queue up, once it was made anew. Default: a QueueIndexError is thrown. */
  constructor(records: Records, failed: ((error: unknown) => void) | undefined) {
    this.#records = records;
    this.#failed = failed;
  }

  /** Undefined while nobody waits. */
  get queue(): WaitQueue | undefined {
    return this.#queue;
  }

  /** Tells the queue of what has happened to the records, which are changed already where it follows from them. */
  keepUp(work: (queue: WaitQueue) => void): void {
    if (this.#queue === undefined) return;
    try {
      work(this.#queue);
    } catch (error) {
      if (this.#failed === undefined)
        throw new QueueIndexError(`the queue of ${this.#records.treeId} can't be kept up`, { cause: error });
      this.#queue = this.#anew(this.#queue);
      this.#failed(error);
    }
  }

  /** As keepUp, where one of the two waits at least. */
  replace(before: Reservation | undefined, after: Reservation | undefined): void {
    if (isWaiting(after)) this.#queue ??= queueOf(this.#records);
    this.keepUp((queue) => {
      if (isWaiting(before)) queue.remove(before);
      if (isWaiting(after)) queue.add(after);
    });
    if (this.#queue?.count === 0) this.#queue = undefined;
  }

  /** See TreeState.renewQueue. */
  renew(restUntilMs: number): void {
    if (this.#queue !== undefined) this.#queue = this.#anew(this.#queue);
    this.#queue?.rest(restUntilMs);
  }

  // Nothing is known of those who wait but what rests.
  #anew(before: WaitQueue): WaitQueue | undefined {
    try {
      const queue = queueOf(this.#records);
      for (const reservation of this.#records.reservations()) if (isWaiting(reservation)) queue.add(reservation);
      queue.restAs(before);
      return queue.count === 0 ? undefined : queue;
    } catch (error) {
      throw new QueueIndexError(`the queue of ${this.#records.treeId} can't be made anew`, { cause: error });
    }
  }
}
