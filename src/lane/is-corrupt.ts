// What may put a tree out of service: only errors that say by their name that its records are at fault. Its own file because
// the lane and the projector must not differ in it, and because everything else (an outage, a schema that is being upgraded,
// a fault in the program, one in the queue, which is an index of the records) must be tried again instead of being written down
// against a tree.
import { InvariantError } from '../kernel/invariant.ts';
import { CorruptJournalError, ProjectionMismatchError } from '../store/port.ts';

/** Whether an error says that a tree's records can't be read, or do not fit together. */
export function isCorrupt(error: unknown): error is Error {
  return (
    error instanceof InvariantError || error instanceof CorruptJournalError || error instanceof ProjectionMismatchError
  );
}
