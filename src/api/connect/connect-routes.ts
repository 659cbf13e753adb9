// The services as Connect routes: Connect, gRPC-Web and gRPC with the same handlers as grpc-js.
import type { DescMethod, DescMethodUnary, Message } from '@bufbuild/protobuf';
import { type ConnectRouter, createConnectRouter, createContextKey, type HandlerContext } from '@connectrpc/connect';
import { compressionGzip } from '@connectrpc/connect-node';
import { ReservationService } from '../../gen/budgetd/v1/reservation_pb.ts';
import type { ApiLog } from '../api-log.ts';
import { isRefusal } from '../api-refusal.ts';
import { type Actor, ANONYMOUS } from '../auth/actor.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import { faultStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { Services } from '../services/create-services.ts';
import { type AnyHandler, servedServices } from '../services/served-methods.ts';
import type { ServingSessions } from '../serving-sessions.ts';
import { MESSAGE_BYTES_MAX } from '../transport-limits.ts';
import { connectError } from './connect-error.ts';
import { bridgeSession } from './session-bridge.ts';

/** What the routes need from around them. */
export interface RouteDeps {
  readonly services: Services;
  readonly sessions: ServingSessions;
  readonly authenticate: Authenticate;
  readonly log: ApiLog;
}

// Set by the gate before any handler runs.
const ACTOR = createContextKey<Actor>(ANONYMOUS);

function unary(method: DescMethod, handler: AnyHandler, log: ApiLog) {
  return async (request: Message, { values, signal }: HandlerContext): Promise<Message> => {
    const context = { actor: values.get(ACTOR), cancelled: () => signal.aborted };
    const reply = await handler(request, context).catch((cause: unknown) => {
      throw connectError(faultStatus(cause, method.name, log));
    });
    if (isRefusal(reply)) throw connectError(refusalStatus(reply));
    return reply;
  };
}

function addRoutes(router: ConnectRouter, { services, sessions, log }: RouteDeps): void {
  for (const { desc, handlers } of servedServices(services)) {
    for (const method of desc.methods) {
      const handler = handlers[method.localName];
      // Every method with a handler is a unary one.
      if (handler !== undefined) router.rpc(method as DescMethodUnary, unary(method, handler, log));
    }
  }
  router.rpc(ReservationService.method.session, (requests, { values, signal }) =>
    bridgeSession(sessions, values.get(ACTOR), requests, signal),
  );
}

/** Makes the routes. The caller is known before anything of a request's body is read. */
export function createRoutes(deps: RouteDeps): ConnectRouter {
  const router = createConnectRouter({
    readMaxBytes: MESSAGE_BYTES_MAX,
    acceptCompression: [compressionGzip],
    // For people with curl: a misspelt field is an error, not a silent default, and zeros are shown.
    jsonOptions: { ignoreUnknownFields: false, alwaysEmitImplicit: true },
    requestGate: (context) => {
      const actor = deps.authenticate(context.requestHeader.get('authorization') ?? undefined);
      if (isRefusal(actor)) throw connectError(refusalStatus(actor));
      context.values.set(ACTOR, actor);
    },
  });
  addRoutes(router, deps);
  return router;
}
