// A line of the wait queue: which one a request stands in, where it is counted, and who is the head.
import { IndexedHeap } from './indexed-heap.ts';
import { invariant } from './invariant.ts';
import { type BudgetPath, chainOf } from './names.ts';
import type { Reservation } from './reservation.ts';
import type { Waiting } from './wait-order.ts';

/** Whoever can do with nothing of the money, or uses no tokens, is not held back by one that waits for them: it is another line. */
export function lineKey({ id, budget, also, priority, queued }: Waiting): string {
  const { minMicros, tokens, toolCalls, alternatives } = queued;
  const own = alternatives.some(({ maxMicros }) => maxMicros === 0n) ? id : '';
  const uses = `${tokens > 0 ? 't' : ''}${toolCalls > 0 ? 'c' : ''}${minMicros === 0n ? '0' : ''}`;
  return `${priority} ${uses} ${own} ${budget} ${also.join(' ')}`;
}

/** Every path that a waiting one counts at, each once. */
export function pathsOf({ budget, also }: Pick<Reservation, 'budget' | 'also'>): readonly BudgetPath[] {
  return also.length === 0 ? chainOf(budget) : [...new Set([budget, ...also].flatMap(chainOf))];
}

/** What a line knows itself of where its head stands. */
export interface Ranked {
  readonly child: { readonly rank: number };
}

/** Those that ask the same in the same class, first come first, in whatever order they are added. */
export class WaitLine<Place extends Ranked = Ranked> {
  readonly key: string;
  readonly paths: readonly BudgetPath[];
  // A load brings them in no order, and a batch that is taken back brings some of thousands back: each costs the depth of a heap.
  readonly #waiting = new IndexedHeap<Waiting>(cameBefore);
  readonly places: Place[] = [];
  /** When it has to be looked at again though nothing happens. */
  wakeMs = Number.POSITIVE_INFINITY;

  constructor(key: string, { budget, also }: Waiting) {
    this.key = key;
    this.paths = [budget, ...also];
  }

  get head(): Waiting {
    const head = this.#waiting.top;
    invariant(head !== undefined, 'a line that is empty is gone');
    return head;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** All of them, in no order. */
  all(): readonly Waiting[] {
    return this.#waiting.items;
  }

  /** Whether one comes before all of them. */
  goesFirst(waiting: Waiting): boolean {
    const head = this.#waiting.top;
    return head === undefined || cameBefore(waiting, head);
  }

  /** Adds one where its sequence says. Only a line without places may get another head. */
  add(waiting: Waiting): void {
    this.#waiting.add(waiting);
  }

  /** Takes one out. Of a line with places not its head. */
  delete(waiting: Waiting): void {
    this.#waiting.remove(waiting);
  }
}

function cameBefore(a: Waiting, b: Waiting): boolean {
  return a.queued.seq < b.queued.seq;
}

/** Whether of two lines that claim one has its turn before the other: the more urgent, then who came first. One without places waits for nothing. */
export function goesBefore(a: WaitLine, b: WaitLine): boolean {
  const [rankA, rankB] = [rankIn(a), rankIn(b)];
  return rankA === rankB ? a.head.queued.seq < b.head.queued.seq : rankA > rankB;
}

function rankIn({ places }: WaitLine): number {
  return places[0]?.child.rank ?? Number.POSITIVE_INFINITY;
}
