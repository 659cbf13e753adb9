// The error for what the format knows and the service does not have yet. Its own file, since both the mapping of verbs
// and the differ throw it: nothing of a case file is ever left out in silence.

/** Thrown where a scenario needs a field that the contract lacks; the scenario fails with it. */
export class NotSupportedError extends Error {
  /** `field` is named as in the case file, for example `reserve.wait`. */
  constructor(field: string) {
    super(`not supported by this service yet: ${field}`);
    this.name = 'NotSupportedError';
  }
}
