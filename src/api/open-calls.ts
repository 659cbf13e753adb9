// How many long calls of one sort one server has open, in all and of each caller, so that no caller takes the places of all
// others.
import { type ApiRefusal, overloaded } from './api-refusal.ts';
import { SESSIONS_RETRY_MS } from './transport-limits.ts';

/** Bounds, and what the calls are called where one is refused. */
export interface OpenCallBounds {
  readonly max: number;
  readonly perCallerMax: number;
  readonly plural: string;
}

/** See the head of this file. `T` is whatever stands for a call. */
export class OpenCalls<T> {
  readonly #bounds: OpenCallBounds;
  // With the name of the caller of each, and how many each caller has.
  readonly #open = new Map<T, string>();
  readonly #counts = new Map<string, number>();

  constructor(bounds: OpenCallBounds) {
    this.#bounds = bounds;
  }

  /** Those that are open. */
  get all(): Iterable<T> {
    return this.#open.keys();
  }

  /** Why a caller can't have another one; undefined where it can. */
  refusal(caller: string): ApiRefusal | undefined {
    const { max, perCallerMax, plural } = this.#bounds;
    if (this.#open.size >= max) return overloaded(`too many ${plural} are open here`, SESSIONS_RETRY_MS);
    if ((this.#counts.get(caller) ?? 0) < perCallerMax) return undefined;
    return overloaded(`this token has too many ${plural} open here`, SESSIONS_RETRY_MS);
  }

  /** Counts a call until it is closed. */
  add(call: T, caller: string): void {
    this.#open.set(call, caller);
    this.#counts.set(caller, (this.#counts.get(caller) ?? 0) + 1);
  }

  /** The call is over. Only the first report counts. */
  delete(call: T): void {
    const caller = this.#open.get(call);
    if (caller === undefined) return;
    this.#open.delete(call);
    const left = (this.#counts.get(caller) ?? 0) - 1;
    if (left > 0) this.#counts.set(caller, left);
    else this.#counts.delete(caller);
  }
}
