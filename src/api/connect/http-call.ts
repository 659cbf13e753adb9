// A request and its response over either version of HTTP, as everything on the HTTP port takes them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

/** A request over HTTP/1.1 or HTTP/2. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** Its response. */
export type HttpResponse = ServerResponse | Http2ServerResponse;
