// Ids of reservations: a time prefix, so that inserts into indexes stay local, then nanoid's randomness.
import { customAlphabet } from 'nanoid';
import type { ReservationId } from '../kernel/names.ts';

// Digits and lower-case letters in the order of their bytes, without those that people mix up.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 9;
// 13 characters of 32 are 65 bits: at 100,000 ids a millisecond one clash in about 100,000 years.
const RANDOM_LENGTH = 13;

const random = customAlphabet(ALPHABET, RANDOM_LENGTH);

/** A new id; its first nine characters are the time in milliseconds, in base 32, so that ids sort by it. */
export function newReservationId(nowMs: number): ReservationId {
  let time = '';
  for (let rest = nowMs, i = 0; i < TIME_LENGTH; i++) {
    time = ALPHABET.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  return (time + random()) as ReservationId;
}
