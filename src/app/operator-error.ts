// The error of an operator's command that has nothing to work on. Its own file because budgetctl gives it an exit code that
// no finding has, and must not load the database client for that.

/** Thrown where what was named is not there or can't be meant: a folder, a URL, a tree. Nothing was read or changed. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}
