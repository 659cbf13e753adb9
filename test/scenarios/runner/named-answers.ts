// What the `as` names of a scenario stand for: answers that are known, and reserves that still wait for theirs.
import { setTimeout as delay } from 'node:timers/promises';
import type { Reservation } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import type { Outcome } from './outcome.ts';
import { formatRefusal } from './refusal.ts';

/** Thrown where a step needs the id of a reservation that was never made. */
export class UnknownReservationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnknownReservationError';
  }
}

/** Where a call that is still out is found. */
export interface WaitingPlace {
  readonly budget: string;
  readonly holder: string;
}

interface WaitingCall {
  readonly outcome: Promise<Outcome>;
  readonly where: WaitingPlace;
  isAnswered: boolean;
}

/** The names of one scenario. A name given again stands for the later step. */
export class NamedAnswers {
  readonly #outcomes = new Map<string, Outcome>();
  readonly #waiting = new Map<string, WaitingCall>();

  /** Keeps the outcome of the step with this `as`; a step without one is not kept. */
  keep(name: string | undefined, outcome: Outcome): void {
    if (name !== undefined) this.#outcomes.set(name, outcome);
  }

  /** Keeps a call that is still out. */
  keepWaiting(name: string, where: WaitingPlace, outcome: Promise<Outcome>): void {
    const call: WaitingCall = { outcome, where, isAnswered: false };
    const settle = (): void => {
      call.isAnswered = true;
    };
    outcome.then(settle, settle);
    this.#waiting.set(name, call);
  }

  /** The waiting calls that have their answer. */
  answeredNames(): ReadonlySet<string> {
    return new Set([...this.#waiting].filter(([, call]) => call.isAnswered).map(([name]) => name));
  }

  /** Waits for a waiting call, in real time, and keeps its outcome; undefined where it is still out after the bound. */
  async resolve(name: string, boundMs: number): Promise<Outcome | undefined> {
    const call = this.#waiting.get(name);
    if (call === undefined) return this.#outcomes.get(name);
    const abort = new AbortController();
    const bound = delay(boundMs, undefined, { signal: abort.signal }).catch(() => undefined);
    try {
      const outcome = await Promise.race([call.outcome, bound]);
      if (outcome === undefined) return undefined;
      this.#waiting.delete(name);
      this.#outcomes.set(name, outcome);
      return outcome;
    } finally {
      abort.abort();
    }
  }

  /** Where a call waits that is still out; undefined where the name stands for another. */
  waitingAt(name: string): WaitingPlace | undefined {
    return this.#waiting.get(name)?.where;
  }

  /** The reservation that the step with this `as` was answered with. */
  answerOf(name: string): Reservation | undefined {
    const outcome = this.#outcomes.get(name);
    return outcome?.kind === 'answered' ? outcome.reservation : undefined;
  }

  /** The id behind a name, from its answer or, of a parked or queued one, from its refusal. */
  reservationId(name: string): string {
    const outcome = this.#outcomes.get(name);
    if (outcome === undefined) throw new UnknownReservationError(`${name} has no answer yet`);
    const id =
      outcome.kind === 'answered' ? outcome.reservation?.reservationId : outcome.refusal.metadata['reservation_id'];
    if (id !== undefined && id !== '') return id;
    const why = outcome.kind === 'refused' ? formatRefusal(outcome.refusal) : 'its answer names no reservation';
    throw new UnknownReservationError(`${name} is no reservation: ${why}`);
  }
}
