// One gRPC connection to a coordinator, typed by the generated descriptors of the contract. Stands alone so that no
// command knows how a call is made, and so that every failed call becomes the same kind of error.

import type { DescMethod } from '@bufbuild/protobuf';
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { CallError, describeCallError } from './call-error.ts';

/** How to reach the coordinator. */
export interface ConnectionOptions {
  /** `host:port`. */
  readonly server: string;
  /** Bearer token, sent in the clear: this client speaks plaintext only. Undefined: none is sent. */
  readonly token: string | undefined;
  /** How long one call may take. */
  readonly deadlineMs: number;
}

/** A unary method as the generated code describes it. */
export type UnaryMethod<Input extends DescMessage, Output extends DescMessage> = Omit<
  DescMethod,
  'methodKind' | 'input' | 'output'
> & { readonly methodKind: 'unary'; readonly input: Input; readonly output: Output };

/** A method that answers with a stream, likewise. */
export type StreamMethod<Input extends DescMessage, Output extends DescMessage> = Omit<
  DescMethod,
  'methodKind' | 'input' | 'output'
> & { readonly methodKind: 'server_streaming'; readonly input: Input; readonly output: Output };

/** What grpc.health.v1 says of a service. */
export type HealthStatus = 'UNKNOWN' | 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

/** An open connection. */
export interface Connection {
  readonly server: string;
  /** Calls a unary method. Rejects with CallError for every status other than OK. */
  call<Input extends DescMessage, Output extends DescMessage>(
    method: UnaryMethod<Input, Output>,
    request: MessageInitShape<Input>,
    /** How much longer than others it may take. */
    waitMs?: number,
  ): Promise<MessageShape<Output>>;
  /** Calls a method that answers with a stream, which has no deadline. Throws CallError where it ends with another status than OK. */
  stream<Input extends DescMessage, Output extends DescMessage>(
    method: StreamMethod<Input, Output>,
    request: MessageInitShape<Input>,
  ): AsyncGenerator<MessageShape<Output>>;
  /** Asks grpc.health.v1 about a service; the empty name means the whole coordinator. Rejects with CallError. */
  checkHealth(service: string): Promise<HealthStatus>;
  close(): void;
}

/** Opens a connection. Nothing is sent before the first call. */
export function connect(options: ConnectionOptions): Connection {
  const client = new Client(options.server, credentials.createInsecure());
  const metadata = new Metadata();
  if (options.token !== undefined) metadata.set('authorization', `Bearer ${options.token}`);
  const callError = (error: ServiceError, path: string): CallError =>
    new CallError(describeCallError(error), options.server, path.slice(path.lastIndexOf('/') + 1));
  const callPath = <Request, Response>(
    path: string,
    serialize: (request: Request) => Buffer,
    deserialize: (bytes: Buffer) => Response,
    request: Request,
    waitMs = 0,
  ): Promise<Response> =>
    new Promise((resolve, reject) => {
      const fail = (error: ServiceError): void => reject(callError(error, path));
      const deadline = Date.now() + options.deadlineMs + waitMs;
      client.makeUnaryRequest(path, serialize, deserialize, request, metadata, { deadline }, (error, response) => {
        if (error !== null) fail(error);
        else if (response === undefined) reject(new TypeError(`${path} answered OK without a message`));
        else resolve(response);
      });
    });
  return {
    server: options.server,
    call: (method, request, waitMs) =>
      callPath(
        `/${method.parent.typeName}/${method.name}`,
        (message: MessageShape<typeof method.input>) => asBuffer(toBinary(method.input, message)),
        (bytes) => fromBinary(method.output, bytes),
        create(method.input, request),
        waitMs,
      ),
    async *stream(method, request) {
      const call = client.makeServerStreamRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: MessageShape<typeof method.input>) => asBuffer(toBinary(method.input, message)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        create(method.input, request),
        metadata,
      );
      // Ended by its reader, it says so once more, to nobody.
      call.on('error', () => undefined);
      try {
        yield* call;
      } catch (error) {
        throw isServiceError(error) ? callError(error, method.name) : error;
      } finally {
        call.cancel();
      }
    },
    checkHealth: async (service) => {
      const { path, requestSerialize, responseDeserialize } = HEALTH_CHECK;
      const response = await callPath(path, requestSerialize, responseDeserialize, { service });
      return (response as { readonly status: HealthStatus }).status;
    },
    close: () => client.close(),
  };
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error;
}

const HEALTH_CHECK = healthCheckMethod();

function healthCheckMethod() {
  const method = healthService['Check'];
  if (method === undefined || !('requestSerialize' in method)) throw new TypeError('grpc-health-check has no Check');
  return method;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
