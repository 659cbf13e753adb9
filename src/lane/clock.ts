// One clock for all decisions, tied to the store's and carried on by the process's monotonic one between two looks, so that
// a step of the machine's wall clock moves no lease. Never goes back.
import type { Log } from './log.ts';

/** What decisions read the time from, in milliseconds since the epoch. */
export interface Clock {
  nowMs(): number;
}

/**
 * A difference from the store's clock that is taken for a fault and not followed. Well above what NTP slews and what a
 * slow round trip hides, well below the shortest default lease of a minute.
 */
const CLOCK_JUMP_MAX_MS = 5_000;

/** Follows the store's clock. */
export class StoreClock implements Clock {
  readonly #monotonicMs: () => number;
  readonly #log: Log;
  #offsetMs: number | undefined;
  #lastMs = 0;
  #jumpMs = 0;

  constructor(monotonicMs: () => number, log: Log) {
    this.#monotonicMs = monotonicMs;
    this.#log = log;
  }

  /** The difference that was last refused; 0 while the clocks agree. */
  get refusedJumpMs(): number {
    return this.#jumpMs;
  }

  nowMs(): number {
    if (this.#offsetMs === undefined) throw new Error('the clock was read before it was tied to the store');
    const nowMs = Math.floor(this.#monotonicMs() + this.#offsetMs);
    if (nowMs > this.#lastMs) this.#lastMs = nowMs;
    return this.#lastMs;
  }

  /**
   * Ties the clock to what the store said. `roundTripMs` is how long the answer took: the store's time lies within it.
   * The first call sets the clock; a later one that differs by more than CLOCK_JUMP_MAX_MS is refused and logged.
   */
  follow(storeNowMs: number, roundTripMs: number): void {
    const offsetMs = storeNowMs + roundTripMs / 2 - this.#monotonicMs();
    if (this.#offsetMs === undefined) {
      this.#offsetMs = offsetMs;
      return;
    }
    const differenceMs = offsetMs - this.#offsetMs;
    if (Math.abs(differenceMs) > CLOCK_JUMP_MAX_MS + roundTripMs) {
      this.#jumpMs = differenceMs;
      this.#log('error', "the database's clock jumped; not followed", { differenceMs: Math.round(differenceMs) });
      return;
    }
    this.#jumpMs = 0;
    this.#offsetMs = offsetMs;
  }
}
