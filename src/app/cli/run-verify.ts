// The verifier as budgetctl sees it. Its own file so that the commands can be tested without a database, and without
// loading one.

/** The verifier of the journal, as the program is given it. */
export type RunVerify = (options: {
  /** Undefined: the embedded database. */
  readonly databaseUrl?: string;
  /** Only this tree; undefined: all. */
  readonly tree?: string;
  /** Takes lines about progress. */
  readonly log: (line: string) => void;
}) => Promise<{
  readonly ok: boolean;
  readonly differences: readonly string[];
  readonly trees: number;
  readonly entries: number;
}>;
