// How a handler under Connect resets the stream that its response is written to. Its own file because the listener, which
// has the response, and the handler meet only in the values that Connect carries along.
import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse } from 'node:http2';
import { createContextKey } from '@connectrpc/connect';

/** Resets the stream of the call. Default: does nothing, for a call without a stream. */
export const CUT_STREAM = createContextKey<() => void>(() => undefined);

/** Ends a response where it is; what is still on its way to the peer is dropped. */
export function cutStream(response: ServerResponse | Http2ServerResponse): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_CANCEL);
  else response.destroy();
}
