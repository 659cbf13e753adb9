// A status as grpc-js sends it.
import { toBinary } from '@bufbuild/protobuf';
import { Metadata, type ServiceError } from '@grpc/grpc-js';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { type CallStatus, STATUS_DETAILS_HEADER, statusMessage } from '../errors/call-status.ts';

/** What to emit on a stream as its error. */
export function serviceError(status: CallStatus): Omit<ServiceError, 'name'> {
  const metadata = new Metadata();
  if (status.details.length > 0) {
    metadata.set(STATUS_DETAILS_HEADER, Buffer.from(toBinary(StatusSchema, statusMessage(status))));
  }
  return { code: status.code, message: status.message, details: status.message, metadata };
}
