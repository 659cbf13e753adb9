// Time that passes when a test says so: whoever sleeps wakes when enough has passed, in order, and not before.

interface Sleeper {
  readonly wakeMs: number;
  readonly wake: () => void;
}

/** See the head of this file. */
export class ManualTime {
  #nowMs = 0;
  #sleepers: Sleeper[] = [];

  /** Time since the start, in milliseconds. */
  readonly nowMs = (): number => this.#nowMs;

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((wake) => {
      if (signal?.aborted === true) return wake();
      const sleeper: Sleeper = { wakeMs: this.#nowMs + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((each) => each !== sleeper);
        wake();
      });
    });

  /** How many sleep. */
  get sleeperCount(): number {
    return this.#sleepers.length;
  }

  /** Lets time pass, and whoever wakes in it act. */
  async elapse(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (;;) {
      const due = this.#sleepers.filter(({ wakeMs }) => wakeMs <= untilMs).sort((a, b) => a.wakeMs - b.wakeMs)[0];
      if (due === undefined) break;
      this.#sleepers = this.#sleepers.filter((each) => each !== due);
      this.#nowMs = Math.max(this.#nowMs, due.wakeMs);
      due.wake();
      await settle();
    }
    this.#nowMs = untilMs;
  }
}

/** Resolves when everything that can go on without time passing has. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
