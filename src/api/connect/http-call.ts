// A request and its response over either version of HTTP, as everything on the HTTP port takes them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { createContextKey } from '@connectrpc/connect';
import type { WaitingCall } from '../serving-waits.ts';
import { HTTP1_WAIT_AGE_MS } from '../transport-limits.ts';

/** A request over HTTP/1.1 or HTTP/2. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** Its response. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** What a handler under Connect, which sees no transport, has to know of the one that its call came on. */
type HttpCall = Pick<WaitingCall, 'connection' | 'ageMs'>;

/** Set by the listener for every call. */
export const HTTP_CALL = createContextKey<HttpCall>({ connection: undefined });

/** What there is to know of the transport of a request. Over HTTP/1.1 a call has its connection to itself. */
export function httpCallOf(request: HttpRequest): HttpCall {
  if ('stream' in request) return { connection: request.stream.session };
  return { connection: undefined, ageMs: HTTP1_WAIT_AGE_MS };
}
