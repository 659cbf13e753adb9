// What grpc-js does for its connections, for the HTTP/2 connections of the other server: pings that find the dead, and an
// age at which the living are asked to go.
import type { ServerHttp2Session } from 'node:http2';
import type { TransportLimits } from '../transport-bounds.ts';
import { CONNECTION_AGE_GRACE_MS, CONNECTION_AGE_MS } from '../transport-limits.ts';

/** Watches one connection until it closes. */
export function keepAlive(
  session: ServerHttp2Session,
  { keepaliveMs, keepaliveTimeoutMs }: Pick<TransportLimits, 'keepaliveMs' | 'keepaliveTimeoutMs'>,
): void {
  let deadline: NodeJS.Timeout | undefined;
  const ping = () => {
    if (session.destroyed || session.closed) return;
    deadline = setTimeout(() => session.destroy(), keepaliveTimeoutMs).unref();
    // An error means that the connection is going; its close ends the watch.
    session.ping(() => clearTimeout(deadline));
  };
  const pings = setInterval(ping, keepaliveMs).unref();
  const age = setTimeout(() => session.close(), CONNECTION_AGE_MS).unref();
  const end = setTimeout(() => session.destroy(), CONNECTION_AGE_MS + CONNECTION_AGE_GRACE_MS).unref();
  session.once('close', () => {
    clearInterval(pings);
    for (const timer of [deadline, age, end]) clearTimeout(timer);
  });
}
