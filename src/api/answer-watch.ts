// What leaves one port: answers that their clients do not take, and streams whose clients never end their side. Apart from both
// servers because it must hold whatever protocol they go out in.
//
// It looks once a second instead of following every answer: an answer that is taken costs it nothing but its place in a set.
import { ANSWER_TIMEOUT_MS, UNREAD_BYTES_MAX, UNREAD_CHECK_MS } from './transport-limits.ts';

/** A call as its transport sees it. */
export interface OutgoingCall {
  /** Whether its answer is one message, which is taken at once or never. A stream's reader has a patience of its own. */
  readonly unary: boolean;
  /** Whether an answer has begun to leave. */
  hasBegun(): boolean;
  /** Whether all of it has left. */
  hasLeft(): boolean;
  /** Bytes of it that the peer has not taken. */
  unreadBytes(): number;
  /** Its answer has left: closes what the peer keeps open of it. */
  close(): void;
  /** Resets it. */
  cut(): void;
}

/** Bounds of what is on its way out; tests make them small. */
export interface AnswerLimits {
  /** How long a peer may take to take the answer to a unary call. */
  readonly timeMs: number;
  /** Bytes of such answers that are not taken yet. */
  readonly bytesMax: number;
  /** How often it is looked at. */
  readonly checkMs: number;
}

/** Bounds in production. */
export const ANSWER_LIMITS: AnswerLimits = {
  timeMs: ANSWER_TIMEOUT_MS,
  bytesMax: UNREAD_BYTES_MAX,
  checkMs: UNREAD_CHECK_MS,
};

interface Watched {
  begunMs: number | undefined;
  seenLeft: boolean;
}

/** See the head of this file. */
export class AnswerWatch {
  readonly #limits: AnswerLimits;
  readonly #calls = new Map<OutgoingCall, Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: AnswerLimits = ANSWER_LIMITS) {
    this.#limits = limits;
  }

  /** A call begins. The caller reports its end with `closed`. */
  opened(call: OutgoingCall): void {
    this.#calls.set(call, { begunMs: undefined, seenLeft: false });
    this.#timer ??= setInterval(() => this.#check(), this.#limits.checkMs).unref();
  }

  /** The call is over, one way or another. */
  closed(call: OutgoingCall): void {
    this.#calls.delete(call);
    if (this.#calls.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    const nowMs = performance.now();
    const unread: { readonly call: OutgoingCall; readonly bytes: number }[] = [];
    let sum = 0;
    for (const [call, watched] of this.#calls) {
      if (call.hasLeft()) {
        // At the second look: at the first its trailers may be on their way still.
        if (watched.seenLeft) call.close();
        watched.seenLeft = true;
      } else if (call.unary && call.hasBegun()) {
        watched.begunMs ??= nowMs;
        if (nowMs - watched.begunMs >= this.#limits.timeMs) call.cut();
        else {
          const bytes = call.unreadBytes();
          sum += bytes;
          unread.push({ call, bytes });
        }
      }
    }
    if (sum <= this.#limits.bytesMax) return;
    // Those with most first, so that an answer of usual size stays.
    unread.sort((one, other) => other.bytes - one.bytes);
    for (const { call, bytes } of unread) {
      if (sum <= this.#limits.bytesMax) return;
      sum -= bytes;
      call.cut();
    }
  }
}
