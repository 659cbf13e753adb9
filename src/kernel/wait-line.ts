// A line of the wait queue: which one a request stands in, where it is counted, and who is the head.
import { invariant } from './invariant.ts';
import { type BudgetPath, chainOf, type ReservationId } from './names.ts';
import type { Reservation } from './reservation.ts';
import type { Waiting } from './wait-order.ts';
import type { Place } from './wait-view.ts';

/** Whoever can do with nothing of the money, or uses no tokens, is not held back by one that waits for them: it is another line. */
export function lineKey({ id, budget, also, priority, queued }: Waiting): string {
  const { minMicros, tokens, toolCalls, alternatives } = queued;
  const own = alternatives.some(({ maxMicros }) => maxMicros === 0n) ? id : '';
  const uses = `${tokens > 0 ? 't' : ''}${toolCalls > 0 ? 'c' : ''}${minMicros === 0n ? '0' : ''}`;
  return `${priority} ${uses} ${own} ${budget} ${also.join(' ')}`;
}

/** Every path that a waiting one counts at, each once. */
export function pathsOf({ budget, also }: Reservation): readonly BudgetPath[] {
  return also.length === 0 ? chainOf(budget) : [...new Set([budget, ...also].flatMap(chainOf))];
}

/** Those that ask the same in the same class, first come first. */
export class WaitLine {
  readonly key: string;
  readonly paths: readonly BudgetPath[];
  readonly #waiting = new Map<ReservationId, Waiting>();
  // Asked for all the time, and a map whose first ones have gone is slow to say which is the first now.
  #head: Waiting | undefined;
  /** Of the last that came. */
  lastSeq = 0;
  readonly places: Place[] = [];
  /** When it has to be looked at again though nothing happens. */
  wakeMs = Number.POSITIVE_INFINITY;

  constructor(key: string, { budget, also }: Waiting) {
    this.key = key;
    this.paths = [budget, ...also];
  }

  get head(): Waiting {
    invariant(this.#head !== undefined, 'a line that is empty is gone');
    return this.#head;
  }

  get isEmpty(): boolean {
    return this.#head === undefined;
  }

  /** All of them, first come first. */
  all(): IterableIterator<Waiting> {
    return this.#waiting.values();
  }

  /** Adds one that comes after all of them. */
  push(waiting: Waiting): void {
    this.#waiting.set(waiting.id, waiting);
    this.#head ??= waiting;
  }

  /** Adds one where its sequence says. */
  insert(waiting: Waiting): void {
    const all = [...this.#waiting.values(), waiting].sort((a, b) => a.queued.seq - b.queued.seq);
    this.#waiting.clear();
    for (const each of all) this.#waiting.set(each.id, each);
    this.#head = all[0];
  }

  delete(waiting: Waiting): void {
    this.#waiting.delete(waiting.id);
    if (this.#head === waiting) this.#head = this.#waiting.values().next().value;
  }
}

/** Whether of two lines that claim one has its turn before the other: the more urgent, then who came first. One without places waits for nothing. */
export function goesBefore(a: WaitLine, b: WaitLine): boolean {
  const [rankA, rankB] = [rankIn(a), rankIn(b)];
  return rankA === rankB ? a.head.queued.seq < b.head.queued.seq : rankA > rankB;
}

function rankIn({ places }: WaitLine): number {
  return places[0]?.child.rank ?? Number.POSITIVE_INFINITY;
}
