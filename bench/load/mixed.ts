// A mixed load at a steady rate, and what it tells: everything that a reservation can go through, and those who look on.

/** The load. */
export interface MixedPlan {
  readonly address: string;
  /** Leaves of trees, `<tree>/team/run`. */
  readonly budgets: readonly string[];
  /** Reservations that are begun a second; each takes two to four calls. */
  readonly perSecond: number;
  readonly countMs: number;
  readonly sampleMs: number;
}

/** What the load tells every `sampleMs`, of the time since it told before. */
export interface MixedSample {
  readonly calls: number;
  readonly refusals: Readonly<Record<string, number>>;
  /** Of Reserves, from when they were due. */
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
  /** Reservations begun and not brought to their end. */
  readonly open: number;
}
