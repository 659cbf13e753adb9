// One unary method on grpc-js. Bytes are decoded here and not by grpc-js: after the caller is known, and so that bytes
// that are no message get the contract's answer.
import { type DescMethod, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { handleUnaryCall, Metadata } from '@grpc/grpc-js';
import type { ApiLog } from '../api-log.ts';
import { type ApiRefusal, isRefusal, undecodable } from '../api-refusal.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import { faultStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { AnyHandler } from '../services/served-methods.ts';
import { serviceError } from './service-error.ts';

/** What every call needs from around it. */
export interface GrpcCallDeps {
  readonly authenticate: Authenticate;
  readonly log: ApiLog;
}

/** The value of the `authorization` header; undefined where there is none. */
export function authorizationOf(metadata: Metadata): string | undefined {
  const value = metadata.get('authorization')[0];
  return typeof value === 'string' ? value : undefined;
}

function decode(method: DescMethod, bytes: Uint8Array) {
  try {
    return fromBinary(method.input, bytes);
  } catch {
    // Whatever the reader stumbled over, the caller is told the same: its bytes are no message of this type.
    return undecodable();
  }
}

/** The function that grpc-js calls for each call of the method. */
export function unaryCall(
  method: DescMethod,
  handler: AnyHandler,
  deps: GrpcCallDeps,
): handleUnaryCall<Buffer, Buffer> {
  return (call, respond) => {
    const refuse = (refusal: ApiRefusal) => respond(serviceError(refusalStatus(refusal)));
    const actor = deps.authenticate(authorizationOf(call.metadata));
    if (isRefusal(actor)) return refuse(actor);
    const request = decode(method, call.request);
    if (isRefusal(request)) return refuse(request);
    handler(request, { actor, cancelled: () => call.cancelled })
      .then((reply) => {
        if (isRefusal(reply)) return refuse(reply);
        const { buffer, byteOffset, length } = toBinary(method.output, reply);
        respond(null, Buffer.from(buffer, byteOffset, length));
      })
      .catch((cause: unknown) => respond(serviceError(faultStatus(cause, method.name, deps.log))));
  };
}
