// One environment variable as documentation shows it. Its own file because more than one file reads variables.

/** One line of the configuration's documentation; the README and `--help` show the same. */
export interface Setting {
  readonly name: string;
  readonly default: string;
  readonly meaning: string;
}
