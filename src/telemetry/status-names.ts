// gRPC's status codes by their names, as OpenTelemetry's conventions want them, and which of them are the server's fault.

/** Names of the codes 0 to 16. */
export const STATUS_NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

// The gRPC conventions of OpenTelemetry: what a server should call an error of its own. A refusal is none.
const SERVER_ERRORS: ReadonlySet<string> = new Set([
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
]);

/** Whether a status of this name is an error of the server. */
export function isServerError(statusName: string): boolean {
  return SERVER_ERRORS.has(statusName);
}
