// What every call on the gRPC port needs, whatever becomes of it.
import { type DescMethod, fromBinary } from '@bufbuild/protobuf';
import type { Metadata } from '@grpc/grpc-js';
import type { ApiLog } from '../api-log.ts';
import type { ApiObserver, HeaderReader } from '../api-observer.ts';
import { undecodable } from '../api-refusal.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import { isCrowdedMessage } from '../crowded-message.ts';

/** What every call needs from around it. */
export interface GrpcCallDeps {
  readonly authenticate: Authenticate;
  readonly log: ApiLog;
  /** Default: nobody. */
  readonly observer?: ApiObserver | undefined;
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

/** How a call's headers are read: the first value of a name that has text. */
export function headersOf(metadata: Metadata): HeaderReader {
  return (name) => {
    const value = metadata.get(name)[0];
    return typeof value === 'string' ? value : undefined;
  };
}
