// Routes an HTTP request to Connect, to the probes, or to whatever app serves beside them. Not connect-node's own adapter:
// that one throws into the server for a request without an authority, and prints to the console.
import { constants } from 'node:http2';
import { createContextValues } from '@connectrpc/connect';
import type { UniversalHandlerFn, UniversalServerRequest } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { AnswerWatch, OutgoingCall } from '../answer-watch.ts';
import type { ApiLog } from '../api-log.ts';
import type { Arrivals } from '../arrivals.ts';
import type { CallStatus } from '../errors/call-status.ts';
import { answersWithStream, SESSION_PATH } from '../services/served-methods.ts';
import { ArrivingBody, countFrames, firstBytes } from './arriving-body.ts';
import { CUT_STREAM, cutStream } from './cut-stream.ts';
import { foreignRequest } from './foreign-request.ts';
import { HTTP_CALL, type HttpRequest, type HttpResponse, httpCallOf } from './http-call.ts';

/** Serves what is neither a method of the contract nor a probe: metrics, the console. False: there is no such thing. */
export type ServeOther = (request: HttpRequest, response: HttpResponse, path: string) => boolean;

/** What the listener routes to. */
export interface Routing {
  /** The methods, by path. */
  readonly routes: ReadonlyMap<string, UniversalHandlerFn>;
  readonly isServing: () => boolean;
  readonly serveOther: ServeOther;
  readonly log: ApiLog;
  /** Whether requests that name another host or come from a page of another site are refused. */
  readonly localOnly: boolean;
  /** Bound what comes in and what goes out. */
  readonly arrivals: Arrivals;
  readonly answers: AnswerWatch;
}

function sendText(response: HttpResponse, code: number, text: string): void {
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  // The two classes have the same method with types that do not unite.
  if ('stream' in response) response.writeHead(code, headers);
  else response.writeHead(code, headers);
  response.end(`${text}\n`);
}

function serveProbe(request: HttpRequest, response: HttpResponse, path: string, isServing: () => boolean): boolean {
  if (path !== '/healthz' && path !== '/readyz') return false;
  if (request.method !== 'GET' && request.method !== 'HEAD') sendText(response, 405, 'method not allowed');
  else if (path === '/healthz' || isServing()) sendText(response, 200, 'ok');
  else sendText(response, 503, 'not serving');
  return true;
}

const isSession = (path: string): boolean => path === `/${SESSION_PATH}`;

function outgoing(response: HttpResponse, path: string): OutgoingCall {
  return {
    unary: !answersWithStream(path),
    hasBegun: () => response.headersSent,
    hasLeft: () => response.writableFinished,
    unreadBytes: () => response.writableLength,
    // Over HTTP/1.1 the rest of a request has a time-out of its own.
    close: () => {
      if ('stream' in response) response.stream.close(constants.NGHTTP2_NO_ERROR);
    },
    cut: () => cutStream(response),
  };
}

const isOver = (response: HttpResponse): boolean =>
  response.writableEnded || ('stream' in response ? response.stream.closed : response.destroyed);

// Before anything is handled, so in no protocol's words but HTTP's. Refused: the client may send it again as it is.
function turnAway(response: HttpResponse, status: CallStatus): void {
  if (response.headersSent) cutStream(response);
  else if (status.code === Code.DEADLINE_EXCEEDED) sendText(response, 408, status.message);
  else if ('stream' in response) response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
  else sendText(response, 503, status.message);
}

/** The listener for `request` events. */
export function createRequestListener(routing: Routing) {
  const { routes, isServing, serveOther, log, localOnly, arrivals, answers } = routing;
  // Undefined: it went, or was turned away, before there was anything to handle.
  const universalRequest = async (
    request: HttpRequest,
    response: HttpResponse,
    path: string,
    cut: () => void,
  ): Promise<UniversalServerRequest | undefined> => {
    const values = createContextValues().set(CUT_STREAM, cut).set(HTTP_CALL, httpCallOf(request));
    const counted = isSession(path)
      ? countFrames(arrivals, values, cut)
      : new ArrivingBody(request, arrivals, (status) => turnAway(response, status));
    response.once('close', () => counted.over());
    // What opens a request and says no more costs little until here, and much from here on.
    if (!isSession(path)) await firstBytes(request, response);
    if (isOver(response)) return undefined;
    const universal = universalRequestFromNodeRequest(request, response, undefined, values);
    const { body } = universal;
    // Always so for requests that come from Node.
    const isBytes = typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
    return isBytes ? { ...universal, body: counted.read(body) } : universal;
  };
  const serve = async (request: HttpRequest, response: HttpResponse): Promise<void> => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const call = outgoing(response, path);
    answers.opened(call);
    response.once('close', () => answers.closed(call));
    const foreign = localOnly ? foreignRequest(request.headers) : undefined;
    if (foreign !== undefined) {
      sendText(response, 403, foreign);
      return;
    }
    const handler = routes.get(path);
    if (handler === undefined) {
      if (serveProbe(request, response, path, isServing) || serveOther(request, response, path)) return;
      sendText(response, 404, 'not found');
      return;
    }
    const universal = await universalRequest(request, response, path, call.cut);
    if (universal !== undefined) await universalResponseToNodeResponse(await handler(universal), response);
  };
  return (request: HttpRequest, response: HttpResponse): void => {
    serve(request, response).catch((cause: unknown) => {
      // A peer that went away, or a request that HTTP allows and a URL does not: nothing of ours to mend.
      log.warn({ err: cause, path: request.url }, 'an HTTP request could not be answered');
      if (response.headersSent) response.destroy();
      else sendText(response, 400, 'bad request');
    });
  };
}
