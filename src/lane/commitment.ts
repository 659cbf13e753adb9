// The salted commitment to personal fields that the journal holds in their place. Without the salt, which is erased with
// the fields, nobody can find out by trying what they were.
import { hash } from 'node:crypto';
import type { PersonalFields } from '../kernel/command.ts';

/** SHA-256 over the salt and the fields, in base64url. JSON frames them unambiguously. */
export function commitTo(fields: PersonalFields): string {
  return hash('sha256', JSON.stringify([fields.salt, fields.actingFor, fields.labels]), 'base64url');
}
