// What callers got, as plain numbers: calls by method and status with their time, refusals by reason. One call of this for
// each call of the api, some tens of nanoseconds.
import { BucketTally } from './bucket-tally.ts';
import { ClosedLabels } from './closed-labels.ts';
import { STATUS_NAMES } from './status-names.ts';

/** Seconds. The lower half is finer than the conventions advise: a call alone takes half a millisecond here. */
const CALL_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** One method and status with its times. */
export interface CallSeries {
  /** As `package.Service/Method`. */
  readonly method: string;
  /** Name of the gRPC status, for example "OK". */
  readonly status: string;
  /** Seconds. */
  readonly tally: BucketTally;
}

/** See the head of this file. */
export class CallTally {
  readonly #methods: ClosedLabels;
  readonly #reasons: ClosedLabels;
  readonly #calls: (BucketTally | undefined)[];
  readonly #refusals: number[];
  /** Calls and commands that failed by a fault of the program. */
  faultCount = 0;

  constructor(methods: readonly string[], reasons: readonly string[]) {
    this.#methods = new ClosedLabels(methods);
    this.#reasons = new ClosedLabels(reasons);
    this.#calls = new Array<undefined>(this.#methods.values.length * STATUS_NAMES.length).fill(undefined);
    this.#refusals = this.#reasons.values.map(() => 0);
  }

  /** A method's place, to be asked for once and handed to `ended`. */
  methodIndex(method: string): number {
    return this.#methods.indexOf(method);
  }

  /** A call has ended with a gRPC status code. */
  ended(methodIndex: number, code: number, seconds: number): void {
    const known = code >= 0 && code < STATUS_NAMES.length ? code : 2;
    const index = methodIndex * STATUS_NAMES.length + known;
    let tally = this.#calls[index];
    if (tally === undefined) {
      tally = new BucketTally(CALL_SECONDS);
      this.#calls[index] = tally;
    }
    tally.add(seconds);
  }

  /** A caller was told a reason. */
  refused(reason: string): void {
    const index = this.#reasons.indexOf(reason);
    this.#refusals[index] = (this.#refusals[index] as number) + 1;
  }

  /** Calls by method and status, those that happened. */
  *series(): Generator<CallSeries> {
    for (const [at, method] of this.#methods.values.entries()) {
      for (const [code, status] of STATUS_NAMES.entries()) {
        const tally = this.#calls[at * STATUS_NAMES.length + code];
        if (tally !== undefined) yield { method, status, tally };
      }
    }
  }

  /** Refusals by reason, those that happened. */
  *refusals(): Generator<{ readonly reason: string; readonly count: number }> {
    for (const [index, reason] of this.#reasons.values.entries()) {
      const count = this.#refusals[index] ?? 0;
      if (count > 0) yield { reason, count };
    }
  }
}
