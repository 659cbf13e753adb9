// Tells a message that has far more in it than any honest one from its bytes, before it is decoded: a megabyte of empty entries
// takes a second to decode, in which nobody else is served, and a few milliseconds to look through.
import type { DescMessage } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';

/**
 * What is in one message: messages within it, entries of maps among them, at any depth, and fields that nobody knows. A full frame has
 * 8,192 and its labels; one whose megabyte is all labels of usual length has this. Decoding so many takes 20 to 40 ms (measured).
 */
const ENTRIES_MAX = 65_536;

/** A message shorter than this cannot have so many: an entry takes two bytes or more. */
const LOOKED_AT_BYTES = 2 * ENTRIES_MAX;

/** Whether an encoded message has too many entries. False also for bytes that are no message: decoding tells. */
export function isCrowdedMessage(desc: DescMessage, bytes: Uint8Array): boolean {
  return bytes.length > LOOKED_AT_BYTES && new EntryCounter(bytes).count(desc, 0, bytes.length, 0) > ENTRIES_MAX;
}

// As deep as the decoder goes. An honest message is some fifteen deep: a change of a budget with templates in templates.
const DEPTH_MAX = 100;

const COMMA = 0x2c;

/** The same of JSON: each entry but the first of its list or object has a comma before it. */
export function isCrowdedJson(bytes: Uint8Array): boolean {
  if (bytes.length <= LOOKED_AT_BYTES) return false;
  let commas = 0;
  for (const byte of bytes) if (byte === COMMA) commas += 1;
  return commas > ENTRIES_MAX;
}

// What each of a message's fields holds, by number: a message, an entry of a map (of texts only, in this contract), or less.
type Fields = ReadonlyMap<number, DescMessage | 'entry' | 'scalar'>;

const fieldsOf = new WeakMap<DescMessage, Fields>();

function fieldsByNumber(desc: DescMessage): Fields {
  let fields = fieldsOf.get(desc);
  if (fields === undefined) {
    fields = new Map(
      desc.fields.map((field) => [field.number, field.message ?? (field.fieldKind === 'map' ? 'entry' : 'scalar')]),
    );
    fieldsOf.set(desc, fields);
  }
  return fields;
}

class EntryCounter {
  readonly #bytes: Uint8Array;
  #count = 0;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Entries from `start` to `end` and within them, or as many as there may be and one. */
  count(desc: DescMessage, start: number, end: number, depth: number): number {
    const fields = fieldsByNumber(desc);
    this.#at = start;
    while (this.#at < end && this.#count <= ENTRIES_MAX) {
      const tag = this.#varint();
      const type = tag & 7;
      const field = fields.get(tag >>> 3);
      if (field !== 'scalar') this.#count += 1;
      if (type === WireType.Varint) this.#varint();
      else if (type === WireType.Bit64) this.#at += 8;
      else if (type === WireType.Bit32) this.#at += 4;
      else if (type === WireType.LengthDelimited)
        this.#skipDelimited(typeof field === 'object' ? field : undefined, end, depth);
      // Groups are not in the contract: whatever this is, it is no message.
      else return this.#count;
    }
    return this.#count;
  }

  #skipDelimited(desc: DescMessage | undefined, end: number, depth: number): void {
    const length = this.#varint();
    const innerEnd = Math.min(this.#at + length, end);
    if (desc !== undefined && depth < DEPTH_MAX) this.count(desc, this.#at, innerEnd, depth + 1);
    this.#at = innerEnd;
  }

  // To 32 bits, which is enough for tags and lengths.
  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0;
      if (shift < 35) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value >>> 0;
  }
}
