// Ids of reservations: a time prefix, so that inserts into indexes stay local, then nanoid's randomness.
import { customAlphabet } from 'nanoid';
import type { ReservationId } from '../kernel/names.ts';

// Digits and lower-case letters in the order of their bytes, without those that people mix up.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 9;
// 13 characters of 32 are 65 bits. An id is unique within its tree, and its time parts it from those of other milliseconds: at
// 100 grants a millisecond in one tree, more than one lane decides, one clash in about 200,000 years. The kernel
// fails a grant whose id is taken, so that even that one is an error and not a hold overwritten.
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
