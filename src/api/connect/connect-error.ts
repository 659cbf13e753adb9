// A status as Connect sends it, in all three of its protocols.
import { type Code, ConnectError } from '@connectrpc/connect';
import type { CallStatus } from '../errors/call-status.ts';

/** The error to throw for a status. Connect's codes are gRPC's numbers. */
export function connectError({ code, message, details }: CallStatus): ConnectError {
  return new ConnectError(message, code as number as Code, undefined, [...details]);
}
