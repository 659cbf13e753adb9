// A status as both servers send it: code, message and google.rpc details. Kept apart from how refusals become one, since
// it is also what a fault, an undecodable frame and the end of a Session are turned into.
import { type DescMessage, type Message, toBinary } from '@bufbuild/protobuf';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { Status } from '../../gen/google/rpc/status_pb.ts';
import type { ApiLog } from '../api-log.ts';

/** One detail with the type that it is written as. */
export interface StatusDetail {
  readonly desc: DescMessage;
  readonly value: Message;
}

/** How a call or a command ended, if not well. */
export interface CallStatus {
  readonly code: Code;
  readonly message: string;
  readonly details: readonly StatusDetail[];
}

/** Where every gRPC library looks for a google.rpc.Status. */
export const STATUS_DETAILS_HEADER = 'grpc-status-details-bin';

/** The same as a google.rpc.Status. */
export function statusMessage(status: CallStatus): Status {
  return {
    $typeName: 'google.rpc.Status',
    code: status.code,
    message: status.message,
    details: status.details.map(({ desc, value }) => ({
      $typeName: 'google.protobuf.Any',
      typeUrl: `type.googleapis.com/${desc.typeName}`,
      value: toBinary(desc, value),
    })),
  };
}

/** A status without details, for what is no refusal. */
export function bareStatus(code: Code, message: string): CallStatus {
  return { code, message, details: [] };
}

/**
 * What a caller is told about a fault of the program: that there was one, and nothing of its cause. The cause goes to the
 * log in full.
 */
export function faultStatus(cause: unknown, method: string, log: ApiLog): CallStatus {
  log.error({ err: cause, method }, 'call failed by a fault of the program');
  return bareStatus(Code.INTERNAL, 'internal error');
}
