// How the coordinator stands when somebody collects: what the gauges show.

/** One reading. */
export interface Standing {
  readonly serving: boolean;
  readonly leader: boolean;
  /** Of this process while it leads; 0 else. */
  readonly epoch: number;
  readonly projectionLagMs: number;
  readonly queueDepth: number;
  /** Callers whose Reserve waits for room. */
  readonly waitingCount: number;
  readonly quarantinedTrees: readonly string[];
  readonly cachedTrees: number;
  /** Holds that are open in the trees in memory. */
  readonly openHolds: number;
  /** Difference to the database's clock that is refused to be followed; 0: none. */
  readonly refusedClockJumpMs: number;
  /** The price book; 0 on a standby, which has none. */
  readonly prices: {
    readonly rowCount: number;
    /** Since the newest catalogue was imported first. */
    readonly catalogueAgeMs: number;
    /** Whether that is longer than an operator lets it be. */
    readonly stale: boolean;
    /** Requests refused for want of a price, since the start. */
    readonly unknownCount: number;
  };
  /** The background verifier, since the start. */
  readonly verify: {
    /** Entries checked. */
    readonly entries: number;
    /** Entries not checked when it last looked. */
    readonly behind: number;
    /** Trees found not to agree. */
    readonly corruptTrees: number;
  };
}
