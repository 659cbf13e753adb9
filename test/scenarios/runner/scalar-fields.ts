// Reads the plain values of a case file: words, amounts, durations, instants. Exact throughout: an amount is a bigint
// within int64, a time is a whole number of milliseconds.
import type { Read } from './field-rules.ts';
import { CaseFormatError, type Located } from './located-yaml.ts';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Which idempotency key a step sends. */
export type KeyChoice =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'none' }
  | { readonly kind: 'given'; readonly key: string };

/** A text, quoted or not. A bare number is taken as the text it was most likely meant to be. */
export const text: Read<string> = (value) => {
  const scalar = scalarOf(value);
  if (typeof scalar === 'string') return scalar;
  if (typeof scalar === 'bigint') return String(scalar);
  throw new CaseFormatError(value.line, 'must be a text');
};

/** A text that is not empty. */
export const word: Read<string> = (value) => {
  const read = text(value);
  if (read === '') throw new CaseFormatError(value.line, 'must not be empty');
  return read;
};

/** `true` or `false`. */
export const bool: Read<boolean> = (value) => {
  const scalar = scalarOf(value);
  if (typeof scalar !== 'boolean') throw new CaseFormatError(value.line, 'must be true or false');
  return scalar;
};

/** An amount in micro-units: a whole number or a quoted one, within int64. Negative ones are read, to be refused. */
export const amount: Read<bigint> = (value) => {
  const scalar = scalarOf(value);
  const isWhole = typeof scalar === 'bigint' || (typeof scalar === 'string' && /^-?\d+$/.test(scalar));
  if (!isWhole) throw new CaseFormatError(value.line, 'must be a whole number of micro-units');
  const micros = BigInt(scalar);
  if (micros < INT64_MIN || micros > INT64_MAX) throw new CaseFormatError(value.line, 'must fit int64');
  return micros;
};

/** A count: a whole number of at least 0. */
export const count: Read<number> = (value) => {
  const scalar = scalarOf(value);
  if (typeof scalar !== 'bigint' || scalar < 0n || scalar > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new CaseFormatError(value.line, 'must be a whole number of at least 0');
  }
  return Number(scalar);
};

/** A number of seconds, whole or not. */
export const seconds: Read<number> = (value) => {
  const scalar = scalarOf(value);
  if (typeof scalar !== 'bigint' && typeof scalar !== 'number') {
    throw new CaseFormatError(value.line, 'must be a number of seconds');
  }
  return Number(scalar);
};

/** A duration such as `60s`, `1h30m` or `500ms`, in milliseconds. May be negative, to be refused by the service. */
export const durationMs: Read<number> = (value) => {
  const written = text(value);
  const parts = /^-?(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(written)
    ? [...written.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
    : [];
  const totalMs = parts.reduce((sum, [, size, unit]) => sum + Number(size) * (UNIT_MS[unit ?? ''] ?? Number.NaN), 0);
  if (parts.length === 0 || !Number.isSafeInteger(totalMs)) {
    throw new CaseFormatError(value.line, `"${written}" is no duration (examples: 500ms, 10s, 1h30m)`);
  }
  return written.startsWith('-') ? -totalMs : totalMs;
};

/** A UTC instant such as `2026-03-02T09:00:00Z`, in milliseconds since the epoch. */
export const instantMs: Read<number> = (value) => {
  const written = text(value);
  const parsed = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?Z$/.test(written)
    ? Date.parse(written)
    : Number.NaN;
  if (Number.isNaN(parsed)) {
    throw new CaseFormatError(value.line, `"${written}" is no UTC instant (example: 2026-03-02T09:00:00Z)`);
  }
  return parsed;
};

/** An idempotency key; the word `none` sends none. */
export const keyChoice: Read<KeyChoice> = (value) => {
  const key = word(value);
  return key === 'none' ? { kind: 'none' } : { kind: 'given', key };
};

function scalarOf(value: Located): string | bigint | number | boolean | null {
  if (value.kind !== 'scalar') throw new CaseFormatError(value.line, `must be one value, not a ${value.kind}`);
  return value.value;
}
