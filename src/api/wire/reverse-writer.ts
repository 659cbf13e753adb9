// Writes protobuf from the end to the beginning: by the time a message's length has to be written its bytes are there, so
// nothing is measured first and nothing is moved. Only what the hot replies need. What a field can't hold is an error, as it is to the
// generated code: a number that is cut off would be another one, and could break the frame that it stands in.
import { MICROS_MAX } from '../../kernel/money.ts';

const VARINT_SIGN = 0x80;
const VARINT_MASK = 0x7f;
/** Largest number that 32-bit operations shift right. */
const UINT31_MAX = 0x7fff_ffff;
const CHARS_BY_HAND_MAX = 64;
const UINT64_MAX = 2n ** 64n - 1n;

/** See the head of this file. Fields of a message have to be written last first. */
export class ReverseWriter {
  #buffer: Buffer;
  #at: number;

  /** `bytes` is the size to begin with; it grows as needed. */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes);
    this.#at = bytes;
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#at;
  }

  /** A copy of what was written; the writer begins anew. */
  take(): Buffer {
    const bytes = Buffer.from(this.#buffer.subarray(this.#at));
    this.#at = this.#buffer.length;
    return bytes;
  }

  /** Takes back what was written since the writer's length was `end`. */
  rewind(end: number): void {
    this.#at = this.#buffer.length - end;
  }

  /** A string field; left out where empty. Tags are given as their byte: field number times 8 plus wire type 2. */
  text(tag: number, text: string): void {
    if (text !== '') this.textSet(tag, text);
  }

  /** A string field with presence: written also where empty. */
  textSet(tag: number, text: string): void {
    const end = this.length;
    this.#string(text);
    this.close(tag, end);
  }

  /** An int64, uint32 or enum field that is not below 0; left out where 0. Throws RangeError for what is no exact whole number. */
  number(tag: number, value: number): void {
    if (value === 0) return;
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('a number is no whole number from 0 to 2^53-1');
    this.#reserve(11);
    this.#varint(value);
    this.#tag(tag);
  }

  /** An int64 field that is not below 0; left out where 0. Throws RangeError for what is out of that range. */
  micros(tag: number, micros: bigint): void {
    if (micros !== 0n) this.microsSet(tag, micros);
  }

  /** An int64 field with presence: written also where 0. */
  microsSet(tag: number, micros: bigint): void {
    this.#bigint(tag, micros, MICROS_MAX);
  }

  /** A uint64 field; left out where 0. Throws RangeError for what is out of that range. */
  uint64(tag: number, value: bigint): void {
    if (value !== 0n) this.#bigint(tag, value, UINT64_MAX);
  }

  /** A bool field; left out where false. */
  flag(tag: number, value: boolean): void {
    if (value) this.number(tag, 1);
  }

  /** Bytes as they are, as a message's or a bytes field's content. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#at -= bytes.length;
    this.#buffer.set(bytes, this.#at);
  }

  /** Closes a field whose content was written since the writer's length was `end`: its length, then its tag. */
  close(tag: number, end: number): void {
    const length = this.length - end;
    this.#reserve(7);
    this.#varint(length);
    this.#tag(tag);
  }

  // Compared as a number: past those that are exact no bigint comes to one.
  #bigint(tag: number, value: bigint, max: bigint): void {
    const number = Number(value);
    const isExact = number >= 0 && number <= Number.MAX_SAFE_INTEGER;
    if (!isExact && (value < 0n || value > max)) throw new RangeError(`a number is not 0 to ${max}`);
    this.#reserve(11);
    if (isExact) this.#varint(number);
    else this.#bigVarint(value);
    this.#tag(tag);
  }

  #tag(tag: number): void {
    this.#varint(tag);
  }

  // A varint's first byte comes last here: the bytes are counted, then written forwards.
  #varint(value: number): void {
    let count = 1;
    for (
      let rest = value;
      rest >= VARINT_SIGN;
      rest = rest > UINT31_MAX ? Math.floor(rest / VARINT_SIGN) : rest >>> 7
    ) {
      count += 1;
    }
    this.#at -= count;
    let rest = value;
    for (let at = this.#at; at < this.#at + count - 1; at++) {
      this.#buffer[at] = (rest % VARINT_SIGN) | VARINT_SIGN;
      rest = rest > UINT31_MAX ? Math.floor(rest / VARINT_SIGN) : rest >>> 7;
    }
    this.#buffer[this.#at + count - 1] = rest & VARINT_MASK;
  }

  #bigVarint(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | VARINT_SIGN);
    bytes.push(Number(rest));
    this.#at -= bytes.length;
    this.#buffer.set(bytes, this.#at);
  }

  #string(text: string): void {
    const { length } = text;
    if (length <= CHARS_BY_HAND_MAX) {
      this.#reserve(length);
      const start = this.#at - length;
      let at = 0;
      for (; at < length; at++) {
        const unit = text.charCodeAt(at);
        if (unit >= VARINT_SIGN) break;
        this.#buffer[start + at] = unit;
      }
      if (at === length) {
        this.#at = start;
        return;
      }
    }
    const bytes = Buffer.byteLength(text);
    this.#reserve(bytes);
    this.#at -= bytes;
    this.#buffer.write(text, this.#at, 'utf8');
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#at) return;
    const { length } = this;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, length + bytes));
    this.#buffer.copy(larger, larger.length - length, this.#at);
    this.#buffer = larger;
    this.#at = larger.length - length;
  }
}
