// Small pieces of JSON text, written by hand because the codec is on the hot path and JSON.stringify knows no bigint.
// Amounts are plain integers where JavaScript's numbers are exact and strings past that, so reading is always exact. What could not be
// read again is not written: an entry that nobody can read would cost its tree for good, a failed invariant costs one command.
import type { Account } from '../kernel/budget.ts';
import { invariant } from '../kernel/invariant.ts';
import { MICROS_MAX } from '../kernel/money.ts';
import { CorruptJournalError } from './port.ts';

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);
const INT64_MIN = -(2n ** 63n);
const PLAIN = /^[ !#-[\]-~]*$/;
const DIGITS = /^-?\d{1,19}$/;

/** A JSON string. Refuses what PostgreSQL's text can't hold: it could be written to the journal but never projected. */
export function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  invariant(!text.includes('\0') && text.isWellFormed(), 'text holds U+0000 or half a surrogate pair');
  return JSON.stringify(text);
}

/** An amount or a count; exact whatever its size. Refuses what int64 can't hold: neither a row nor an answer could say it. */
export function amountText(micros: bigint): string {
  // A number of 32 bits is written in two thirds of a bigint's time, a larger one in three times as much (17, 27 and 115 ns).
  const number = Number(micros);
  if ((number | 0) === number) return `${number}`;
  if (micros <= SAFE_MAX && micros >= -SAFE_MAX) return `${micros}`;
  invariant(micros <= MICROS_MAX && micros >= INT64_MIN, 'an amount is past int64');
  return `"${micros}"`;
}

/** A whole number. Refuses what JavaScript does not hold exactly. */
export function integerText(value: number): string {
  invariant(Number.isSafeInteger(value), 'a number is no exact integer');
  return `${value}`;
}

// A rate's level is units x milliseconds: both may be any exact integer.
const LEVEL_DIGITS = /^\d{1,32}$/;
const LEVEL_END = 10n ** 32n;

/** The level of a rate; exact whatever its size. Refuses one below 0, and one of more than 32 digits. */
export function levelText(level: bigint): string {
  invariant(level >= 0n && level < LEVEL_END, 'a level is out of its range');
  return level <= SAFE_MAX ? `${level}` : `"${level}"`;
}

/** Reads what levelText wrote. Throws CorruptJournalError for anything else. */
export function levelOf(value: unknown): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  if (typeof value === 'string' && LEVEL_DIGITS.test(value)) return BigInt(value);
  throw new CorruptJournalError(`not a level: ${JSON.stringify(value)}`);
}

/** An amount or null. */
export function optionalAmountText(micros: bigint | undefined): string {
  return micros === undefined ? 'null' : amountText(micros);
}

/** Reads what amountText wrote. Throws CorruptJournalError for anything else. */
export function amountOf(value: unknown): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value === 'string' && DIGITS.test(value)) return BigInt(value);
  throw new CorruptJournalError(`not an amount: ${JSON.stringify(value)}`);
}

/** Reads what optionalAmountText wrote. */
export function optionalAmountOf(value: unknown): bigint | undefined {
  return value === null || value === undefined ? undefined : amountOf(value);
}

/** Reads a whole number that JavaScript holds exactly. */
export function integerOf(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new CorruptJournalError(`not an integer: ${JSON.stringify(value)}`);
}

/** Reads a string. */
export function stringOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new CorruptJournalError(`not a string: ${JSON.stringify(value)}`);
}

/** Reads an array, of `length` elements where that is given. */
export function arrayOf(value: unknown, length?: number): readonly unknown[] {
  if (Array.isArray(value) && (length === undefined || value.length === length)) return value;
  throw new CorruptJournalError(`not an array of ${length ?? 'any'} elements: ${JSON.stringify(value)}`);
}

/** Reads an object. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new CorruptJournalError(`not an object: ${JSON.stringify(value)}`);
}

/** Parses JSON text that this program wrote. */
export function parseStored(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CorruptJournalError('stored text is not JSON', { cause });
  }
}

// The kernel shares one array of accounts between all reservations of a budget.
const accountTexts = new WeakMap<readonly Account[], string>();

/** Accounts as flat triples: budget number, window number, first millisecond of the period. */
export function accountsText(accounts: readonly Account[]): string {
  const known = accountTexts.get(accounts);
  if (known !== undefined) return known;
  const text = `[${accounts.map(accountText).join(',')}]`;
  accountTexts.set(accounts, text);
  return text;
}

function accountText({ budgetNo, windowNo, periodMs }: Account): string {
  return `${integerText(budgetNo)},${integerText(windowNo)},${integerText(periodMs)}`;
}

/** Reads accounts. Gives one of `known` back where it says the same, so that many entries on one budget share one array. */
export function accountsOf(value: unknown, known: readonly (readonly Account[])[]): readonly Account[] {
  const flat = arrayOf(value);
  if (flat.length % 3 !== 0) throw new CorruptJournalError('accounts are not triples');
  for (const accounts of known) if (saysTheSame(flat, accounts)) return accounts;
  const accounts: Account[] = [];
  for (let i = 0; i < flat.length; i += 3) {
    accounts.push({
      budgetNo: integerOf(flat[i]),
      windowNo: integerOf(flat[i + 1]),
      periodMs: integerOf(flat[i + 2]),
    });
  }
  return accounts;
}

function saysTheSame(flat: readonly unknown[], accounts: readonly Account[]): boolean {
  if (flat.length !== accounts.length * 3) return false;
  for (let i = 0; i < accounts.length; i++) {
    const account = accounts[i] as Account;
    if (flat[3 * i] !== account.budgetNo || flat[3 * i + 1] !== account.windowNo) return false;
    if (flat[3 * i + 2] !== account.periodMs) return false;
  }
  return true;
}
