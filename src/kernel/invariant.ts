// Checks that are always on. A failed one means that the program is wrong, not the request: it fails the command it
// belongs to and nothing is half-applied.

/** Thrown by a failed invariant. Never caught in order to go on with the same state. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Throws InvariantError with `text` unless `condition` holds. */
export function invariant(condition: unknown, text: string): asserts condition {
  if (!condition) throw new InvariantError(text);
}
