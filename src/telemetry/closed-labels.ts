// A label that can take only the values given at the start. Whatever else comes is counted under one more, so that no
// caller, budget or fault of the program can make series without end.

/** What a value outside of the list is counted under; the name that OpenTelemetry gives such a value. */
const OTHER = '_OTHER';

/** See the head of this file. */
export class ClosedLabels {
  /** Every value that can be counted, OTHER last. */
  readonly values: readonly string[];
  readonly #indexes: ReadonlyMap<string, number>;

  constructor(values: readonly string[]) {
    this.values = [...values, OTHER];
    this.#indexes = new Map(values.map((value, index) => [value, index]));
  }

  /** Place of a value in `values`. */
  indexOf(value: string): number {
    return this.#indexes.get(value) ?? this.values.length - 1;
  }
}
