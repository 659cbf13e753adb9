// Resets a stream of grpc-js, which has no way of its own to do so: its call is asked for what it holds.
import { constants, type ServerHttp2Stream } from 'node:http2';

/** Ends the stream of a call where it is; what is still on its way to the peer is dropped. */
export function cutStream(call: object): void {
  const { call: inner } = call as { readonly call?: { readonly stream?: ServerHttp2Stream } };
  inner?.stream?.close(constants.NGHTTP2_CANCEL);
}
