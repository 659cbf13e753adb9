// The HTTP/2 stream below a call of grpc-js, which shows it to nobody and has no way of its own to reset it.
import { constants, type ServerHttp2Stream } from 'node:http2';

/** The stream of a call; undefined where grpc-js keeps it elsewhere than it does now. */
export function streamOf(call: object): ServerHttp2Stream | undefined {
  const { call: inner } = call as { readonly call?: { readonly stream?: ServerHttp2Stream } };
  return inner?.stream;
}

/** Ends the stream of a call where it is; what is still on its way to the peer is dropped. */
export function cutStream(call: object): void {
  streamOf(call)?.close(constants.NGHTTP2_CANCEL);
}
