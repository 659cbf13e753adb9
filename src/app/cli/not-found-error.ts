// The error for a name of something that is not there, where the service has no refusal for it: its lists are empty then. Its own
// file because commands throw it and the runner maps it.

/** Thrown where what the command line names does not exist. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}
