// Where the api reports what its callers must not see. An interface of its own, shaped like pino's, so that the api
// depends on no logger.

/** Takes structured records. */
export interface ApiLog {
  /** Something that an operator must look at: a fault of the program. */
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Something that the service lives with: a store away, a server that had to be closed by force. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}
