// Personal fields of a request with the salt of their commitment. Its own file because the salt is the api's only
// randomness.
import { randomFillSync } from 'node:crypto';
import type { Labels } from '../kernel/budget.ts';
import type { PersonalFields } from '../kernel/command.ts';

const SALT_BYTES = 16;
// One call for 256 salts: a call each would cost more than the hash that uses it.
const pool = Buffer.alloc(SALT_BYTES * 256);
let poolAt = pool.length;

function newSalt(): string {
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const salt = pool.toString('base64url', poolAt, poolAt + SALT_BYTES);
  // A salt must not outlive its erasure in this process's memory.
  pool.fill(0, poolAt, poolAt + SALT_BYTES);
  poolAt += SALT_BYTES;
  return salt;
}

/** The personal fields that a request set; undefined where it set none. */
export function personalFields(actingFor: string, labels: Labels): PersonalFields | undefined {
  if (actingFor === '' && labels.length === 0) return undefined;
  return { salt: newSalt(), actingFor, labels };
}
