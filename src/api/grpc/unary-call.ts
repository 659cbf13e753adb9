// One unary method on grpc-js. Bytes are decoded here and not by grpc-js: after the caller is known, and so that bytes
// that are no message get the contract's answer.
import { type DescMethod, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { handleUnaryCall, Metadata, ServerUnaryCall } from '@grpc/grpc-js';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { ApiLog } from '../api-log.ts';
import { type ApiObserver, type HeaderReader, NO_API_OBSERVER } from '../api-observer.ts';
import { type ApiRefusal, isRefusal, undecodable } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import { isCrowdedMessage } from '../crowded-message.ts';
import { type CallStatus, faultStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { CallContext } from '../services/handler.ts';
import { type AnyHandler, methodPath } from '../services/served-methods.ts';
import type { ServingWaits, WaitingCall } from '../serving-waits.ts';
import { streamOf } from './cut-stream.ts';
import { serviceError } from './service-error.ts';

/** What every call needs from around it. */
export interface GrpcCallDeps {
  readonly authenticate: Authenticate;
  readonly log: ApiLog;
  /** Default: nobody. */
  readonly observer?: ApiObserver | undefined;
}

/** How a call's headers are read: the first value of a name that has text. */
export function headersOf(metadata: Metadata): HeaderReader {
  return (name) => {
    const value = metadata.get(name)[0];
    return typeof value === 'string' ? value : undefined;
  };
}

/** A request, or the refusal of bytes that are none. */
export function decodeRequest(method: DescMethod, bytes: Uint8Array) {
  if (isCrowdedMessage(method.input, bytes)) return undecodable();
  try {
    return fromBinary(method.input, bytes);
  } catch {
    // Whatever the reader stumbled over, the caller is told the same: its bytes are no message of this type.
    return undecodable();
  }
}

type UnaryCall = ServerUnaryCall<Buffer, Buffer>;

function waitingCall(call: UnaryCall): WaitingCall {
  return {
    connection: streamOf(call)?.session,
    watch: (gone) => {
      if (call.cancelled) gone();
      call.on('cancelled', gone);
      return () => call.off('cancelled', gone);
    },
  };
}

function timeLeftMs(call: UnaryCall): number | undefined {
  const deadlineMs = Number(call.getDeadline());
  return Number.isFinite(deadlineMs) ? deadlineMs - Date.now() : undefined;
}

function contextOf(call: UnaryCall, actor: Actor, waits: ServingWaits): CallContext {
  return {
    actor,
    cancelled: () => call.cancelled,
    timeLeftMs: () => timeLeftMs(call),
    wait: (work) => waits.during(waitingCall(call), work),
  };
}

/** The function that grpc-js calls for each call of the method. */
export function unaryCall(
  method: DescMethod,
  handler: AnyHandler,
  waits: ServingWaits,
  deps: GrpcCallDeps,
): handleUnaryCall<Buffer, Buffer> {
  const path = methodPath(method);
  const observer = deps.observer ?? NO_API_OBSERVER;
  return (call, respond) => {
    const header = headersOf(call.metadata);
    const observed = observer.call(path, header);
    const fail = (status: CallStatus) => {
      observed.end(status.code);
      respond(serviceError(status));
    };
    const refuse = (refusal: ApiRefusal) => {
      observer.refused(refusal.reason);
      fail(refusalStatus(refusal));
    };
    const actor = deps.authenticate(header('authorization'));
    if (isRefusal(actor)) return refuse(actor);
    const request = decodeRequest(method, call.request);
    if (isRefusal(request)) return refuse(request);
    observed
      .run(() => handler(request, contextOf(call, actor, waits)))
      .then((reply) => {
        if (isRefusal(reply)) return refuse(reply);
        const { buffer, byteOffset, length } = toBinary(method.output, reply);
        observed.end(Code.OK);
        respond(null, Buffer.from(buffer, byteOffset, length));
      })
      .catch((cause: unknown) => {
        observer.faulted();
        fail(observed.run(() => faultStatus(cause, method.name, deps.log)));
      });
  };
}
