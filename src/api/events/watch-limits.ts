// Bounds of one watch.

/** Bounds of one watch; tests make them small. */
export interface WatchLimits {
  /** How often a replica that does not lead looks into the journal. */
  readonly pollMs: number;
  /** How often the leader does, which is told of its commits. */
  readonly leaderPollMs: number;
  /** After so long without a response there is one without events. */
  readonly keepAliveMs: number;
  /** How long a watch lasts. Then it ends as UNAVAILABLE, to be resumed. */
  readonly ageMs: number;
  /** How long its status may take to leave once the server stops. */
  readonly flushMs: number;
}

/** Bounds in production. */
export const WATCH_LIMITS: WatchLimits = {
  // The contract says half a second. A look costs one read by index.
  pollMs: 500,
  // Notes are not lost; this only mends what a takeover between two looks could leave.
  leaderPollMs: 5_000,
  // Well below the 30 s to 60 s after which common proxies cut a silent stream.
  keepAliveMs: 10_000,
  // As long as a Session's, for the same reason: watches spread over the replicas again.
  ageMs: 30 * 60 * 1_000,
  // As long as a Session's: a reader that does not read must not hold up a stop.
  flushMs: 1_000,
};

/** Entries that are read at once: about one batch of a busy lane, and all that a watch whose reader is slow holds. */
export const ENTRIES_AT_ONCE = 256;

/** Events in one response. The largest, a definition with nested templates, has some 40 KB: clients take 4 MiB. */
export const EVENTS_PER_RESPONSE = 64;

/**
 * An entry that is this old by the coordinator's clock is committed, whatever tree it is of, or never will be: an append is
 * given up after 4 s, a lease to write runs 6 s, and clocks that differ by more than 5 s are not followed.
 */
export const SETTLED_MS = 30_000;
