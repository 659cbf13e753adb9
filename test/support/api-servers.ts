// Both servers over a fake coordinator, and a plain grpc-js client that speaks to them from the descriptors alone.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type Any, anyIs, anyUnpack } from '@bufbuild/protobuf/wkt';
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { createAuthenticator, type Token } from '../../src/api/auth/authenticator.ts';
import type { ServeOther } from '../../src/api/connect/request-listener.ts';
import { startConnectServer } from '../../src/api/connect/start-connect-server.ts';
import { WATCH_LIMITS, type WatchLimits } from '../../src/api/events/watch-limits.ts';
import { startGrpcServer } from '../../src/api/grpc/start-grpc-server.ts';
import { createServices } from '../../src/api/services/create-services.ts';
import type { SessionLimits } from '../../src/api/session/session-limits.ts';
import type { TransportLimits } from '../../src/api/transport-bounds.ts';
import {
  WatchEventsRequestSchema,
  type WatchEventsResponse,
  WatchEventsResponseSchema,
} from '../../src/gen/budgetd/v1/event_pb.ts';
import {
  type SessionCommandSchema,
  SessionRequestSchema,
  SessionResponseSchema,
  type SessionResult,
} from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { type Status, StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import { FakeCoordinator, FakeReads } from './fake-coordinator.ts';

/** Options of a test's servers. */
export interface ApiServersOptions {
  readonly tokens?: readonly Token[];
  readonly sessionLimits?: SessionLimits;
  readonly serveOther?: ServeOther;
  readonly limits?: TransportLimits;
  readonly watchLimits?: Partial<WatchLimits>;
}

/** Starts both servers on free ports of the loopback, serving. */
export async function startApiServers(options: ApiServersOptions = {}) {
  const coordinator = new FakeCoordinator();
  await coordinator.prices.settled();
  const reads = new FakeReads();
  const errors: Readonly<Record<string, unknown>>[] = [];
  const log = {
    error: (fields: Readonly<Record<string, unknown>>) => {
      errors.push(fields);
    },
    warn: () => undefined,
  };
  const services = createServices({
    coordinator,
    reads,
    log,
    watchLimits: { ...WATCH_LIMITS, ...options.watchLimits },
    version: '1.2.3',
    databaseKind: 'embedded',
  });
  const authenticate = createAuthenticator(options.tokens ?? []);
  const { sessionLimits, serveOther } = options;
  const shared = { host: '127.0.0.1', port: 0, services, authenticate, log };
  const limits = {
    ...(sessionLimits === undefined ? {} : { sessionLimits }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  };
  const grpc = await startGrpcServer({ ...shared, ...limits });
  const connect = await startConnectServer({
    ...shared,
    ...limits,
    ...(serveOther === undefined ? {} : { serveOther }),
  });
  grpc.setServing(true);
  connect.setServing(true);
  const stop = async () => {
    await Promise.all([grpc.stop({ graceMs: 0 }), connect.stop({ graceMs: 0 })]);
  };
  return { coordinator, reads, errors, services, authenticate, log, grpc, connect, stop };
}

/** A call that failed, with its google.rpc.Status taken apart. */
export interface FailedCall {
  readonly code: number;
  readonly message: string;
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Names of the details' types, in order. */
  readonly types: readonly string[];
  readonly status: Status | undefined;
}

/** Takes one detail out of a status. */
export function findDetail<D extends DescMessage>(status: Status | undefined, desc: D): MessageShape<D> | undefined {
  const any = status?.details.find((detail: Any) => anyIs(detail, desc));
  return any === undefined ? undefined : anyUnpack(any, desc);
}

/** Takes the error of a grpc-js call apart. */
function failedCall(error: ServiceError): FailedCall {
  const bytes = error.metadata.get('grpc-status-details-bin')[0];
  const status = bytes instanceof Buffer ? fromBinary(StatusSchema, bytes) : undefined;
  const info = findDetail(status, ErrorInfoSchema);
  return {
    code: error.code,
    message: error.details,
    reason: info?.reason,
    metadata: info?.metadata ?? {},
    types: (status?.details ?? []).map(({ typeUrl }) => typeUrl.replace(/.*\./, '')),
    status,
  };
}

const asIs = (bytes: Buffer): Buffer => bytes;

/** A client of one server. */
export class ApiClient {
  readonly #client: Client;
  readonly #metadata = new Metadata();

  constructor(port: number, token?: string) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    if (token !== undefined) this.#metadata.set('authorization', `Bearer ${token}`);
  }

  /** Sends bytes to a unary method, by its path. */
  raw(path: string, bytes: Uint8Array): Promise<Buffer | FailedCall> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(path, asIs, asIs, Buffer.from(bytes), this.#metadata, (error, reply) => {
        if (error !== null) resolve(failedCall(error));
        else if (reply === undefined) reject(new Error('neither error nor reply'));
        else resolve(reply);
      });
    });
  }

  /** Calls a unary method. */
  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O> | FailedCall> {
    const path = `/${method.parent.typeName}/${method.name}`;
    const reply = await this.raw(path, toBinary(method.input, create(method.input, request)));
    return 'types' in reply ? reply : fromBinary(method.output, reply);
  }

  /** Opens a watch; nobody reads it until a listener for its data is added. */
  watch(request: MessageInitShape<typeof WatchEventsRequestSchema>): WatchClient {
    const bytes = Buffer.from(toBinary(WatchEventsRequestSchema, create(WatchEventsRequestSchema, request)));
    const path = '/budgetd.v1.EventService/WatchEvents';
    return new WatchClient(this.#client.makeServerStreamRequest(path, asIs, asIs, bytes, this.#metadata));
  }

  /** Opens a Session. */
  session(): SessionClient {
    const path = '/budgetd.v1.ReservationService/Session';
    return new SessionClient(this.#client.makeBidiStreamRequest(path, asIs, asIs, this.#metadata));
  }

  close(): void {
    this.#client.close();
  }
}

/** The client's end of a watch. */
export class WatchClient {
  readonly stream: ClientReadableStream<Buffer>;
  /** How the stream ended; its code is 0 for OK. */
  readonly ended: Promise<Pick<FailedCall, 'code' | 'reason'>>;

  constructor(stream: ClientReadableStream<Buffer>) {
    this.stream = stream;
    this.ended = new Promise((resolve) => {
      stream.on('error', (error: ServiceError) => resolve(failedCall(error)));
      stream.on('status', ({ code }: { code: number }) => {
        if (code === 0) resolve({ code, reason: undefined });
      });
    });
  }

  /** Reads until a response satisfies `isLast`. */
  async until(isLast: (response: WatchEventsResponse) => boolean): Promise<WatchEventsResponse[]> {
    const responses: WatchEventsResponse[] = [];
    await new Promise<void>((resolve) => {
      const take = (bytes: Buffer): void => {
        responses.push(fromBinary(WatchEventsResponseSchema, bytes));
        if (!isLast(responses.at(-1) as WatchEventsResponse)) return;
        this.stream.off('data', take);
        this.stream.pause();
        resolve();
      };
      this.stream.on('data', take);
      // Stopped by the time before.
      this.stream.resume();
    });
    return responses;
  }
}

/** The client's end of a Session. */
export class SessionClient {
  readonly frames: SessionResult[][] = [];
  readonly stream: ClientDuplexStream<Buffer, Buffer>;
  /** How the stream ended; its code is 0 for OK. */
  readonly ended: Promise<Pick<FailedCall, 'code' | 'reason'>>;
  readonly #waiting: (() => void)[] = [];

  constructor(stream: ClientDuplexStream<Buffer, Buffer>) {
    this.stream = stream;
    stream.on('data', (bytes: Buffer) => {
      this.frames.push(fromBinary(SessionResponseSchema, bytes).results);
      for (const wake of this.#waiting.splice(0)) wake();
    });
    this.ended = new Promise((resolve) => {
      stream.on('error', (error: ServiceError) => resolve(failedCall(error)));
      stream.on('status', ({ code }: { code: number }) => {
        if (code === 0) resolve({ code, reason: undefined });
      });
    });
  }

  get results(): SessionResult[] {
    return this.frames.flat();
  }

  send(...commands: MessageInitShape<typeof SessionCommandSchema>[]): void {
    this.stream.write(Buffer.from(toBinary(SessionRequestSchema, create(SessionRequestSchema, { commands }))));
  }

  /** Resolves once there are so many results. */
  async until(count: number): Promise<SessionResult[]> {
    while (this.results.length < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    return this.results;
  }
}
