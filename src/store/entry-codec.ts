// A row of the journal to bytes and back, and its hash. The bytes are what counts: the hash is over them, they are never
// rewritten, and reading them gives the very entries that were decided.
import { createHash } from 'node:crypto';
import type { Entry } from '../kernel/entry.ts';
import { type DecodeContext, decodeEntry, type PersonalRow } from './decode-entry.ts';
import { encodeEntry } from './encode-entry.ts';
import { arrayOf, parseStored } from './json-text.ts';

/** What the hash of a row covers. */
export interface HashedRow {
  readonly treeId: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Time of the last entry. */
  readonly atMs: number;
  /** Text of the entries, as stored. */
  readonly entriesText: string;
}

/** Entries as the text of a JSON array, without a newline in it. */
export function encodeEntries(entries: readonly Entry[]): string {
  let text = '[';
  for (const entry of entries) text += text.length === 1 ? encodeEntry(entry) : `,${encodeEntry(entry)}`;
  return `${text}]`;
}

/**
 * Reads the text of one row. `personalOf` finds the personal fields of an entry by its sequence. Throws
 * CorruptJournalError.
 */
export function decodeEntries(text: string, personalOf: (seq: number) => PersonalRow | undefined): Entry[] {
  const context: DecodeContext = { personalOf, accounts: [] };
  return arrayOf(parseStored(text)).map((entry) => decodeEntry(entry, context));
}

/** Reads the entries at these places of a row, counted from 0, and no others. Throws CorruptJournalError. */
export function decodePicked(
  text: string,
  places: readonly number[],
  personalOf: (seq: number) => PersonalRow | undefined,
): Entry[] {
  const context: DecodeContext = { personalOf, accounts: [] };
  const entries = arrayOf(parseStored(text));
  return places.map((place) => decodeEntry(entries[place], context));
}

/**
 * SHA-256 of a row, in hex, chained to `prevHash` (hex). Over: the hash before (32 bytes), the length of the tree's id
 * (int32), the tree's id, first and last sequence and milliseconds (int64 each), the text in UTF-8; integers big-endian.
 */
export function rowHash(prevHash: string, row: HashedRow): string {
  const tree = Buffer.from(row.treeId, 'utf8');
  const frame = Buffer.allocUnsafe(32 + 4 + tree.length + 24);
  frame.write(prevHash, 0, 'hex');
  let at = frame.writeInt32BE(tree.length, 32);
  at += tree.copy(frame, at);
  at = frame.writeBigInt64BE(BigInt(row.firstSeq), at);
  at = frame.writeBigInt64BE(BigInt(row.lastSeq), at);
  frame.writeBigInt64BE(BigInt(row.atMs), at);
  return createHash('sha256').update(frame).update(row.entriesText, 'utf8').digest('hex');
}
