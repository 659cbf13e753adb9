// The services as Connect routes: Connect, gRPC-Web and gRPC with the same handlers as grpc-js.
import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, Message } from '@bufbuild/protobuf';
import {
  type ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  type HandlerContext,
} from '@connectrpc/connect';
import type { UniversalHandler, UniversalHandlerFn } from '@connectrpc/connect/protocol';
import { compressionGzip } from '@connectrpc/connect-node';
import { ReservationService, type SessionRequest } from '../../gen/budgetd/v1/reservation_pb.ts';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { ApiLog } from '../api-log.ts';
import { type ApiObserver, type HeaderReader, NO_API_OBSERVER } from '../api-observer.ts';
import { type ApiRefusal, isRefusal } from '../api-refusal.ts';
import { type Actor, ANONYMOUS } from '../auth/actor.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import { type CallStatus, faultStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { Services } from '../services/create-services.ts';
import type { CallContext } from '../services/handler.ts';
import {
  type AnyHandler,
  type AnyStreamHandler,
  methodPath,
  SESSION_PATH,
  servedServices,
} from '../services/served-methods.ts';
import type { ServingSessions } from '../serving-sessions.ts';
import type { ServingStreams } from '../serving-streams.ts';
import type { ServingWaits, WaitingCall } from '../serving-waits.ts';
import { MESSAGE_BYTES_MAX } from '../transport-limits.ts';
import { FRAMES_TAKEN } from './arriving-body.ts';
import { bodyForm, checkedBody } from './checked-body.ts';
import { checkedFrames } from './checked-frames.ts';
import { connectError } from './connect-error.ts';
import { CUT_STREAM } from './cut-stream.ts';
import { HTTP_CALL } from './http-call.ts';
import { JSON_READ_OPTIONS } from './json-problems.ts';
import { bridgeSession } from './session-bridge.ts';
import { bridgeStream } from './stream-bridge.ts';

/** What the routes need from around them. */
export interface RouteDeps {
  readonly services: Services;
  readonly sessions: ServingSessions;
  readonly streams: ServingStreams;
  readonly waits: ServingWaits;
  readonly authenticate: Authenticate;
  readonly log: ApiLog;
  readonly observer?: ApiObserver | undefined;
}

// Set by the gate before any handler runs.
const ACTOR = createContextKey<Actor>(ANONYMOUS);

function readerOf(header: Headers): HeaderReader {
  return (name) => header.get(name) ?? undefined;
}

function contextOf(context: HandlerContext, waits: ServingWaits): CallContext {
  const { values, signal } = context;
  const call: WaitingCall = {
    ...values.get(HTTP_CALL),
    watch: (gone) => {
      if (signal.aborted) gone();
      signal.addEventListener('abort', gone);
      return () => signal.removeEventListener('abort', gone);
    },
  };
  return {
    actor: values.get(ACTOR),
    cancelled: () => signal.aborted,
    timeLeftMs: () => context.timeoutMs(),
    wait: (work) => waits.during(call, work),
  };
}

function unary(
  method: DescMethod,
  handler: AnyHandler,
  { waits, log, observer }: { readonly waits: ServingWaits; readonly log: ApiLog; readonly observer: ApiObserver },
) {
  const path = methodPath(method);
  return async (request: Message, context: HandlerContext): Promise<Message> => {
    const observed = observer.call(path, readerOf(context.requestHeader));
    const fail = (status: CallStatus): never => {
      observed.end(status.code);
      throw connectError(status);
    };
    const reply = await observed
      .run(() => handler(request, contextOf(context, waits)))
      .catch((cause: unknown) => {
        observer.faulted();
        return fail(observed.run(() => faultStatus(cause, method.name, log)));
      });
    if (isRefusal(reply)) {
      observer.refused(reply.reason);
      return fail(refusalStatus(reply));
    }
    observed.end(Code.OK);
    return reply;
  };
}

