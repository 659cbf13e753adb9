// Reserves of one Session that may wait in the queue: how many there are, and what becomes of their places when nobody waits for
// them here any more. The controller is made by the first one: most Sessions have none.
import { PlaceKept } from '../../lane/place-kept.ts';
import { type ApiRefusal, queueFull } from '../api-refusal.ts';

/** See the head of this file. */
export class WaitingCommands {
  readonly #countMax: number;
  #count = 0;
  #caller: AbortController | undefined;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** How many are awaited. */
  get count(): number {
    return this.#count;
  }

  /** Why there can't be another one; undefined where there can. */
  get full(): ApiRefusal | undefined {
    const max = this.#countMax;
    return this.#count < max ? undefined : queueFull(`${max} commands of this session may wait already`, max);
  }

  /** One begins. Its signal aborts once nobody waits for it. */
  begin(): AbortSignal {
    this.#count += 1;
    this.#caller ??= new AbortController();
    return this.#caller.signal;
  }

  /** One is answered. */
  end(): void {
    this.#count -= 1;
  }

  /** The peer is gone: they leave the queue. */
  leave(): void {
    this.#caller?.abort();
  }

  /** They are left unanswered, and leave the queue after `ms` unless their caller has come back for them elsewhere. */
  leaveAfter(ms: number): void {
    if (this.#count > 0) this.#caller?.abort(new PlaceKept(ms));
  }
}
