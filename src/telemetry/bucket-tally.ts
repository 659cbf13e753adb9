// A histogram as plain numbers: adding a value costs some nanoseconds and allocates nothing, so that it can be done for
// every command of a hot tree. OpenTelemetry's own instrument looks its attributes up at each record, which costs as much
// as deciding a command; this one is read only when somebody collects.

/** Counts values by the bucket that they fall into. */
export class BucketTally {
  /** Upper bounds of the buckets, inclusive, ascending; the last bucket has none. */
  readonly boundaries: readonly number[];
  /** One more than boundaries. */
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(boundaries: readonly number[]) {
    this.boundaries = boundaries;
    this.counts = new Array<number>(boundaries.length + 1).fill(0);
  }

  /** Adds a value in the unit of the boundaries. */
  add(value: number): void {
    const { boundaries } = this;
    let at = 0;
    // Most values fall into the first few buckets: a search by halves would be slower.
    while (at < boundaries.length && value > (boundaries[at] as number)) at += 1;
    this.counts[at] = (this.counts[at] as number) + 1;
    this.count += 1;
    this.sum += value;
  }
}
