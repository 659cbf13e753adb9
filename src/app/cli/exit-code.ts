// What the exit status of budgetctl says. Stands alone because scripts rely on these numbers: they never change meaning.

/** Exit codes by name. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  noMoney: 3,
  refused: 4,
  notFound: 5,
  unavailable: 6,
} as const;

/** What `plan`, `lint` and `invoice` end with, as such commands do elsewhere. */
export const PLAN_EXIT = { same: 0, failed: 1, different: 2 } as const;

/** One of the exit codes above. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The paragraph that `--help` prints. */
export const EXIT_CODE_HELP = `Exit codes:
  0  done
  1  unexpected: a fault of the service or of this program; verify found differences
  2  usage: the command line is wrong, the service found a field invalid, or verify has no database to read
  3  no room now: no money (BUDGET_EXHAUSTED, CAPACITY_HELD), a rate, a slot or a child too many (RATE_LIMITED,
     CONCURRENCY_LIMIT, FAN_OUT_LIMIT), or none in time (QUEUE_TIMEOUT, QUEUE_FULL)
  4  refused for any other reason (EXCEEDS_LIMIT, BUDGET_CLOSED, LEASE_EXPIRED, FORBIDDEN, ETAG_MISMATCH ...)
  5  not found; of prices and quote also a model, a provider, a unit or a row that the price book does not have
  6  unavailable, overloaded, timed out or lost a race: try again with the same --key; status found the service unwell
plan, lint and invoice:
  0  no difference, nothing odd
  1  any error; apply would be refused
  2  there are differences, warnings, or gaps`;
