// What an error of the driver or of PostgreSQL means, in one place. Callers see StoreUnavailableError with a message that
// names no host, user or statement; the driver's own error is its cause, for the log.
import { StoreTimeoutError, StoreUnavailableError } from './port.ts';

/** SQLSTATEs raised by the functions in sql/. */
export const SQLSTATE_FENCED = 'BD001';
export const SQLSTATE_HEAD_MOVED = 'BD002';
export const SQLSTATE_PROJECTION_MISMATCH = 'BD003';

/** The database asks for a retry: serialization failure, deadlock. */
const RETRY_STATES: ReadonlySet<string> = new Set(['40001', '40P01']);

// Codes of the driver and of Node's sockets: the server was not reached, or went away.
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECTION_CONNECT_TIMEOUT',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);

// Whole classes: 08 connection, 28 login refused, 53 no resources (disk full, too many connections), 57 operator
// intervention (statement timeout, shutdown, starting up), 58 system error (I/O).
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '28', '53', '57', '58']);
// 25006 read-only (a standby answered), 3D000 no such database, 55P03 lock not granted in time, 25P03 and 25P04 the
// session idled or ran past its bound inside a transaction.
const UNAVAILABLE_STATES: ReadonlySet<string> = new Set(['25006', '3D000', '55P03', '25P03', '25P04']);

/** SQLSTATE or driver code of an error; undefined where it has none. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Whether the database asks to run the transaction again. */
export function asksForRetry(error: unknown): boolean {
  return RETRY_STATES.has(codeOf(error) ?? '');
}

/** Whether a unique constraint refused a row, and if `constraint` is given, whether it was that one. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (codeOf(error) !== '23505') return false;
  return constraint === undefined || (error as { constraint_name?: string }).constraint_name === constraint;
}

/** Whether a session ended with this error, or never began. */
export function isSessionEnd(error: unknown): boolean {
  const code = codeOf(error);
  if (code === undefined) return false;
  return CONNECTION_CODES.has(code) || (error as { severity?: string }).severity === 'FATAL';
}

/** The server ended a statement: it ran past its time-out, or somebody cancelled it. */
const SQLSTATE_CANCELED = '57014';

/**
 * The error to throw instead: StoreUnavailableError where the store could not be reached or did not answer in time. With
 * `isRead` a statement that ran past its time-out is StoreTimeoutError: the server works, and the question was too much.
 */
export function storeErrorOf(error: unknown, isRead = false): unknown {
  if (error instanceof StoreUnavailableError) return error;
  const code = codeOf(error);
  if (code === undefined) return error;
  if (isRead && code === SQLSTATE_CANCELED) {
    return new StoreTimeoutError('the store could not answer in time', { cause: error });
  }
  const unavailable =
    CONNECTION_CODES.has(code) ||
    UNAVAILABLE_STATES.has(code) ||
    (code.length === 5 && UNAVAILABLE_CLASSES.has(code.slice(0, 2)));
  return unavailable ? new StoreUnavailableError(`the store is unavailable (${code})`, { cause: error }) : error;
}
