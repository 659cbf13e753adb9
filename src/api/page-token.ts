// Page tokens of lists: where the page before ended, bound to the query that it was for. A token of another query would
// skip or repeat entries in silence, so it is refused.
import { digest16, frameText } from './command-key.ts';

const DIGEST_CHARS = 22;

/** A list's own fields, page size and token left out, framed without ambiguity. */
export function queryDigest(method: string, fields: readonly string[]): string {
  return digest16(frameText(method, fields.map((text) => `${text.length}:${text}`).join('')));
}

/** The token for what follows `last`. */
export function encodePageToken(query: string, last: string): string {
  return Buffer.from(query + last).toString('base64url');
}

/** Where the page before ended; undefined for a token that is no token of this query. */
export function decodePageToken(query: string, token: string): string | undefined {
  const text = Buffer.from(token, 'base64url').toString();
  if (!text.startsWith(query) || text.length === DIGEST_CHARS) return undefined;
  const last = text.slice(DIGEST_CHARS);
  return encodePageToken(query, last) === token ? last : undefined;
}
