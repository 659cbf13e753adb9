// A coordinator that answers what a test tells it to, over real gRPC on a loopback port. It is made from the same
// descriptors as the real one, so the command line cannot tell; what it was asked is kept for the test to look at.
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import {
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import { HealthImplementation, type ServingStatus } from 'grpc-health-check';
import type { UnaryMethod } from '../../../src/app/cli/connection.ts';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { PriceService } from '../../../src/gen/budgetd/v1/price_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../../src/gen/budgetd/v1/server_info_pb.ts';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  QuotaFailureSchema,
  RetryInfoSchema,
} from '../../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../src/gen/google/rpc/status_pb.ts';

/** What a refusal says beside its status and reason. */
export interface RefusalDetails {
  readonly metadata?: Record<string, string>;
  readonly failing?: { subject: string; description: string }[];
  readonly fields?: { field: string; description: string }[];
  readonly retryAfterMs?: number;
}

/** Thrown by an answer to refuse the call. */
export class Refuse extends Error {
  readonly statusObject: Partial<StatusObject>;

  constructor(code: status, reason: string, message: string, details: RefusalDetails = {}) {
    super(message);
    const { metadata = {}, failing, fields, retryAfterMs } = details;
    const packed = [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { domain: 'budgetd', reason, metadata }))];
    if (failing) packed.push(anyPack(QuotaFailureSchema, create(QuotaFailureSchema, { violations: failing })));
    if (fields) packed.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations: fields })));
    if (retryAfterMs !== undefined) {
      const retryDelay = { seconds: BigInt(Math.trunc(retryAfterMs / 1000)), nanos: (retryAfterMs % 1000) * 1_000_000 };
      packed.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
    }
    const trailer = new Metadata();
    const bytes = toBinary(StatusSchema, create(StatusSchema, { code, message, details: packed }));
    trailer.set('grpc-status-details-bin', Buffer.from(bytes));
    this.statusObject = { code, details: message, metadata: trailer };
  }
}

/** Thrown by an answer to leave the caller without one. */
export class NeverAnswer extends Error {}

/** A call as it arrived. */
interface Received {
  readonly method: string;
  readonly request: unknown;
  readonly authorization: string | undefined;
}

/** A running fake. */
export interface FakeCoordinator {
  readonly address: string;
  /** Every call so far, health checks left out. */
  readonly received: Received[];
  /** The only request that a method got. Throws if there was none or more than one. */
  requestOf<Input extends DescMessage, Output extends DescMessage>(
    method: UnaryMethod<Input, Output>,
  ): MessageShape<Input>;
  /** Sets what a method answers; before that it is UNIMPLEMENTED. */
  answer<Input extends DescMessage, Output extends DescMessage>(
    method: UnaryMethod<Input, Output>,
    reply: (request: MessageShape<Input>) => MessageInitShape<Output>,
  ): void;
  setHealth(service: string, status: ServingStatus): void;
  stop(): void;
}

/** Starts a fake on a free loopback port. */
export async function startFakeCoordinator(): Promise<FakeCoordinator> {
  const server = new Server();
  const received: Received[] = [];
  const answers = new Map<string, (request: never) => unknown>();
  const health = new HealthImplementation();
  const services = [ReservationService, BudgetService, PriceService, ServerInfoService];
  for (const service of ['', ...services.map(({ typeName }) => typeName)]) health.setStatus(service, 'SERVING');
  health.addToServer(server);
  for (const service of services) {
    const methods = service.methods.filter((method) => method.methodKind === 'unary');
    server.addService(
      Object.fromEntries(methods.map((method) => [method.name, definitionOf(method)])) as ServiceDefinition,
      Object.fromEntries(methods.map((method) => [method.name, handlerOf(method, answers, received)])),
    );
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    address: `127.0.0.1:${port}`,
    received,
    requestOf: (method) => {
      const requests = received.filter((call) => call.method === method.name);
      if (requests.length !== 1) throw new Error(`${method.name} was called ${requests.length} times`);
      return requests[0]?.request as MessageShape<typeof method.input>;
    },
    answer: (method, reply) => void answers.set(method.name, reply),
    setHealth: (service, serving) => health.setStatus(service, serving),
    stop: () => server.forceShutdown(),
  };
}

function definitionOf(method: DescMethod) {
  const serializeWith = (schema: DescMessage) => (message: MessageShape<DescMessage>) =>
    Buffer.from(toBinary(schema, message));
  const deserializeWith = (schema: DescMessage) => (bytes: Buffer) => fromBinary(schema, bytes);
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: serializeWith(method.input),
    requestDeserialize: deserializeWith(method.input),
    responseSerialize: serializeWith(method.output),
    responseDeserialize: deserializeWith(method.output),
  };
}

function handlerOf(
  method: DescMethod,
  answers: ReadonlyMap<string, (request: never) => unknown>,
  received: Received[],
): handleUnaryCall<unknown, unknown> {
  return (call, callback) => {
    const [authorization] = call.metadata.get('authorization');
    received.push({ method: method.name, request: call.request, authorization: authorization?.toString() });
    const reply = answers.get(method.name);
    if (reply === undefined) return callback({ code: status.UNIMPLEMENTED, details: `no answer for ${method.name}` });
    try {
      callback(null, create(method.output, reply(call.request as never) as MessageInitShape<DescMessage>));
    } catch (error) {
      if (error instanceof NeverAnswer) return;
      if (error instanceof Refuse) return callback(error.statusObject);
      callback({ code: status.INTERNAL, details: String(error) });
    }
  };
}
