// Where no tokens are configured, whoever reaches the port is the admin, and the port is on loopback only. A web page
// can reach it too, from a browser on the same machine: with a name of its own that resolves to 127.0.0.1 (DNS rebinding),
// or across origins. Both show in headers that a page cannot choose.
import type { IncomingHttpHeaders } from 'node:http2';
import { isIP } from 'node:net';

/**
 * Why a request is not from this machine's own programs and pages; undefined where it may be. A request without a Host
 * passes: HTTP/1.1 forbids it and browsers always send one.
 */
export function foreignRequest(headers: IncomingHttpHeaders): string | undefined {
  const host = headers[':authority'] ?? headers.host;
  if (typeof host === 'string' && host !== '' && !isLocal(`http://${host}`)) {
    return 'without tokens this server answers only to localhost: its name in the request is another';
  }
  const { origin } = headers;
  if (origin !== undefined && !isLocal(origin)) {
    return 'without tokens this server answers no pages of other sites';
  }
  return undefined;
}

// "null", the origin of sandboxed pages and of files, is no URL and so not local.
function isLocal(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  if (hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]') return true;
  return isIP(hostname) === 4 && hostname.startsWith('127.');
}
