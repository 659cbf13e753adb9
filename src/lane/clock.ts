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

/**
 * Looks in a row that must agree on a difference before it is believed: about 15 s of renewals. One odd answer is a fault of
 * the answer; after this many it is this process that stood still (a suspended machine), or the database's clock was set.
 */
const AGREEING_LOOK_COUNT = 10;

/** Follows the store's clock. */
export class StoreClock implements Clock {
  readonly #monotonicMs: () => number;
  readonly #log: Log;
  #offsetMs: number | undefined;
  #lastMs = 0;
  #jumpMs = 0;
  #agreeingCount = 0;

  constructor(monotonicMs: () => number, log: Log) {
    this.#monotonicMs = monotonicMs;
    this.#log = log;
  }

  /** The difference that was last refused; 0 while the clocks agree. */
  get refusedJumpMs(): number {
    return this.#jumpMs;
  }

  /** Whether so many looks agreed on a refused jump that this clock is the one at fault: nothing should be decided by it. */
  get isAstray(): boolean {
    return this.#agreeingCount >= AGREEING_LOOK_COUNT;
  }

  nowMs(): number {
    if (this.#offsetMs === undefined) throw new Error('the clock was read before it was tied to the store');
    const nowMs = Math.floor(this.#monotonicMs() + this.#offsetMs);
    if (nowMs > this.#lastMs) this.#lastMs = nowMs;
    return this.#lastMs;
  }

  /**
   * Ties the clock to what the store said, however far that is: for a process that decides nothing by it. `roundTripMs` is
   * how long the answer took: the store's time lies within it. Where that is behind what was read already, the time stands
   * still until it is reached.
   */
  tie(storeNowMs: number, roundTripMs: number): void {
    this.#offsetMs = storeNowMs + roundTripMs / 2 - this.#monotonicMs();
    this.#jumpMs = 0;
    this.#agreeingCount = 0;
  }

  /** As `tie`, for a process that decides by it: a difference of more than CLOCK_JUMP_MAX_MS is refused and logged. */
  follow(storeNowMs: number, roundTripMs: number): void {
    const differenceMs =
      this.#offsetMs === undefined ? 0 : storeNowMs + roundTripMs / 2 - this.#monotonicMs() - this.#offsetMs;
    const boundMs = CLOCK_JUMP_MAX_MS + roundTripMs;
    if (Math.abs(differenceMs) <= boundMs) {
      this.tie(storeNowMs, roundTripMs);
      return;
    }
    const agrees = this.#agreeingCount > 0 && Math.abs(differenceMs - this.#jumpMs) <= boundMs;
    this.#agreeingCount = agrees ? this.#agreeingCount + 1 : 1;
    this.#jumpMs = differenceMs;
    // Once a jump: it is seen again with every look.
    if (agrees) return;
    this.#log('error', "the database's clock jumped; not followed", { differenceMs: Math.round(differenceMs) });
  }
}
