// The bounds that one port holds against its peers, together, so that both servers and tests hand them on as one.
import { ANSWER_LIMITS, type AnswerLimits } from './answer-watch.ts';
import { ARRIVAL_LIMITS, type ArrivalLimits } from './arrivals.ts';
import { WAIT_LIMITS, type WaitLimits } from './serving-waits.ts';
import { CONNECTIONS_MAX, KEEPALIVE_TIME_MS, KEEPALIVE_TIMEOUT_MS } from './transport-limits.ts';

/** Bounds of one port. */
export interface TransportLimits {
  readonly arrivals: ArrivalLimits;
  readonly answers: AnswerLimits;
  readonly waits: WaitLimits;
  /** Connections open at once. */
  readonly connectionsMax: number;
  /** A peer that says nothing for so long is asked whether it still lives… */
  readonly keepaliveMs: number;
  /** …and has so long to answer. */
  readonly keepaliveTimeoutMs: number;
}

/** Bounds in production. */
export const TRANSPORT_LIMITS: TransportLimits = {
  arrivals: ARRIVAL_LIMITS,
  answers: ANSWER_LIMITS,
  waits: WAIT_LIMITS,
  connectionsMax: CONNECTIONS_MAX,
  keepaliveMs: KEEPALIVE_TIME_MS,
  keepaliveTimeoutMs: KEEPALIVE_TIMEOUT_MS,
};
