// Requests that have begun to arrive on one port and are not there yet: how many there may be, how long they may take, and how
// many bytes they may hold together. Apart from both servers because it must hold whatever protocol they come in, and before
// anybody knows whose they are.
//
// Past the bound on bytes those go that hold most, so that a request of usual size stays however many large ones come; past
// the one on their number the oldest, since an honest request is whole within a turn or two.
import { Code } from '../gen/google/rpc/code_pb.ts';
import { overloaded } from './api-refusal.ts';
import { bareStatus, type CallStatus } from './errors/call-status.ts';
import { refusalStatus } from './errors/refusal-status.ts';
import {
  ARRIVING_BYTES_MAX,
  ARRIVING_COUNT_MAX,
  ARRIVING_RETRY_MS,
  REQUEST_TIMEOUT_MS,
  TIMEOUT_CHECK_MS,
} from './transport-limits.ts';

/** Bounds of what is on its way in; tests make them small. */
export interface ArrivalLimits {
  /** Unary requests that are not whole yet. */
  readonly countMax: number;
  /** Bytes of all that is not whole or not taken yet. */
  readonly bytesMax: number;
  /** How long a unary request may take to be whole. */
  readonly timeMs: number;
  /** How often that is checked. */
  readonly checkMs: number;
}

/** Bounds in production. */
export const ARRIVAL_LIMITS: ArrivalLimits = {
  countMax: ARRIVING_COUNT_MAX,
  bytesMax: ARRIVING_BYTES_MAX,
  timeMs: REQUEST_TIMEOUT_MS,
  checkMs: TIMEOUT_CHECK_MS,
};

const LATE = bareStatus(Code.DEADLINE_EXCEEDED, 'the request did not arrive in time');
const CROWDED = refusalStatus(overloaded('too many requests are on their way here', ARRIVING_RETRY_MS));

/** Part of the bound on bytes that is made free at once: who holds most is found by looking at all. */
const SLACK = 1 / 8;

/** One request, or one stream of frames, on its way in. */
export interface Arrival {
  /** So many bytes more have come. May cut this one or another. */
  add(bytes: number): void;
  /** So many of them have been taken. */
  take(bytes: number): void;
  /** It is whole, or its stream is over. Only the first end counts. */
  end(): void;
}

interface Entry {
  readonly sinceMs: number;
  readonly cut: (status: CallStatus) => void;
  bytes: number;
  isOver: boolean;
}

/** See the head of this file. */
export class Arrivals {
  readonly #limits: ArrivalLimits;
  // Unary requests, the oldest first.
  readonly #timed = new Set<Entry>();
  readonly #holding = new Set<Entry>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ArrivalLimits = ARRIVAL_LIMITS) {
    this.#limits = limits;
  }

  /** A unary request begins. `cut` is called at most once, where it may not go on, and ends it. */
  request(cut: (status: CallStatus) => void): Arrival {
    const entry: Entry = { sinceMs: performance.now(), cut, bytes: 0, isOver: false };
    this.#timed.add(entry);
    this.#timer ??= setInterval(() => this.#check(), this.#limits.checkMs).unref();
    const [oldest] = this.#timed;
    if (this.#timed.size > this.#limits.countMax && oldest !== undefined) this.#cut(oldest, CROWDED);
    return this.#arrival(entry);
  }

  /** A stream of frames begins, which may last; only what it holds is bounded. */
  stream(cut: (status: CallStatus) => void): Arrival {
    return this.#arrival({ sinceMs: 0, cut, bytes: 0, isOver: false });
  }

  #arrival(entry: Entry): Arrival {
    return {
      add: (bytes) => this.#add(entry, bytes),
      take: (bytes) => this.#take(entry, bytes),
      end: () => this.#end(entry),
    };
  }

  #add(entry: Entry, bytes: number): void {
    // Of one that was cut, bytes may still come.
    if (entry.isOver) return;
    if (entry.bytes === 0) this.#holding.add(entry);
    entry.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes > this.#limits.bytesMax) this.#cutLargest();
  }

  #take(entry: Entry, bytes: number): void {
    const taken = Math.min(bytes, entry.bytes);
    entry.bytes -= taken;
    this.#bytes -= taken;
    if (entry.bytes === 0) this.#holding.delete(entry);
  }

  #end(entry: Entry): void {
    entry.isOver = true;
    this.#take(entry, entry.bytes);
    this.#timed.delete(entry);
    if (this.#timed.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #cut(entry: Entry, status: CallStatus): void {
    this.#end(entry);
    entry.cut(status);
  }

  #cutLargest(): void {
    const largestFirst = [...this.#holding].sort((one, other) => other.bytes - one.bytes);
    for (const entry of largestFirst) {
      if (this.#bytes <= this.#limits.bytesMax * (1 - SLACK)) return;
      this.#cut(entry, CROWDED);
    }
  }

  #check(): void {
    const cutMs = performance.now() - this.#limits.timeMs;
    for (const entry of this.#timed) {
      if (entry.sinceMs > cutMs) return;
      this.#cut(entry, LATE);
    }
  }
}
