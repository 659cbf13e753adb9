// Typed calls to a coordinator over gRPC. Adds to the generated stubs only what every caller needs: one connection for
// all services, the bearer token, a deadline.
import { type Client, createClient as createServiceClient, type Interceptor } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { BudgetService } from './gen/budgetd/v1/budget_pb.ts';
import { EventService } from './gen/budgetd/v1/event_pb.ts';
import { PriceService } from './gen/budgetd/v1/price_pb.ts';
import { ReservationService } from './gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from './gen/budgetd/v1/server_info_pb.ts';

/** How to reach a coordinator. */
export interface ClientOptions {
  /** For example `http://127.0.0.1:50051`, the gRPC port. */
  readonly baseUrl: string;
  /** Bearer token. Undefined: none is sent, which a service without tokens takes. */
  readonly token?: string | undefined;
  /**
   * How long one call may take, in milliseconds, unless the call says its own; Sessions and watches of events go on for as long as
   * they are read. Default: 10,000, to which a `max_wait` is cut. A call that passes it may have been done all the same.
   */
  readonly timeoutMs?: number;
}

/** The services on one connection. */
export interface BudgetdClient {
  readonly reservations: Client<typeof ReservationService>;
  readonly budgets: Client<typeof BudgetService>;
  readonly prices: Client<typeof PriceService>;
  readonly events: Client<typeof EventService>;
  readonly serverInfo: Client<typeof ServerInfoService>;
  /** Ends the connection, and with it every call that is under way. */
  close(): void;
}

/** Longer than the 8 s after which the service gives its database up, so that the refusal comes and not a time-out. */
const TIMEOUT_MS = 10_000;

/** Makes a client. Nothing is sent before the first call. */
export function createClient({ baseUrl, token, timeoutMs = TIMEOUT_MS }: ClientOptions): BudgetdClient {
  const sessionManager = new Http2SessionManager(baseUrl);
  const interceptors = token === undefined ? [] : [withToken(token)];
  const endless = createGrpcTransport({ baseUrl, sessionManager, interceptors });
  const transport = createGrpcTransport({ baseUrl, sessionManager, interceptors, defaultTimeoutMs: timeoutMs });
  const { session } = createServiceClient(ReservationService, endless);
  return {
    reservations: { ...createServiceClient(ReservationService, transport), session },
    budgets: createServiceClient(BudgetService, transport),
    prices: createServiceClient(PriceService, transport),
    events: createServiceClient(EventService, endless),
    serverInfo: createServiceClient(ServerInfoService, transport),
    close: () => sessionManager.abort(),
  };
}

function withToken(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set('authorization', `Bearer ${token}`);
    return next(request);
  };
}
