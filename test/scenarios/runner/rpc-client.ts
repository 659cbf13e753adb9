// A real gRPC client over the generated descriptors: grpc-js carries the bytes, protobuf-es knows the messages. Nothing
// is retried here, so that a step sees the first answer it gets.
import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type Client,
  credentials,
  makeClientConstructor,
  makeGenericClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';

// A call that takes longer hangs: the slowest honest answer is a refusal after the service's own time-outs, well below.
const CALL_DEADLINE_MS = 30_000;
// Health is asked often: between a start and the first SERVING lie a few hundred milliseconds.
const HEALTH_DEADLINE_MS = 1_000;

/** Sends unary calls to one address. A refusal rejects with grpc-js's ServiceError. */
export interface RpcClient {
  call<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    request: MessageInitShape<Input>,
    /** How much longer than others it may take. */
    waitMs?: number,
  ): Promise<MessageShape<Output>>;
  /** Sends one request and gives the answers as they come; ends the call where its reader stops. */
  stream<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodServerStreaming<Input, Output>,
    request: MessageInitShape<Input>,
  ): AsyncGenerator<MessageShape<Output>>;
  /** The status that grpc.health.v1 gives for the whole server, or undefined where it does not answer. */
  health(): Promise<string | undefined>;
  close(): void;
}

/** Connects, lazily, to a service without tokens on the loopback interface. */
export function createRpcClient(grpcPort: number): RpcClient {
  const address = `127.0.0.1:${grpcPort}`;
  const Generic = makeGenericClientConstructor({}, 'budgetd');
  const client: Client = new Generic(address, credentials.createInsecure());
  const Health = makeClientConstructor(healthService, 'grpc.health.v1.Health');
  const health = new Health(address, credentials.createInsecure());

  return {
    call: (method, request, waitMs = 0) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          `/${method.parent.typeName}/${method.name}`,
          (message: MessageShape<typeof method.input>) => Buffer.from(toBinary(method.input, message)),
          (bytes: Buffer) => fromBinary(method.output, bytes),
          create(method.input, request),
          { deadline: Date.now() + CALL_DEADLINE_MS + waitMs },
          (error: ServiceError | null, reply?: MessageShape<typeof method.output>) => {
            if (error !== null) reject(error);
            else if (reply === undefined) reject(new Error(`${method.name}: neither an answer nor an error`));
            else resolve(reply);
          },
        );
      }),
    async *stream(method, request) {
      const call = client.makeServerStreamRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: MessageShape<typeof method.input>) => Buffer.from(toBinary(method.input, message)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        create(method.input, request),
        { deadline: Date.now() + CALL_DEADLINE_MS },
      );
      // Ended by its reader, it says so once more, to nobody.
      call.on('error', () => undefined);
      try {
        yield* call;
      } finally {
        call.cancel();
      }
    },
    health: () =>
      new Promise((resolve) => {
        const check = health['check'];
        if (check === undefined) throw new Error('grpc-health-check defines no Check');
        check.call(
          health,
          { service: '' },
          { deadline: Date.now() + HEALTH_DEADLINE_MS },
          (error: ServiceError | null, reply?: { readonly status: string }) => {
            resolve(error === null ? reply?.status : undefined);
          },
        );
      }),
    close: () => {
      client.close();
      health.close();
    },
  };
}
