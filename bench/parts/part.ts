// What a part of the bench is and what it brings.

/** One measured figure. */
export interface Figure {
  readonly name: string;
  readonly perSecond?: number;
  /** Over the figure that the note names. */
  readonly ratio?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** Rows counted beside the rate, and whatever else makes it believable. */
  readonly note?: string;
}

/** What parts share. */
export interface BenchContext {
  readonly databaseUrl: string;
  readonly countMs: number;
  /** Ended reservations in the part with a past. */
  readonly pastCount: number;
  /** How long the part that soaks takes, and reservations that it begins a second. */
  readonly soakMs: number;
  readonly soakPerSecond: number;
  /** Of the parts that ran before. */
  readonly figures: readonly Figure[];
}

/** A part. */
export interface Part {
  readonly name: string;
  readonly what: string;
  /** It takes long: it runs only where it is asked for by its name. Default: false. */
  readonly onlyByName?: boolean;
  run(context: BenchContext): Promise<readonly Figure[]>;
}

/** The rate of an earlier figure; undefined where its part did not run. */
export function rateOf(context: BenchContext, name: string): number | undefined {
  return context.figures.find((figure) => figure.name === name)?.perSecond;
}
