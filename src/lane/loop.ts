// Work that comes round again until it is stopped: the one place that knows how a background part starts, sleeps, fails and
// ends. A round never overlaps the next one, a fault ends no loop, and `stop` ends the sleep at once and joins the round under
// way. It always sleeps on a timer between two rounds, so that whatever else the process does gets its turn.
import { setTimeout as sleepMs } from 'node:timers/promises';
import { StoreUnavailableError } from '../store/port.ts';
import type { Log } from './log.ts';

/** Sleeps for `ms`, or until the signal is aborted: then it resolves at once, and never rejects. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Shorter pauses are made this long. A timer of 0 is one of 1 to Node as well; said here so that nobody relies on less. */
const PAUSE_MIN_MS = 1;

/** What a loop does. */
export interface LoopOptions {
  /** One round. One that takes long ends early, without a fault, when the signal is aborted. */
  readonly round: (signal: AbortSignal) => Promise<void>;
  /** Pause before the next round, in milliseconds; asked before each one, the first one too. */
  readonly pauseMs: () => number;
  /** What the log says when a round has failed. */
  readonly failure: string;
  readonly log: Log;
  readonly sleep: Sleep;
}

/** See the head of this file. */
export class Loop {
  readonly #options: LoopOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #failureCount = 0;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Rounds that failed since the last one that didn't. */
  get failureCount(): number {
    return this.#failureCount;
  }

  /** Begins with a pause. A second call does nothing, and so does one after `stop`. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when the round under way, if any, has ended; no other one begins. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#options.sleep(Math.max(PAUSE_MIN_MS, this.#options.pauseMs()), signal);
      if (signal.aborted) return;
      try {
        await this.#options.round(signal);
        this.#succeeded();
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  #succeeded(): void {
    if (this.#failureCount > 1)
      this.#options.log('info', `over: ${this.#options.failure}`, { rounds: this.#failureCount });
    this.#failureCount = 0;
  }

  // The 1st, 2nd, 4th, 8th … failure in a row: an outage of an hour is told in a dozen lines, and one that goes on is told.
  #failed(error: unknown): void {
    const count = ++this.#failureCount;
    if ((count & (count - 1)) !== 0) return;
    const level = error instanceof StoreUnavailableError ? 'warn' : 'error';
    this.#options.log(level, this.#options.failure, { error, rounds: count });
  }
}

/** The sleep of a running process. Does not keep it alive. */
export const sleepUnlessAborted: Sleep = async (ms, signal) => {
  try {
    await sleepMs(ms, undefined, signal === undefined ? { ref: false } : { ref: false, signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
};
