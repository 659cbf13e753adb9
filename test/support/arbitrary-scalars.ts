// The small arbitraries that those of records are made of: amounts, times, texts and names as the journal may hold them.
import fc from 'fast-check';
import { MICROS_MAX } from '../../src/kernel/money.ts';
import type { BudgetPath, ReservationId } from '../../src/kernel/names.ts';

const TIME_MS_MAX = 4_102_444_800_000;

export const micros = fc.oneof(
  fc.bigInt({ min: 0n, max: 1_000_000n }),
  fc.bigInt({ min: 0n, max: MICROS_MAX }),
  fc.constantFrom(0n, 9_007_199_254_740_991n, 9_007_199_254_740_992n, 9_007_199_254_740_993n, MICROS_MAX),
);
export const signedMicros = fc.oneof(
  micros,
  micros.map((amount) => -amount),
);
export const optionalMicros = fc.option(micros, { nil: undefined });
export const timeMs = fc.integer({ min: 0, max: TIME_MS_MAX });
export const text = fc
  .string({ unit: 'grapheme', maxLength: 40 })
  .map((value) => value.replaceAll('\0', ''))
  .filter((value) => value.isWellFormed());
export const digest = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'));
export const path = fc.constantFrom('acme', 'acme/triage', 'acme/triage/run-42') as fc.Arbitrary<BudgetPath>;
export const id = fc.stringMatching(/^[0-9A-Za-z_-]{10,40}$/) as fc.Arbitrary<ReservationId>;
