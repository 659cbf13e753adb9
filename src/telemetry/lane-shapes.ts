// What telemetry reads of a batch, and nothing else of it: the room imports no other, so that it can be taken out whole.
// The compiler holds these shapes against the lane's own types where app joins the two.

/** A command. */
export interface CommandShape {
  readonly kind: string;
  readonly dryRun?: boolean;
}

/** An answer; a refusal where it has a reason. */
export interface AnswerShape {
  readonly kind: string;
  readonly reason?: string;
  readonly replayed?: boolean;
  /** One answer a lease. */
  readonly results?: readonly AnswerShape[];
}

/** The movement of a journal entry. */
export interface EffectShape {
  readonly overrunMicros: bigint;
}

/** A journal entry. */
export interface EntryShape {
  readonly type: string;
  readonly figures?: {
    readonly state: string;
    readonly grantedMicros: bigint;
    readonly settledMicros: bigint;
    readonly overrunMicros: bigint;
    readonly estimated: boolean;
  };
  readonly effects?: readonly EffectShape[];
  /** Of a grant: there where it has waited in the queue. */
  readonly enqueuedSeq?: number | undefined;
  /** Those who left the queue ungranted, and what they were told. */
  readonly leaves?: readonly { readonly refusal: { readonly reason: string } }[];
  readonly lapses?: readonly { readonly charged: boolean; readonly effects: readonly EffectShape[] }[];
}

/** A command that waits or was decided. */
export interface ItemShape {
  readonly command: CommandShape;
  /** When it came, by the monotonic clock, in milliseconds. */
  readonly sinceMs: number;
}

/** One tree's part of a batch. */
export interface TreeBatchShape {
  readonly answered: readonly { readonly item: ItemShape; readonly answer: AnswerShape }[];
  readonly entries: readonly EntryShape[];
}

/** What became of a batch; times by the monotonic clock, in milliseconds. */
export interface BatchShape {
  readonly outcome: string;
  readonly trees: readonly TreeBatchShape[];
  readonly takenMs: number;
  readonly appendMs: number;
  readonly endedMs: number;
}
