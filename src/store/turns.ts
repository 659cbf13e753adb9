// Lets a few at a time go on and the others wait in line, each for as long as it said. A pool of connections has one of
// these before it, so that waiting for a connection and waiting for an answer are two things.

interface Waiting {
  readonly go: (taken: boolean) => void;
  readonly timer: NodeJS.Timeout;
}

/** See the head of this file. */
export class Turns {
  #freeCount: number;
  readonly #waiting = new Set<Waiting>();

  /** `countMax`: how many go on at once. */
  constructor(countMax: number) {
    this.#freeCount = countMax;
  }

  /** Resolves with true when it is the caller's turn, who then has to give it back; with false after `waitMsMax`. */
  take(waitMsMax: number): Promise<boolean> {
    if (this.#freeCount > 0) {
      this.#freeCount--;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        resolve(false);
      }, waitMsMax);
      const waiting: Waiting = { go: resolve, timer };
      this.#waiting.add(waiting);
    });
  }

  /** Ends a turn; the one who has waited longest goes on. */
  giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#freeCount++;
      return;
    }
    this.#waiting.delete(next);
    clearTimeout(next.timer);
    next.go(true);
  }
}
