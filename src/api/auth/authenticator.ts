// Static bearer tokens. One function for both servers: from the value of an `authorization` header to a caller.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { BudgetPath } from '../../kernel/names.ts';
import { type ApiRefusal, unauthenticated } from '../api-refusal.ts';
import { type Actor, ANONYMOUS, type Role } from './actor.ts';

/** A token of the configuration. */
export interface Token {
  /** Who holds it; goes into the journal. */
  readonly name: string;
  readonly role: Role;
  /** Limits the token to this budget and those below. Undefined: no limit. */
  readonly subtree?: BudgetPath | undefined;
  /** The secret itself, or its SHA-256 in hex so that the configuration holds no secret. */
  readonly secret: { readonly plaintext: string } | { readonly sha256: string };
}

/** Finds the caller of a call by its `authorization` header (undefined where there is none). */
export type Authenticate = (authorization: string | undefined) => Actor | ApiRefusal;

const SHA256_HEX = /^[0-9a-f]{64}$/i;
const BEARER = /^Bearer +(\S+)$/i;
// No secret is longer. Hashing what a stranger sends must not cost more than refusing it.
const SECRET_CHARS_MAX = 1_024;

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function digestOf({ name, secret }: Token): Buffer {
  if ('plaintext' in secret) {
    if (secret.plaintext === '') throw new TypeError(`token ${name}: its secret is empty`);
    return sha256(secret.plaintext);
  }
  if (!SHA256_HEX.test(secret.sha256)) throw new TypeError(`token ${name}: sha256 must be 64 hex digits`);
  return Buffer.from(secret.sha256, 'hex');
}

/**
 * Makes the check of bearer tokens. Without tokens every caller is the anonymous admin. Throws TypeError for a token whose
 * secret cannot be one. Takes as long for a wrong token as for a right one: digests are compared, in constant time, all.
 */
export function createAuthenticator(tokens: readonly Token[]): Authenticate {
  if (tokens.length === 0) return () => ANONYMOUS;
  const known = tokens.map((token) => {
    const actor: Actor = { name: token.name, role: token.role, subtree: token.subtree };
    return { digest: digestOf(token), actor };
  });
  return (authorization) => {
    const secret = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
    if (secret === undefined || secret.length > SECRET_CHARS_MAX) return unauthenticated();
    const digest = sha256(secret);
    let found: Actor | undefined;
    for (const candidate of known) {
      if (timingSafeEqual(candidate.digest, digest)) found ??= candidate.actor;
    }
    return found ?? unauthenticated();
  };
}
