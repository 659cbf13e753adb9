// Values of the file as they are read, and as they are written: each reader says what it wanted where it gets something else.
import { MICROS_MAX } from '../../../kernel/money.ts';
import { formatMicros, parseAmountOr } from '../amount.ts';
import { didYouMean } from '../nearest-word.ts';
import { UsageError } from '../usage-error.ts';
import type { FileProblems, Position } from './file-problems.ts';
import type { Located, LocatedEntry } from './located-yaml.ts';

/** A value as it is written to a file. */
export type FileValue =
  | string
  | bigint
  | number
  | boolean
  | readonly FileValue[]
  | { readonly [key: string]: FileValue };

/** What reading a budget gathers beside its fields. */
export interface Reading {
  /** What is read, as the file names it: `limits[0]`, `shape.max_lease`. Empty: something that has no name of its own. */
  readonly subject: string;
  readonly problems: FileProblems;
  /** Where fields of the contract stand, by their paths: `limits[0]`, `shape.max_lease`. */
  readonly positions: Map<string, Position>;
  /** Fields of the contract that could not be read as they stand: what is said of them further on may be wrong. */
  readonly unread: Set<string>;
  /** Units that were typed beside amounts. */
  readonly units: { readonly at: Position; readonly unit: string }[];
}

/** Notes what is wrong with what is read, by its name. */
export function note({ problems, subject }: Reading, at: Position, message: string): void {
  const isPredicate = /^(?:must|is) /.test(message);
  problems.add(at, subject === '' ? message : `${subject}${isPredicate ? '' : ':'} ${message}`);
}

/** The reading of a part, such as `[0]`. */
export function partOf(reading: Reading, part: string): Reading {
  return { ...reading, subject: reading.subject + part };
}

/** Runs a parser of the command line; what it throws is a problem of the value. */
export function parsed<T>(reading: Reading, at: Position, parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    note(reading, at, error.message);
    return undefined;
  }
}

/** Text. A number has to be quoted to be one, so that no digit of it gets lost. */
export function readText(reading: Reading, node: Located): string | undefined {
  if (node.kind === 'scalar' && typeof node.value === 'string') return node.value;
  note(reading, node.at, node.kind === 'scalar' ? 'must be text: put it in quotes' : 'must be text');
  return undefined;
}

/** true or false. */
export function readFlag(reading: Reading, node: Located): boolean | undefined {
  if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value;
  note(reading, node.at, 'must be true or false');
  return undefined;
}

const INT32_MAX = 2_147_483_647;

/** What a whole number may be. */
export interface WholeRange {
  /** Default: 0. */
  readonly min?: number;
  /** Default: the most that 32 bits hold. */
  readonly max?: number;
}

/** A whole number in a range. */
export function readWhole(
  reading: Reading,
  node: Located,
  { min = 0, max = INT32_MAX }: WholeRange = {},
): number | undefined {
  const value = node.kind === 'scalar' ? node.value : undefined;
  if (typeof value === 'bigint' && value >= min && value <= max) return Number(value);
  note(reading, node.at, `must be a whole number from ${min} to ${max}`);
  return undefined;
}

const AMOUNT_FORMS = 'write "2.5 USD", or micro-units as a whole number: 2500000 or 2500000u';

/** An amount in micro-units: a whole number of them, or text with a unit. A decimal without one would be a guess. */
export function readAmount(reading: Reading, node: Located): bigint | undefined {
  const value = node.kind === 'scalar' ? node.value : undefined;
  if (typeof value === 'string') return amountOf(reading, node.at, value);
  if (typeof value !== 'bigint') note(reading, node.at, `is not an amount: ${AMOUNT_FORMS}`);
  else if (value < 0n || value > MICROS_MAX) note(reading, node.at, `must be 0 to ${MICROS_MAX} micro-units`);
  else return value;
  return undefined;
}

/** The same of an amount that is part of a text. */
export function amountOf(reading: Reading, at: Position, text: string): bigint | undefined {
  const amount = parsed(reading, at, () => parseAmountOr(text, AMOUNT_FORMS));
  if (amount === undefined) return undefined;
  if (amount.unit !== undefined) reading.units.push({ at, unit: amount.unit });
  else if (/^[0-9.]+$/.test(text.trim())) {
    note(reading, at, `"${text.trim()}" has no unit: ${AMOUNT_FORMS}`);
    return undefined;
  }
  return amount.micros;
}

// A tree may count in these: what is written in them would be read as micro-units.
const MICRO_WORDS = new Set(['u', 'micros']);

/** An amount as `readAmount` reads it; `unit` is the tree's. */
export function writeAmount(micros: bigint, unit: string): string {
  return unit === '' || MICRO_WORDS.has(unit) ? `${micros}u` : `${formatMicros(micros)} ${unit}`;
}

/** One of some words. */
export function readWord<T>(reading: Reading, node: Located, words: Readonly<Record<string, T>>): T | undefined {
  const word = node.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
  if (word !== undefined && Object.hasOwn(words, word)) return words[word];
  note(
    reading,
    node.at,
    `must be one of ${Object.keys(words).join(', ')}${didYouMean(word ?? '', Object.keys(words))}`,
  );
  return undefined;
}

/** The items of a list. */
export function readList(reading: Reading, node: Located): readonly Located[] {
  if (node.kind === 'list') return node.items;
  note(reading, node.at, 'must be a list');
  return [];
}

/** The entries of a map. */
export function readMap(reading: Reading, node: Located): readonly LocatedEntry[] {
  if (node.kind === 'map') return node.entries;
  note(reading, node.at, 'must hold keys with values');
  return [];
}
