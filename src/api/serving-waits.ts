// The unary calls of one server whose answer may be long in coming: how many there may be on one connection, how long one may
// last, and their end when the server stops. Whoever goes gives up their place; whoever is sent away keeps it for a moment, and
// finds it again with the same key.

import { PlaceKept } from '../lane/place-kept.ts';
import { type ApiRefusal, queueFull } from './api-refusal.ts';
import { PLACE_KEPT_MS, WAIT_AGE_MS, WAITS_PER_CONNECTION_MAX } from './transport-limits.ts';

/** Bounds of calls that wait; tests make them small. */
export interface WaitLimits {
  /** On one connection, so that it has streams left for what makes room. */
  readonly perConnectionMax: number;
  /** How long one lasts, where its transport does not say less. */
  readonly ageMs: number;
  /** How long the place of one that was sent away is kept. */
  readonly keptMs: number;
}

/** Bounds in production. */
export const WAIT_LIMITS: WaitLimits = {
  perConnectionMax: WAITS_PER_CONNECTION_MAX,
  ageMs: WAIT_AGE_MS,
  keptMs: PLACE_KEPT_MS,
};

/** A call as its transport sees it. */
export interface WaitingCall {
  /** What it came on; undefined: it can't keep others from coming. */
  readonly connection: object | undefined;
  /** How long it may last there; undefined: no less than others. */
  readonly ageMs?: number | undefined;
  /** Calls back once its caller is gone, at once where that is so already. Returns how to end that. */
  watch(gone: () => void): () => void;
}

const RETRY_MS = 1_000;

const STOPPING: ApiRefusal = {
  kind: 'refusal',
  reason: 'NOT_LEADER',
  message: 'the server is stopping: repeat with the same key',
  retryAfterMs: RETRY_MS,
};

function stillWaiting(keptMs: number): ApiRefusal {
  const message = `it still waits, and keeps its place for ${keptMs} ms: repeat with the same key`;
  return { kind: 'refusal', reason: 'QUEUE_TIMEOUT', message, retryAfterMs: RETRY_MS };
}

/** See the head of this file. */
export class ServingWaits {
  readonly #limits: WaitLimits;
  readonly #counts = new WeakMap<object, number>();
  /** How to send each away. */
  readonly #open = new Set<(refusal: ApiRefusal) => void>();
  #stopping = false;

  constructor(limits: WaitLimits = WAIT_LIMITS) {
    this.#limits = limits;
  }

  /** The answer of `work`, whose signal aborts once nobody waits for it, with a PlaceKept where it was sent away; or why it is not waited for here any longer. */
  async during<T>(call: WaitingCall, work: (gone: AbortSignal) => Promise<T>): Promise<T | ApiRefusal> {
    const { perConnectionMax } = this.#limits;
    const { connection } = call;
    if (this.#stopping) return STOPPING;
    if (this.#count(connection, 0) >= perConnectionMax) {
      return queueFull(`${perConnectionMax} calls of this connection wait already`, perConnectionMax);
    }
    const caller = new AbortController();
    const unwatch = call.watch(() => caller.abort());
    const { promise: sentAway, resolve } = Promise.withResolvers<ApiRefusal>();
    const sendAway = (refusal: ApiRefusal): void => {
      resolve(refusal);
      caller.abort(new PlaceKept(this.#limits.keptMs));
    };
    const ageMs = Math.min(this.#limits.ageMs, call.ageMs ?? Number.POSITIVE_INFINITY);
    const age = setTimeout(() => sendAway(stillWaiting(this.#limits.keptMs)), ageMs).unref();
    this.#open.add(sendAway);
    this.#count(connection, 1);
    try {
      return await Promise.race([work(caller.signal), sentAway]);
    } finally {
      this.#count(connection, -1);
      this.#open.delete(sendAway);
      clearTimeout(age);
      // The end of a call that is answered looks to its transport as if its caller went.
      unwatch();
    }
  }

  /** Sends everybody away; later ones too, at once. */
  stop(): void {
    this.#stopping = true;
    for (const sendAway of [...this.#open]) sendAway(STOPPING);
  }

  #count(connection: object | undefined, change: 1 | 0 | -1): number {
    if (connection === undefined) return 0;
    const count = (this.#counts.get(connection) ?? 0) + change;
    if (change !== 0) this.#counts.set(connection, count);
    return count;
  }
}
