// Bounds of one Session.
import { PLACE_KEPT_MS } from '../transport-limits.ts';

/** Bounds of one Session; tests make them small. */
export interface SessionLimits {
  /** Commands taken whose results have not been handed to the transport; beyond it no frame is read. */
  readonly commandsMax: number;
  /** Of these, Reserves that may wait in the queue; beyond it further ones are refused. */
  readonly waitingMax: number;
  /** How long a Session takes frames. Then it finishes what is outstanding and ends as UNAVAILABLE. */
  readonly ageMs: number;
  /** How long the peer may leave results unread before the Session is given up. */
  readonly stallMs: number;
  /** How long no frame is read after a command was refused for overload. */
  readonly restMs: number;
  /** How long its status may take to leave then; and how long results may stay unread once the server stops. */
  readonly flushMs: number;
  /** How long what waits keeps its place once the Session was ended here, for its caller to open another one. */
  readonly keptMs: number;
}

/** Bounds in production. */
export const SESSION_LIMITS: SessionLimits = {
  // Two frames of 4,096: the next one can be decided while the one before is on its way. About 4 MB of results.
  commandsMax: 8_192,
  // Half of them: what waits may wait for the settlements that come behind it.
  waitingMax: 4_096,
  // As long as a connection's age, so that clients spread over the replicas again after a takeover.
  ageMs: 30 * 60 * 1_000,
  // A reader this slow is gone or stuck; its results would only hold memory. Its keys tell it later what became of them.
  stallMs: 60_000,
  // A few batches: time for the lane to make room, far less than the pause that RetryInfo asks for.
  restMs: 100,
  // Some round trips. A window that has been closed until now hardly opens, and a stop must not wait for it.
  flushMs: 1_000,
  keptMs: PLACE_KEPT_MS,
};