function streaming(
  method: DescMethod,
  handler: AnyStreamHandler,
  deps: { readonly streams: ServingStreams; readonly log: ApiLog; readonly observer: ApiObserver },
) {
  const path = methodPath(method);
  return (request: Message, { values, signal, requestHeader }: HandlerContext): AsyncIterable<Message> => {
    const observed = deps.observer.call(path, readerOf(requestHeader));
    const call = { actor: values.get(ACTOR), signal, cut: values.get(CUT_STREAM) };
    return bridgeStream({ ...deps, method, observed }, (context) => handler(request, context), call);
  };
}

function addRoutes(
  router: ConnectRouter,
  { services, sessions, streams, waits, log, observer = NO_API_OBSERVER }: RouteDeps,
): void {
  for (const { desc, handlers, streams: streamed } of servedServices(services)) {
    for (const method of desc.methods) {
      const handler = handlers[method.localName];
      // Every method with a handler is a unary one.
      if (handler !== undefined)
        router.rpc(method as DescMethodUnary, unary(method, handler, { waits, log, observer }));
      const stream = streamed[method.localName];
      if (stream === undefined) continue;
      // Likewise, with one that answers with a stream.
      router.rpc(method as DescMethodServerStreaming, streaming(method, stream, { streams, log, observer }));
    }
  }
  const session = ReservationService.method.session;
  const serveSession = (requests: AsyncIterable<SessionRequest>, context: HandlerContext) => {
    const observed = observer.call(SESSION_PATH, readerOf(context.requestHeader));
    const { values } = context;
    const deps = { sessions, observer, observed, cut: values.get(CUT_STREAM), framesTaken: values.get(FRAMES_TAKEN) };
    return bridgeSession(deps, values.get(ACTOR), requests, context.signal);
  };
  // What is in a compressed frame shows only when it is unpacked, and frames are too small to gain by it.
  router.rpc(session, serveSession, { acceptCompression: [] });
}

// For what comes before the handler, which would otherwise tell of the call.
function turnedAway(method: DescMethod, header: Headers, refusal: ApiRefusal, observer: ApiObserver): ConnectError {
  const status = refusalStatus(refusal);
  observer.call(methodPath(method), readerOf(header)).end(status.code);
  observer.refused(refusal.reason);
  return connectError(status);
}

// Connect takes a message from the body once the gate has let the caller in; the check runs as it does.
function withCheckedBody(handler: UniversalHandler, observer: ApiObserver): UniversalHandlerFn {
  const { method } = handler;
  return (request) => {
    const { body, header } = request;
    if (typeof body !== 'object' || body === null || !(Symbol.asyncIterator in body)) return handler(request);
    // A Session's request is a stream of its own.
    if (method.methodKind === 'bidi_streaming') {
      const isJson = header.get('content-type')?.includes('json') === true;
      return handler({ ...request, body: checkedFrames(body, isJson) });
    }
    const form = bodyForm(header);
    if (form === undefined) return handler(request);
    const refuse = (refusal: ApiRefusal) => turnedAway(method, header, refusal, observer);
    return handler({ ...request, body: checkedBody(body, form, method.input, refuse) });
  };
}

/** Makes the routes, by path. The caller is known before anything of a request's body is read. */
export function createRoutes(deps: RouteDeps): ReadonlyMap<string, UniversalHandlerFn> {
  const observer = deps.observer ?? NO_API_OBSERVER;
  const router = createConnectRouter({
    readMaxBytes: MESSAGE_BYTES_MAX,
    acceptCompression: [compressionGzip],
    // For people with curl, zeros are shown.
    jsonOptions: { ...JSON_READ_OPTIONS, alwaysEmitImplicit: true },
    requestGate: (context) => {
      const actor = deps.authenticate(context.requestHeader.get('authorization') ?? undefined);
      if (isRefusal(actor)) throw turnedAway(context.method, context.requestHeader, actor, observer);
      context.values.set(ACTOR, actor);
    },
  });
  addRoutes(router, deps);
  return new Map(router.handlers.map((handler) => [handler.requestPath, withCheckedBody(handler, observer)]));
}
