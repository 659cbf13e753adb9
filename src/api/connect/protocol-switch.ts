// One port for HTTP/1.1 and HTTP/2 without TLS: the first bytes of a connection tell which it is. HTTP/2 begins with a
// preface that no HTTP/1.1 request can begin with.
import type { Server as Http1Server } from 'node:http';
import type { Http2Server } from 'node:http2';
import type { Socket } from 'node:net';
import { HEADERS_TIMEOUT_MS, UNDECIDED_MAX } from '../transport-limits.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n');

/**
 * Makes `http1`, which listens, hand HTTP/2 connections over to `http2`, which does not. Returns a function that closes
 * the connections that have not said what they are.
 */
export function switchProtocols(http1: Http1Server, http2: Http2Server): () => void {
  const asHttp1 = http1.listeners('connection');
  const undecided = new Set<Socket>();
  http1.removeAllListeners('connection');
  http1.on('connection', (socket: Socket) => {
    undecided.add(socket);
    const [oldest] = undecided;
    if (undecided.size > UNDECIDED_MAX) oldest?.destroy();
    const onTimeout = () => socket.destroy();
    const onError = () => socket.destroy();
    // It went without a word: nothing else would close this side.
    const onEnd = () => socket.destroy();
    socket.setTimeout(HEADERS_TIMEOUT_MS, onTimeout);
    socket.on('error', onError);
    socket.on('end', onEnd);
    socket.once('close', () => undecided.delete(socket));
    // What came so far. It is put back once, when it is known: whatever is put back is at once readable again.
    let bytes = Buffer.alloc(0);
    const decide = () => {
      const more: Buffer | null = socket.read();
      if (more === null) return;
      bytes = Buffer.concat([bytes, more]);
      const matching = Math.min(bytes.length, PREFACE.length);
      const isPreface = bytes.subarray(0, matching).equals(PREFACE.subarray(0, matching));
      // Half a preface: the rest is on its way, or the time runs out.
      if (isPreface && bytes.length < PREFACE.length) return;
      socket.off('readable', decide);
      socket.off('error', onError);
      socket.off('end', onEnd);
      socket.setTimeout(0);
      socket.off('timeout', onTimeout);
      undecided.delete(socket);
      socket.unshift(bytes);
      if (isPreface) {
        // HTTP/1.1 lets a client close its side and still answers; a peer of HTTP/2 that does so is gone, and its connection,
        // which nothing would close otherwise, goes with it.
        socket.allowHalfOpen = false;
        http2.emit('connection', socket);
      } else for (const listener of asHttp1) listener.call(http1, socket);
    };
    socket.on('readable', decide);
  });
  return () => {
    for (const socket of undecided) socket.destroy();
  };
}
